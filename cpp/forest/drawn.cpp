#include "forest/drawn.hpp"

#include <algorithm>
#include <numeric>

#include "forest/pool.hpp"
#include "forest/reference.hpp"

namespace pysirus {

Pairs::Pairs(const Table& table) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(table.n_features));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return table.n_bins[a] < table.n_bins[b]; });
  // the widest goes with the widest that it has room for
  std::vector<bool> taken(order.size());
  for (std::size_t i = order.size(); i-- > 0;) {
    if (taken[i]) continue;
    std::size_t other = i;
    while (other-- > 0 && (taken[other] || table.n_bins[order[i]] * table.n_bins[order[other]] > kMaxBins)) {
    }
    const bool alone = other >= order.size();
    if (!alone) taken[other] = true;
    const std::int32_t n_second = alone ? 1 : table.n_bins[order[other]];
    pairs.push_back({order[i], alone ? -1 : order[other], n_second});
  }
}

bool RowsOfPairs::fill(const Table& table, const Pairs& pairs, int n_threads,
                       const std::function<bool()>& interrupted) {
  constexpr std::int64_t kRows = 4096;  // of a piece: its columns stay in the cache
  n_words_ = (static_cast<std::int64_t>(pairs.pairs.size()) + 7) / 8;
  words_.resize(static_cast<std::size_t>(table.n_rows * n_words_));
  return run_pieces((table.n_rows + kRows - 1) / kRows, n_threads, interrupted, [&] {
    return [&](std::int64_t piece, const std::atomic<bool>&) {
      const std::int64_t first = piece * kRows, last = std::min(table.n_rows, first + kRows);
      auto* to = reinterpret_cast<std::uint8_t*>(words_.data());
      for (const auto& [one, other, n_second] : pairs.pairs) {
        const std::uint8_t* a = table.bins + one * table.n_rows;
        const std::uint8_t* b = other < 0 ? nullptr : table.bins + other * table.n_rows;
        for (std::int64_t row = first; row < last; ++row)
          to[row * 8 * n_words_] = static_cast<std::uint8_t>(b ? a[row] * n_second + b[row] : a[row]);
        ++to;
      }
    };
  });
}

void draw_rows(const Table& table, const Recipe& recipe, std::uint64_t tree_key, std::vector<std::int64_t>& rows) {
  rows.clear();
  if (table.n_rows == 0) return;
  const std::uint32_t *begin = recipe.block_thresholds, *end = begin + recipe.n_block_thresholds;
  const std::uint64_t last_block = (table.first_row + static_cast<std::uint64_t>(table.n_rows) - 1) / kDrawBlock;
  for (std::uint64_t block = table.first_row / kDrawBlock; block <= last_block; ++block) {
    const std::uint64_t key = block_key(tree_key, block);
    const auto n_draws = std::upper_bound(begin, end, static_cast<std::uint32_t>(bits_at(key, 0) >> 32)) - begin;
    const auto first = static_cast<std::int64_t>(block * kDrawBlock) - static_cast<std::int64_t>(table.first_row);
    const bool whole = first >= 0 && first + kDrawBlock <= table.n_rows;
    std::uint64_t eight_draws = 0;
    for (std::int64_t i = 0; i < n_draws; ++i, eight_draws >>= 8) {
      if (i % 8 == 0) eight_draws = bits_at(key, static_cast<std::uint64_t>(1 + i / 8));
      const std::int64_t row = first + static_cast<std::int64_t>(eight_draws & 0xFF);
      if (whole || (row >= 0 && row < table.n_rows)) rows.push_back(row);
    }
  }
}

namespace {

constexpr int kSizeBits = 22;  // of a packed cell: its size below, its sum above
constexpr std::size_t kMostPacked = 1 << 20;

// The draws of one tree: their bins side by side, and what each adds to a cell. A draw is an entry; the entries of a node
// stand side by side in `order_`.
class DrawnTree {
 public:
  DrawnTree(const Table& table, const Recipe& recipe, const Pairs& pairs, const RowsOfPairs& all)
      : table_(table), recipe_(recipe), pairs_(pairs), all_(all), per_bin_(1 + table.n_sums),
        feature_cell_(static_cast<std::size_t>(table.n_features) + 1),
        candidates_(static_cast<std::size_t>(recipe.max_features)) {
    for (std::int32_t f = 0; f < table.n_features; ++f)
      feature_cell_[f + 1] = feature_cell_[f] + table.n_bins[f] * per_bin_;
  }

