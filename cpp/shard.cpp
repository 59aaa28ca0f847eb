#include "shard.hpp"

#include <algorithm>

#include "random.hpp"

namespace pysirus {
namespace {

// A node's candidate features in rising order, by Floyd's method.
void draw_candidates(std::uint64_t key, std::int32_t n_features, std::int32_t max_features, std::int32_t* candidates) {
  std::int32_t n = 0;
  for (std::int32_t last = n_features - max_features; last < n_features; ++last) {
    const auto drawn = static_cast<std::int32_t>(below(key, static_cast<std::uint64_t>(last),
                                                       static_cast<std::uint64_t>(last) + 1));
    const bool taken = std::find(candidates, candidates + n, drawn) != candidates + n;
    candidates[n++] = taken ? last : drawn;
  }
  std::sort(candidates, candidates + n);
}

std::int32_t feature_of(const Table& table, const Recipe& recipe, std::int32_t split) {
  const auto* end = recipe.split_offset + table.n_features + 1;
  return static_cast<std::int32_t>(std::upper_bound(recipe.split_offset, end, split) - recipe.split_offset) - 1;
}

// The node of a row at the level's depth, counted within the level; -1 where the row's path ended before.
struct Router {
  struct Step {
    const std::uint8_t* bins;
    std::int32_t local, n_cuts;
  };
  int depth;
  std::vector<Step> steps;

  Router(const Table& table, const Recipe& recipe, const Level& level, std::int64_t tree) : depth(level.depth) {
    const std::int64_t n_splits = level.n_nodes() - 1;
    for (std::int64_t node = 0; node < n_splits; ++node) {
      const std::int32_t split = level.splits[tree * n_splits + node];
      if (split == kNoSplit) {
        steps.push_back({nullptr, 0, 0});
        continue;
      }
      const std::int32_t feature = feature_of(table, recipe, split);
      steps.push_back({table.bins + feature * table.n_rows, split - recipe.split_offset[feature],
                       n_known_bins(table, feature) - 1});
    }
  }

  std::int64_t operator()(std::int64_t row) const {
    std::int64_t node = 0;
    for (int level = 0; level < depth; ++level) {
      const Step& step = steps[node];
      if (!step.bins) return -1;
      node = 2 * node + (goes_left(step.bins[row], step.local, step.n_cuts) ? 1 : 2);
    }
    return node - ((std::int64_t{1} << depth) - 1);
  }
};

std::int64_t draw_count(const Recipe& recipe, std::uint64_t key, std::uint64_t row) {
  const std::uint32_t bits = row_bits(static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32),
                                      static_cast<std::uint32_t>(row));
  std::int64_t count = 0;
  for (std::int32_t k = 0; k < recipe.n_thresholds; ++k) count += bits >= recipe.thresholds[k];
  return count;
}

// A node's sums, read for the search.
struct Cells {
  const Table& table;
  double size = 0.0;
  std::vector<double> sum;
  std::int64_t whole_size = 0, whole_sum = 0;   // of the node and its first sum, exactly

  Cells(const Table& table, const std::int64_t* cells, std::int32_t n_bins) : table(table), sum(table.n_slots) {
    std::vector<std::int64_t> total(1 + table.n_slots);
    for (std::int32_t i = 0; i < n_bins * (1 + table.n_slots); ++i) total[i % (1 + table.n_slots)] += cells[i];
    whole_size = total[0];
    whole_sum = total[1];
    size = static_cast<double>(total[0]);
    for (std::int32_t k = 0; k < table.n_slots; ++k) sum[k] = static_cast<double>(total[1 + k]);
  }

