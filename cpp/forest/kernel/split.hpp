// Histograms in, best cut out: reference.hpp in sixteen lanes.
#pragma once

#include "forest/kernel.hpp"
#include "forest/kernel/lanes.hpp"
#include "forest/random.hpp"

namespace pysirus::PYSIRUS_ISA {

struct Best {
  f64x score = fill(-1.0);  // -1 where no candidate separates the node
  i64x split = fill<std::int64_t>(kNoSplit);
};

// Draws the candidate features of a lane among those that are allowed, in rising order.
inline void draw_allowed(const Recipe& recipe, std::uint64_t node_key, const std::int32_t* allowed,
                         std::int32_t n_allowed, std::uint16_t bit, std::uint16_t* candidates) {
  for (std::int32_t last = n_allowed > recipe.max_features ? n_allowed - recipe.max_features : 0; last < n_allowed;
       ++last) {
    const auto drawn = below(node_key, static_cast<std::uint64_t>(last), static_cast<std::uint64_t>(last) + 1);
    candidates[allowed[candidates[allowed[drawn]] & bit ? static_cast<std::uint64_t>(last) : drawn]] |= bit;
  }
}

// Draws each wanted lane's candidate features without replacement (Floyd's method), a bit a lane.
inline void draw_candidates(const Table& table, const Recipe& recipe, const std::uint64_t* node_keys,
                            std::uint16_t wanted, std::uint16_t* candidates) {
  const std::int32_t p = table.n_features;
  for (std::int32_t f = 0; f < p; ++f) candidates[f] = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto bit = static_cast<std::uint16_t>(1u << lane);
    if (!(wanted & bit)) continue;
    const std::uint64_t key = node_keys[lane];
    for (std::int32_t last = p - recipe.max_features; last < p; ++last) {
      const auto drawn = below(key, static_cast<std::uint64_t>(last), static_cast<std::uint64_t>(last) + 1);
      candidates[candidates[drawn] & bit ? static_cast<std::uint64_t>(last) : drawn] |= bit;
    }
  }
}

// Sums from left to right. Those of 32 bits are exact in double precision, in which they are needed.
template <class Sum>
using Running = Lanes<std::conditional_t<sizeof(Sum) == 4, double, Sum>>;

template <class Sum>
struct Node {
  const Lanes<Sum>* cells;           // its histogram
  Running<Sum> total[1 + kMaxBins];  // its size and sums
};

template <class Sum>
[[gnu::always_inline]]
inline Running<Sum> running(const Lanes<Sum>& sum) {
  if constexpr (sizeof(Sum) == 4)
    return convert<double>(sum);
  else
    return sum;
}

template <class Sum>
[[gnu::always_inline]]
inline void add_cell(Running<Sum>* total, const Lanes<Sum>* cell, int n_sums) {
  for (int k = 0; k <= n_sums; ++k) total[k] += running(cell[k]);
}

// What goes along with a search, and is told n_L and D of every prefix of bins: nothing.
struct Alone {
  void enter(std::int32_t, const f64x&) {}
  void add(int, const f64x&) {}
};

// Where a side is empty D is zero and so are n_L n_R: zero over zero is NaN, which is not better than anything.
template <class Sum, class Along = Alone>
[[gnu::always_inline]]
inline void try_split(const Node<Sum>& node, const Running<Sum>* left, int n_sums, std::int64_t split, Best& best,
                      std::int32_t bin = 0, Along&& along = {}) {
  const f64x n_left = convert<double>(left[0]), n_right = convert<double>(node.total[0] - left[0]);
  f64x score{};
  along.enter(bin, n_left);
  for (int k = 1; k <= n_sums; ++k) {
    const f64x d = convert<double>(left[k]) * n_right - convert<double>(node.total[k] - left[k]) * n_left;
    along.add(k, d);
    score = k == 1 ? d * d : score + d * d;
  }
  score /= n_left * n_right;
  assign_where_greater(score, best.score, fill<std::int64_t>(split), best.split);
}