  void draw(std::uint64_t tree_key) {
    tree_key_ = tree_key;
    draw_rows(table_, recipe_, tree_key, rows_);
    const std::int64_t n_words = all_.n_words();
    words_.resize(rows_.size() * static_cast<std::size_t>(n_words));
    std::uint64_t* to = words_.data();
    for (const std::int64_t row : rows_) {
      const std::uint64_t* from = all_.of(row);
      for (std::int64_t k = 0; k < n_words; ++k) *to++ = *from++;
    }
    packs_ = table_.value && table_.n_sums == 1 && !table_.weight && rows_.size() < kMostPacked;
    if (packs_) {
      packed_.resize(rows_.size());
      for (std::size_t i = 0; i < rows_.size(); ++i)
        packed_[i] = (std::int64_t{table_.value[rows_[i]]} << kSizeBits) + 1;
    }
    order_.resize(rows_.size());
    std::iota(order_.begin(), order_.end(), 0);
    nodes_.assign(1, {0, order_.size(), {}});
  }

  void grow(std::int32_t* splits) {
    const int n_nodes = (1 << recipe_.max_depth) - 1;
    std::fill(splits, splits + n_nodes, kNoSplit);
    nodes_.resize(static_cast<std::size_t>(n_nodes));
    for (int number = 0; number < n_nodes; ++number) {
      Node& node = nodes_[number];
      if (node.size() <= static_cast<std::size_t>(recipe_.min_node_size) || is_constant(node)) continue;
      if (node.cells.empty()) sum(node);
      splits[number] = split(node, number, splits);
      if (splits[number] != kNoSplit && 2 * number + 2 < n_nodes)
        part(node, splits[number], nodes_[2 * number + 1], nodes_[2 * number + 2]);
    }
  }

  // Adds what a level asks for: of each of its nodes the number of draws, then the cells of its candidates.
  void add_level(const Level& level, std::int64_t tree, std::int64_t* sums) {
    const std::int64_t n_nodes = level.n_nodes();
    const std::int32_t* splits = level.splits + tree * (n_nodes - 1);
    nodes_.resize(static_cast<std::size_t>(2 * n_nodes - 1));
    for (std::int64_t number = 0; number < n_nodes - 1; ++number)
      if (splits[number] != kNoSplit)
        place(nodes_[number], splits[number], nodes_[2 * number + 1], nodes_[2 * number + 2]);
    for (std::int64_t k = 0; k < n_nodes; ++k) {
      const std::int64_t at = tree * n_nodes + k;
      Node& node = nodes_[static_cast<std::size_t>(n_nodes - 1 + k)];
      if (level.offset[at + 1] == level.offset[at] || node.size() == 0) continue;
      sum(node);
      const std::int64_t* found = take_candidates(node, level.candidates.data() + at * recipe_.max_features);
      std::int64_t* own = sums + level.offset[at];
      *own++ += static_cast<std::int64_t>(node.size());
      for (; own < sums + level.offset[at + 1]; ++own) *own += *found++;
    }
  }

 private:
  struct Node {
    std::size_t first = 0, last = 0;  // of `order_`
    std::vector<std::int64_t> cells;  // [feature][bin][size, sums]; empty until they are summed

    std::size_t size() const { return last - first; }
  };

  const std::uint8_t* bins_of(std::uint32_t entry) const {
    return reinterpret_cast<const std::uint8_t*>(words_.data() + entry * static_cast<std::size_t>(all_.n_words()));
  }

  bool is_constant(const Node& node) const {
    const std::int64_t first = rows_[order_[node.first]];
    return std::all_of(order_.begin() + node.first, order_.begin() + node.last, [&](std::uint32_t entry) {
      return table_.value ? same_values(table_, rows_[entry], first)
                          : table_.class_code[rows_[entry]] == table_.class_code[first];
    });
  }

