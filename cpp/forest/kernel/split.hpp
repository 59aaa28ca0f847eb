// Histograms in, best cut out. The decrease in variance of a split is proportional to sum_k D_k^2 / (n_L n_R) with
// D_k = s_kL n - s_k n_L, s the sums and n the sizes of the node and its left side. It is computed in double precision
// from exact integers, in this order of operations and without fused multiply-add: the same number everywhere.
#pragma once

#include <limits>

#include "forest/kernel.hpp"
#include "forest/kernel/lanes.hpp"
#include "forest/random.hpp"

namespace pysirus::PYSIRUS_ISA {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Best {
  f64x score;  // -1 where no candidate separates the node
  i64x split;
};

// Draws each wanted lane's candidate features without replacement (Floyd's method), a bit a lane.
inline void draw_candidates(const Table& table, const Recipe& recipe, const std::uint64_t* tree_keys,
                            std::uint64_t node, std::uint16_t wanted, std::uint16_t* candidates) {
  const std::int32_t p = table.n_features;
  for (std::int32_t f = 0; f < p; ++f) candidates[f] = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto bit = static_cast<std::uint16_t>(1u << lane);
    if (!(wanted & bit)) continue;
    const std::uint64_t key = node_key(tree_keys[lane], node);
    for (std::int32_t last = p - recipe.max_features; last < p; ++last) {
      const auto drawn = below(key, static_cast<std::uint64_t>(last), static_cast<std::uint64_t>(last) + 1);
      candidates[candidates[drawn] & bit ? static_cast<std::uint64_t>(last) : drawn] |= bit;
    }
  }
}

template <class Sum>
struct Node {
  const Lanes<Sum>* cells;  // its histogram
  f64x size, sum[kMaxBins];
};

// Sums from left to right. Those of 32 bits are exact in double precision, in which they are needed.
template <class Sum>
using Running = Lanes<std::conditional_t<sizeof(Sum) == 4, double, Sum>>;

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

// Where a side is empty D is zero and so are n_L n_R: zero over zero is NaN, which is not better than anything.
template <class Sum>
[[gnu::always_inline]]
inline void try_split(const Node<Sum>& node, const Running<Sum>* left, int n_sums, std::int64_t split, Best& best) {
  const f64x n_left = convert<double>(left[0]);
  f64x score{};
  for (int k = 0; k < n_sums; ++k) {
    const f64x d = convert<double>(left[1 + k]) * node.size - node.sum[k] * n_left;
    score = k == 0 ? d * d : score + d * d;
  }
  score /= n_left * (node.size - n_left);
  assign_where_greater(score, best.score, fill<std::int64_t>(split), best.split);
}

// Tries the cuts of a feature in the lanes that have it as a candidate, lowest cut first.
template <int kSums, class Sum>
inline void search_feature(const Table& table, const Recipe& recipe, const Node<Sum>& node, std::int32_t feature,
                           const Lanes<Sum>* cell, Best& best) {
  const int n_sums = kSums ? kSums : table.n_sums;
  Running<Sum> left[1 + (kSums ? kSums : kMaxBins)], with_missing[1 + (kSums ? kSums : kMaxBins)];
  const std::int32_t n_cuts = n_known_bins(table, feature) - 1;
  const std::int32_t first = recipe.split_offset[feature];
  const Lanes<Sum>* missing = table.has_missing[feature] ? cell + (n_cuts + 1) * (1 + n_sums) : nullptr;
  for (int k = 0; k <= n_sums; ++k) left[k] = Running<Sum>{};
  if (!missing) {
    for (std::int32_t cut = 0; cut < n_cuts; ++cut, cell += 1 + n_sums) {
      add_cell(left, cell, n_sums);
      try_split(node, left, n_sums, first + cut, best);
    }
    return;
  }
  // Missing values that are not there leave a cut as good as it was: the same split is not better.
  for (std::int32_t cut = 0; cut < n_cuts; ++cut, cell += 1 + n_sums) {
    add_cell(left, cell, n_sums);
    try_split(node, left, n_sums, first + cut, best);
    for (int k = 0; k <= n_sums; ++k) with_missing[k] = left[k] + running(missing[k]);
    try_split(node, with_missing, n_sums, first + n_cuts + cut, best);
  }
  add_cell(left, cell, n_sums);
  try_split(node, left, n_sums, first + 2 * n_cuts, best);
}

// Tries all candidates, lowest feature first; a later one must be strictly better. Lanes that have other candidates
// are shown a best that nothing can beat.
template <int kSums, class Sum>
inline void search_splits(const Table& table, const Recipe& recipe, const Memory& memory, const Node<Sum>& node,
                          Best& best) {
  for (std::int32_t feature = 0; feature < table.n_features; ++feature) {
    if (!memory.candidates[feature]) continue;
    const i64x allowed = spread(memory.candidates[feature]);
    Best shown{fill(kInfinity), best.split};
    assign_where(allowed, shown.score, best.score);
    search_feature<kSums>(table, recipe, node, feature, node.cells + memory.cell_offset[feature], shown);
    assign_where(allowed, best.score, shown.score);
    best.split = shown.split;
  }
}

template <class Sum>
inline Best best_split(const Table& table, const Recipe& recipe, const Memory& memory, Node<Sum>& node) {
  const Lanes<Sum>* cell = node.cells;
  Running<Sum> total[1 + kMaxBins];
  total[0] = Running<Sum>{};
  for (int k = 1; k <= table.n_sums; ++k) total[k] = Running<Sum>{};
  for (std::int32_t bin = 0; bin < table.n_bins[0]; ++bin, cell += 1 + table.n_sums)
    add_cell(total, cell, table.n_sums);
  node.size = convert<double>(total[0]);
  for (int k = 0; k < table.n_sums; ++k) node.sum[k] = convert<double>(total[1 + k]);

  Best best{fill(-1.0), fill<std::int64_t>(kNoSplit)};
  if (table.n_sums == 1)
    search_splits<1>(table, recipe, memory, node, best);
  else
    search_splits<0>(table, recipe, memory, node, best);
  return best;
}

}  // namespace pysirus::PYSIRUS_ISA
