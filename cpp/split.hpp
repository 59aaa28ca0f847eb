// Histograms in, best cut out. The decrease in variance of a split is proportional to sum_k D_k^2 / (n_L n_R) with
// D_k = s_kL n - s_k n_L, s the sums and n the sizes of the node and its left side. It is computed in double precision
// from exact integers, in this order of operations and without fused multiply-add: the same number everywhere.
#pragma once

#include "lanes.hpp"
#include "random.hpp"
#include "workspace.hpp"

namespace pysirus::PYSIRUS_ISA {

struct Best {
  f64x score;    // -1 where no candidate separates the node
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

template <class Lanes>
struct Node {
  const Lanes* cells;    // its histogram
  f64x size, sum[kMaxBins];
};

template <class Lanes>
inline void add_cell(Lanes* total, const Lanes* cell, int n_sums) {
  for (int k = 0; k <= n_sums; ++k) total[k] += cell[k];
}

template <class Lanes>
inline void try_split(const Node<Lanes>& node, const Lanes* left, int n_sums, i64x allowed, std::int64_t split,
                      Best& best) {
  const f64x n_left = to_double(left[0]);
  const f64x n_right = node.size - n_left;
  f64x score{};
  for (int k = 0; k < n_sums; ++k) {
    const f64x d = to_double(left[1 + k]) * node.size - node.sum[k] * n_left;
    score += d * d;
  }
  score /= n_left * n_right;
  const i64x better = allowed & (n_left > 0.0) & (n_right > 0.0) & (score > best.score);
  best.score = better ? score : best.score;
  best.split = better ? split + (best.split & 0) : best.split;
}

// Tries the cuts of all candidates, lowest feature and lowest cut first; a later one must be strictly better.
template <int kSums, class Lanes>
inline void search_splits(const Table& table, const Recipe& recipe, const Workspace& space, const Node<Lanes>& node,
                          Best& best) {
  const int n_sums = kSums ? kSums : table.n_slots;
  Lanes left[1 + (kSums ? kSums : kMaxBins)];
  Lanes with_missing[1 + (kSums ? kSums : kMaxBins)];
  for (std::int32_t feature = 0; feature < table.n_features; ++feature) {
    if (!space.candidates[feature]) continue;
    const i64x allowed = spread(space.candidates[feature]);
    const std::int32_t n_cuts = n_known_bins(table, feature) - 1;
    const std::int32_t first = recipe.split_offset[feature];
    const Lanes* cell = node.cells + space.cell_offset[feature];
    const Lanes* missing = table.has_missing[feature] ? cell + (n_cuts + 1) * (1 + n_sums) : nullptr;
    for (int k = 0; k <= n_sums; ++k) left[k] = Lanes{};
    for (std::int32_t cut = 0; cut < n_cuts; ++cut, cell += 1 + n_sums) {
      add_cell(left, cell, n_sums);
      try_split(node, left, n_sums, allowed, first + cut, best);
      if (!missing) continue;
      for (int k = 0; k <= n_sums; ++k) with_missing[k] = left[k] + missing[k];
      const i64x some = allowed & (to_double(missing[0]) > 0.0);
      try_split(node, with_missing, n_sums, some, first + n_cuts + cut, best);
    }
    if (missing) {
      add_cell(left, cell, n_sums);
      try_split(node, left, n_sums, allowed, first + 2 * n_cuts, best);
    }
  }
}

template <class Lanes>
inline Best best_split(const Table& table, const Recipe& recipe, const Workspace& space, Node<Lanes>& node) {
  const Lanes* cell = node.cells;
  Lanes total[1 + kMaxBins];
  for (int k = 0; k <= table.n_slots; ++k) total[k] = Lanes{};
  for (std::int32_t bin = 0; bin < table.n_bins[0]; ++bin, cell += 1 + table.n_slots)
    add_cell(total, cell, table.n_slots);
  node.size = to_double(total[0]);
  for (int k = 0; k < table.n_slots; ++k) node.sum[k] = to_double(total[1 + k]);

  Best best{f64x{} - 1.0, i64x{} + kNoSplit};
  if (table.n_slots == 1)
    search_splits<1>(table, recipe, space, node, best);
  else
    search_splits<0>(table, recipe, space, node, best);
  return best;
}

}  // namespace pysirus::PYSIRUS_ISA