  // The cells of all features from the entries of a node: first of the pairs, then of each of the two.
  void sum(Node& node) {
    const std::int64_t width = packs_ ? 1 : per_bin_;
    pair_cells_.assign(pairs_.pairs.size() * static_cast<std::size_t>(kMaxBins * width), 0);
    if (packs_)
      sum_packed(node);
    else
      sum_wide(node);
    node.cells.assign(static_cast<std::size_t>(feature_cell_.back()), 0);
    std::int64_t* cells = node.cells.data();
    if (packs_) {
      packed_cells_.assign(node.cells.size() / 2, 0);
      cells = packed_cells_.data();
    }
    for (std::size_t at = 0; at < pairs_.pairs.size(); ++at) {
      const auto& pair = pairs_.pairs[at];
      const std::int64_t* from = pair_cells_.data() + at * static_cast<std::size_t>(kMaxBins * width);
      std::int64_t* one = cells + feature_cell_[pair.first] / per_bin_ * width;
      std::int64_t* other = pair.second < 0 ? alone_ : cells + feature_cell_[pair.second] / per_bin_ * width;
      if (pair.second < 0) std::fill_n(alone_, width, 0);
      for (std::int32_t bin = 0; bin < table_.n_bins[pair.first]; ++bin, one += width)
        for (std::int64_t k = 0; k < pair.n_second * width; k += width, from += width)
          for (std::int64_t i = 0; i < width; ++i) one[i] += from[i], other[k + i] += from[i];
    }
    if (packs_) unpack(node);
  }

  void unpack(Node& node) const {
    for (std::size_t i = 0; i < packed_cells_.size(); ++i) {
      const std::int64_t size = packed_cells_[i] & ((std::int64_t{1} << kSizeBits) - 1);
      node.cells[2 * i] = size;
      node.cells[2 * i + 1] = (packed_cells_[i] - size) >> kSizeBits;
    }
  }

  // Eight pairs at a time: the places of their cells are then constants.
  void sum_packed(const Node& node) {
    const std::size_t n_pairs = pairs_.pairs.size(), n_eights = n_pairs / 8;
    for (std::size_t i = node.first; i < node.last; ++i) {
      const std::uint8_t* bins = bins_of(order_[i]);
      const std::int64_t own = packed_[order_[i]];
      std::int64_t* cells = pair_cells_.data();
      for (std::size_t eight = 0; eight < n_eights; ++eight, bins += 8, cells += 8 * kMaxBins)
        for (std::size_t k = 0; k < 8; ++k) cells[k * kMaxBins + bins[k]] += own;
      for (std::size_t k = 0; k < n_pairs % 8; ++k) cells[k * kMaxBins + bins[k]] += own;
    }
  }

  void sum_wide(const Node& node) {
    for (std::size_t i = node.first; i < node.last; ++i) {
      const std::uint8_t* bins = bins_of(order_[i]);
      for (std::size_t k = 0; k < pairs_.pairs.size(); ++k)
        reference::add_row(table_, rows_[order_[i]], 1,
                           pair_cells_.data() + (static_cast<std::int64_t>(k) * kMaxBins + bins[k]) * per_bin_);
    }
  }

  // The cells of some features, one after the other.
  const std::int64_t* take_candidates(const Node& node, const std::int32_t* candidates) {
    if (recipe_.max_features == table_.n_features && candidates[recipe_.max_features - 1] >= 0)
      return node.cells.data();
    taken_.clear();
    for (std::int32_t k = 0; k < recipe_.max_features && candidates[k] >= 0; ++k)
      taken_.insert(taken_.end(), node.cells.begin() + feature_cell_[candidates[k]],
                    node.cells.begin() + feature_cell_[candidates[k] + 1]);
    return taken_.data();
  }

  std::int32_t split(const Node& node, int number, const std::int32_t* splits) {
    const std::uint64_t key = node_key(tree_key_, static_cast<std::uint64_t>(number));
    if (reference::draw_allowed(table_, recipe_, key, splits, number, candidates_.data()) == 0) return kNoSplit;
    reference::Sums total(static_cast<std::size_t>(per_bin_));
    for (std::int32_t bin = 0; bin < table_.n_bins[0]; ++bin)
      reference::add_to(total, node.cells.data() + bin * per_bin_);
    const std::int64_t* cells = take_candidates(node, candidates_.data());
    return reference::best_split(table_, recipe_, key, candidates_.data(), total, cells).split;
  }