// Tries the cuts of a feature, lowest cut first.
template <int kSums, class Sum, class Along = Alone>
inline void search_feature(const Table& table, const Recipe& recipe, const Node<Sum>& node, std::int32_t feature,
                           const Lanes<Sum>* cell, Best& best, Along&& along = {}) {
  const int n_sums = kSums ? kSums : table.n_sums;
  Running<Sum> left[1 + (kSums ? kSums : kMaxBins)], with_missing[1 + (kSums ? kSums : kMaxBins)];
  const std::int32_t n_cuts = n_known_bins(table, feature) - 1;
  const std::int32_t first = recipe.split_offset[feature];
  const Lanes<Sum>* missing = table.has_missing[feature] ? cell + (n_cuts + 1) * (1 + n_sums) : nullptr;
  for (int k = 0; k <= n_sums; ++k) left[k] = Running<Sum>{};
  if (!missing) {
    for (std::int32_t cut = 0; cut < n_cuts; ++cut, cell += 1 + n_sums) {
      add_cell(left, cell, n_sums);
      try_split(node, left, n_sums, first + cut, best, cut, along);
    }
    return;
  }
  // Missing values that are not there leave a cut as good as it was: the same split is not better.
  for (std::int32_t cut = 0; cut < n_cuts; ++cut, cell += 1 + n_sums) {
    add_cell(left, cell, n_sums);
    try_split(node, left, n_sums, first + cut, best, cut, along);
    for (int k = 0; k <= n_sums; ++k) with_missing[k] = left[k] + running(missing[k]);
    try_split(node, with_missing, n_sums, first + n_cuts + cut, best);
  }
  add_cell(left, cell, n_sums);
  try_split(node, left, n_sums, first + 2 * n_cuts, best, n_cuts, along);
}

inline std::int32_t feature_of(const Table& table, const Recipe& recipe, std::int64_t split) {
  std::int32_t low = 0, high = table.n_features;
  while (high - low > 1) {
    const std::int32_t middle = (low + high) / 2;
    (recipe.split_offset[middle] <= split ? low : high) = middle;
  }
  return low;
}

// In which of the tied lanes does a feature win against the best so far? Asked seldom, so one lane after the other.
inline std::uint16_t win_ties(const Table& table, const Recipe& recipe, const std::uint64_t* node_keys,
                              std::uint16_t tied, std::int32_t feature, const Best& best) {
  unsigned won = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(tied >> lane & 1) || best.split[lane] == kNoSplit) continue;
    const std::int32_t other = feature_of(table, recipe, best.split[lane]);
    const bool wins = tie_bits(node_keys[lane], static_cast<std::uint32_t>(feature)) >
                      tie_bits(node_keys[lane], static_cast<std::uint32_t>(other));
    won |= static_cast<unsigned>(wins) << lane;
  }
  return static_cast<std::uint16_t>(won);
}

// Tries all candidates. Between features that are equally good the draw decides. `search` tries a feature.
template <class Search>
inline Best search_splits(const Table& table, const Recipe& recipe, const Memory& memory,
                          const std::uint64_t* node_keys, const Search& search) {
  Best best;
  for (std::int32_t feature = 0; feature < table.n_features; ++feature) {
    const std::uint16_t allowed = memory.candidates[feature];
    if (!allowed) continue;
    Best found;
    search(feature, found);
    const Order order = compare(found.score, best.score);
    std::uint16_t better = order.greater & allowed;
    if (const std::uint16_t tied = order.equal & allowed)
      better |= win_ties(table, recipe, node_keys, tied, feature, best);
    const i64x mask = spread(better);
    assign_where(mask, best.score, found.score);
    assign_where(mask, best.split, found.split);
  }
  return best;
}

template <class Sum>
inline void sum_up(const Table& table, Node<Sum>& node) {
  const Lanes<Sum>* cell = node.cells;
  for (int k = 0; k <= table.n_sums; ++k) node.total[k] = Running<Sum>{};
  for (std::int32_t bin = 0; bin < table.n_bins[0]; ++bin, cell += 1 + table.n_sums)
    add_cell(node.total, cell, table.n_sums);
}

template <class Sum>
inline Best best_split(const Table& table, const Recipe& recipe, const Memory& memory, const std::uint64_t* node_keys,
                       Node<Sum>& node) {
  sum_up(table, node);
  return search_splits(table, recipe, memory, node_keys, [&](std::int32_t feature, Best& found) {
    const Lanes<Sum>* cells = node.cells + memory.cell_offset[feature];
    table.n_sums == 1 ? search_feature<1>(table, recipe, node, feature, cells, found)
                      : search_feature<0>(table, recipe, node, feature, cells, found);
  });
}

}  // namespace pysirus::PYSIRUS_ISA