  // -1 where the cells on the left are all of them or none
  double score(const std::vector<std::int64_t>& left) const {
    const double n_left = static_cast<double>(left[0]), n_right = size - n_left;
    if (!(n_left > 0.0) || !(n_right > 0.0)) return -1.0;
    double score = 0.0;
    for (std::int32_t k = 0; k < table.n_slots; ++k) {
      const double d = static_cast<double>(left[1 + k]) * size - sum[k] * n_left;
      score += d * d;
    }
    return score / (n_left * n_right);
  }
};

struct Best {
  double score = -1.0;
  std::int32_t split = kNoSplit;
  void offer(double other, std::int32_t number) {
    if (other > score) score = other, split = number;
  }
};

void search_feature(const Cells& node, const Recipe& recipe, std::int32_t feature, const std::int64_t* cell,
                    Best& best) {
  const Table& table = node.table;
  const std::int32_t n_cuts = n_known_bins(table, feature) - 1, per_bin = 1 + table.n_slots;
  const std::int32_t first = recipe.split_offset[feature];
  const std::int64_t* missing = table.has_missing[feature] ? cell + (n_cuts + 1) * per_bin : nullptr;
  std::vector<std::int64_t> left(per_bin), with_missing(per_bin);
  for (std::int32_t cut = 0; cut < n_cuts; ++cut, cell += per_bin) {
    for (std::int32_t k = 0; k < per_bin; ++k) left[k] += cell[k];
    best.offer(node.score(left), first + cut);
    if (!missing || missing[0] == 0) continue;
    for (std::int32_t k = 0; k < per_bin; ++k) with_missing[k] = left[k] + missing[k];
    best.offer(node.score(with_missing), first + n_cuts + cut);
  }
  if (!missing) return;
  for (std::int32_t k = 0; k < per_bin; ++k) left[k] += cell[k];
  best.offer(node.score(left), first + 2 * n_cuts);
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
        draw_candidates(node_key(key, static_cast<std::uint64_t>(number)), table.n_features, recipe.max_features, drawn);
        n_sums = 1;
        for (std::int64_t k = 0; k < m; ++k) n_sums += table.n_bins[drawn[k]] * (1 + table.n_slots);
      }
      offset.push_back(offset.back() + n_sums);
    }
  }
}

std::vector<Suspect> search_level(const Table& table, const Recipe& recipe, const Level& level,
                                  const std::int64_t* sums, std::int32_t* found) {
  std::vector<Suspect> suspects;
  const std::int64_t n_nodes = level.n_nodes();
  for (std::int64_t at = 0; at < level.n_trees * n_nodes; ++at) {
    found[at] = kNoSplit;
    const std::int64_t* cells = sums + level.offset[at];
    if (level.offset[at + 1] == level.offset[at] || *cells++ <= recipe.min_node_size) continue;
    const std::int32_t* candidates = level.candidates.data() + at * recipe.max_features;
    const Cells node(table, cells, table.n_bins[candidates[0]]);
    Best best;
    for (std::int32_t k = 0; k < recipe.max_features; ++k) {
      search_feature(node, recipe, candidates[k], cells, best);
      cells += table.n_bins[candidates[k]] * (1 + table.n_slots);
    }
    if (best.split == kNoSplit) continue;
    double largest = 0.0;
    bool pure = false;
    for (const double sum : node.sum) {
      largest = std::max(largest, sum * sum);
      pure |= table.slot && sum == node.size;
    }
    if (pure) continue;
    found[at] = best.split;
    // what rounding can make of a zero; a constant response is its sum over its size, without remainder
    if (!table.slot && best.score <= 0x1p-100 * largest * node.size && node.whole_sum % node.whole_size == 0)
      suspects.push_back({at / n_nodes, n_nodes - 1 + at % n_nodes, node.whole_sum / node.whole_size});
  }
  return suspects;
}

std::int64_t count_others(const Table& table, const Recipe& recipe, const Level& level, const Suspect& suspect) {
  const std::uint64_t key = tree_key(recipe.seed, level.first_tree + static_cast<std::uint64_t>(suspect.tree));
  const Router route(table, recipe, level, suspect.tree);
  const std::int64_t node = suspect.node - (level.n_nodes() - 1);
  std::int64_t others = 0;
  for (std::int64_t row = 0; row < table.n_rows; ++row)
    others += table.value[row] != suspect.value && route(row) == node &&
              draw_count(recipe, key, table.first_row + static_cast<std::uint64_t>(row)) > 0;
  return others;
}

}  // namespace pysirus