  // Puts the entries that go left before those that go right.
  void place(const Node& node, std::int32_t split, Node& left, Node& right) {
    const std::int32_t feature = reference::feature_of(table_, recipe_, split);
    const std::int32_t local = split - recipe_.split_offset[feature], n_cuts = n_known_bins(table_, feature) - 1;
    std::size_t k = 0;
    while (pairs_.pairs[k].first != feature && pairs_.pairs[k].second != feature) ++k;
    const auto& pair = pairs_.pairs[k];
    bool left_of[kMaxBins];  // of both features
    for (std::int32_t bin = 0; bin < table_.n_bins[pair.first] * pair.n_second; ++bin)
      left_of[bin] = goes_left(pair.first == feature ? bin / pair.n_second : bin % pair.n_second, local, n_cuts);
    // without a branch that nobody can foresee: each entry is written to both sides, and counts on one
    right_.resize(node.size());
    std::uint32_t *to_left = order_.data() + node.first, *to_right = right_.data();
    for (std::size_t i = node.first; i < node.last; ++i) {
      const std::uint32_t entry = order_[i];
      const bool goes = left_of[bins_of(entry)[k]];
      *to_left = *to_right = entry;
      to_left += goes;
      to_right += !goes;
    }
    std::copy(right_.data(), to_right, to_left);
    const auto middle = static_cast<std::size_t>(to_left - order_.data());
    left = {node.first, middle, {}};
    right = {middle, node.last, {}};
  }

  // The same; the child with fewer entries is summed, and subtracted for the other.
  void part(Node& node, std::int32_t split, Node& left, Node& right) {
    place(node, split, left, right);
    Node &fewer = left.size() < right.size() ? left : right, &more = &fewer == &left ? right : left;
    sum(fewer);
    more.cells = std::move(node.cells);
    for (std::size_t i = 0; i < more.cells.size(); ++i) more.cells[i] -= fewer.cells[i];
  }

  const Table& table_;
  const Recipe& recipe_;
  const Pairs& pairs_;
  const RowsOfPairs& all_;
  const std::int64_t per_bin_;
  bool packs_ = false;
  std::uint64_t tree_key_ = 0;
  std::vector<std::int64_t> feature_cell_;  // [feature + 1], in numbers
  std::vector<std::int64_t> rows_;          // [entry]
  std::vector<std::uint64_t> words_;        // [entry][word]: its bins
  std::vector<std::int64_t> packed_;        // [entry]: what it adds to a packed cell
  std::vector<std::uint32_t> order_, right_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> candidates_;
  std::vector<std::int64_t> pair_cells_, packed_cells_, taken_;
  std::int64_t alone_[1 + kMaxBins];  // what the second feature of a pair would have, where there is none
};

// Calls work(tree, drawn tree) for every tree, on several threads.
template <class Work>
bool run_trees(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees, int n_threads,
               const std::function<bool()>& interrupted, const Work& work) {
  const Pairs pairs(table);
  RowsOfPairs all;
  if (!all.fill(table, pairs, n_threads, interrupted)) return false;
  return run_pieces(n_trees, n_threads, interrupted, [&] {
    return [&, drawn = DrawnTree(table, recipe, pairs, all)](std::int64_t tree, const std::atomic<bool>&) mutable {
      drawn.draw(tree_key(recipe.seed, first_tree + static_cast<std::uint64_t>(tree)));
      work(tree, drawn);
    };
  });
}

}  // namespace

bool grow_drawn(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees, int n_threads,
                const std::function<bool()>& interrupted, std::int32_t* splits) {
  const std::int64_t n_nodes = (std::int64_t{1} << recipe.max_depth) - 1;
  return run_trees(table, recipe, first_tree, n_trees, n_threads, interrupted,
                   [&](std::int64_t tree, DrawnTree& drawn) { drawn.grow(splits + tree * n_nodes); });
}

bool add_drawn_level(const Table& table, const Recipe& recipe, const Level& level, int n_threads,
                     const std::function<bool()>& interrupted, std::int64_t* sums) {
  return run_trees(table, recipe, level.first_tree, level.n_trees, n_threads, interrupted,
                   [&](std::int64_t tree, DrawnTree& drawn) { drawn.add_level(level, tree, sums); });
}

}  // namespace pysirus
