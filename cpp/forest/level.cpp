#include "forest/level.hpp"

#include "forest/drawn.hpp"
#include "forest/reference.hpp"

namespace pysirus {
namespace {

// Does a row come to a node? Asked of many rows, so the steps of the path are looked up once.
class PathTo {
 public:
  PathTo(const Table& table, const Recipe& recipe, const std::int32_t* splits, std::int64_t node) {
    for (; node > 0; node = (node - 1) / 2) {
      const std::int32_t split = splits[(node - 1) / 2];
      if (split == kNoSplit) {
        exists_ = false;
        return;
      }
      const std::int32_t feature = reference::feature_of(table, recipe, split);
      steps_.push_back({table.bins + feature * table.n_rows, split - recipe.split_offset[feature],
                        n_known_bins(table, feature) - 1, node % 2 == 1});
    }
  }

  bool holds(std::int64_t row) const {
    return exists_ && std::all_of(steps_.begin(), steps_.end(), [row](const Step& step) {
             return goes_left(step.bins[row], step.local, step.n_cuts) == step.left;
           });
  }

 private:
  struct Step {
    const std::uint8_t* bins;
    std::int32_t local, n_cuts;
    bool left;
  };
  std::vector<Step> steps_;
  bool exists_ = true;
};

// What rounding can make of a decrease of zero: 2^-100 leaves room for 2^32 rows.
bool is_zero(double score, const reference::Sums& node) {
  double largest = 0.0;
  for (std::size_t k = 1; k < node.size(); ++k) {
    const auto sum = static_cast<double>(node[k]);
    largest = std::max(largest, sum * sum);
  }
  return score <= 0x1p-100 * largest * static_cast<double>(node[0]);
}

}  // namespace

Level::Level(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees, int depth,
             const std::int32_t* splits)
    : first_tree(first_tree), n_trees(n_trees), depth(depth), splits(splits) {
  const std::int64_t m = recipe.max_features;
  offset.reserve(n_trees * n_nodes() + 1);
  offset.push_back(0);
  candidates.resize(n_trees * n_nodes() * m);
  for (std::int64_t tree = 0; tree < n_trees; ++tree) {
    const std::uint64_t key = tree_key(recipe.seed, first_tree + static_cast<std::uint64_t>(tree));
    for (std::int64_t node = 0; node < n_nodes(); ++node) {
      const std::int64_t number = n_nodes() - 1 + node;
      const bool exists = depth == 0 || splits[tree * (n_nodes() - 1) + (number - 1) / 2] != kNoSplit;
      std::int32_t* drawn = candidates.data() + (tree * n_nodes() + node) * m;
      std::int64_t n_sums = 0;
      if (exists) {
        const std::int64_t n = reference::draw_allowed(table, recipe, node_key(key, static_cast<std::uint64_t>(number)),
                                                       splits + tree * (n_nodes() - 1), number, drawn);
        n_sums = 1;
        for (std::int64_t k = 0; k < n; ++k) n_sums += table.n_bins[drawn[k]] * (1 + table.n_sums);
      }
      offset.push_back(offset.back() + n_sums);
    }
  }
}

std::vector<std::int64_t> search_level(const Table& table, const Recipe& recipe, const Level& level,
                                       const std::int64_t* sums, std::int32_t* found, std::int32_t* lines) {
  if (level.depth > 0 || !recipe.lines.first) lines = nullptr;
  std::vector<std::int64_t> without_gain;
  const std::int64_t n_nodes = level.n_nodes(), per_bin = 1 + table.n_sums;
  reference::Sums node(static_cast<std::size_t>(per_bin));
  for (std::int64_t at = 0; at < level.n_trees * n_nodes; ++at) {
    found[at] = kNoSplit;
    if (lines) lines[at] = kNoLine;
    const std::int64_t* cells = sums + level.offset[at];
    if (level.offset[at + 1] == level.offset[at] || *cells++ <= recipe.min_node_size) continue;
    const std::int32_t* candidates = level.candidates.data() + at * recipe.max_features;
    if (candidates[0] < 0) continue;
    std::fill(node.begin(), node.end(), 0);
    for (std::int32_t bin = 0; bin < table.n_bins[candidates[0]]; ++bin) reference::add_to(node, cells + bin * per_bin);
    const std::uint64_t key =
        node_key(tree_key(recipe.seed, level.first_tree + static_cast<std::uint64_t>(at / n_nodes)),
                 static_cast<std::uint64_t>(n_nodes - 1 + at % n_nodes));
    const reference::Best best = reference::best_split(table, recipe, key, candidates, node, cells);
    const bool pure = table.class_code && std::find(node.begin() + 1, node.end(), node[0]) != node.end();
    if (best.split == kNoSplit || pure) continue;
    found[at] = best.split;
    if (lines) lines[at] = reference::winning_line(table, recipe, key, candidates, cells, best.score);
    // A constant response is its sum over its size, without remainder.
    const auto whole = [&](std::int64_t sum) { return sum % node[0] == 0; };
    if (table.class_code || !is_zero(best.score, node) || !std::all_of(node.begin() + 1, node.end(), whole)) continue;
    without_gain.insert(without_gain.end(), {at / n_nodes, n_nodes - 1 + at % n_nodes});
    for (std::int32_t k = 1; k <= table.n_sums; ++k) without_gain.push_back(node[k] / node[0]);
  }
  return without_gain;
}

std::int64_t count_other_values(const Table& table, const Recipe& recipe, const Level& level,
                                const std::int64_t* node) {
  const std::int64_t tree = node[0], *values = node + 2;
  const std::uint64_t key = tree_key(recipe.seed, level.first_tree + static_cast<std::uint64_t>(tree));
  const PathTo path(table, recipe, level.splits + tree * (level.n_nodes() - 1), node[1]);
  const auto is_other = [&](std::int64_t row) {
    std::int32_t column = 0;
    while (column < table.n_sums && value_of(table, column, row) == values[column]) ++column;
    return column < table.n_sums;
  };
  std::int64_t others = 0;
  if (draws_in_blocks(recipe)) {
    for (const std::int64_t row : drawn_rows(table, recipe, key)) others += is_other(row) && path.holds(row);
    return others;
  }
  for (std::int64_t row = 0; row < table.n_rows; ++row)
    others += is_other(row) && path.holds(row) &&
              reference::draw_count(recipe, key, table.first_row + static_cast<std::uint64_t>(row)) > 0;
  return others;
}

}  // namespace pysirus
