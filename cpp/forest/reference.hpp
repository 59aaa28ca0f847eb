// The algorithm, to be read: one tree, one node, one number at a time. It defines what every kernel must grow
// (check/driver.cpp compares them, tree by tree), and it searches the splits of trees whose rows lie in several places
// (level.cpp). cpp/README.md works an example of eight rows by hand.
//
//   a tree   draws how often each row stands in its sample, and splits its nodes in heap order: 0, then 1 and 2, ...
//   a node   that holds few rows, or rows that all answer the same, is left alone; the others draw candidate features,
//            add up their rows bin by bin, and take the best cut of the best candidate, which a draw finds among equals
//   a path   is the way to a node, and what is counted in the end (paths.hpp)
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "forest/lines.hpp"
#include "forest/random.hpp"
#include "forest/table.hpp"

namespace pysirus::reference {

// The same where blocks of rows draw: a block has a Poisson number of draws, each of which takes one of its rows. Then
// the counts of its rows are independent, and Poisson too. The last block draws rows that are not there, for nothing.
inline std::int64_t draw_count_in_block(const Recipe& recipe, std::uint64_t tree_key, std::uint64_t row) {
  const std::uint64_t key = block_key(tree_key, row / kDrawBlock), bits = bits_at(key, 0) >> 32;
  std::int64_t n_draws = 0, count = 0;
  for (std::int32_t k = 0; k < recipe.n_block_thresholds; ++k) n_draws += bits >= recipe.block_thresholds[k];
  for (std::int64_t i = 0; i < n_draws; ++i) {
    const std::uint64_t eight_draws = bits_at(key, static_cast<std::uint64_t>(1 + i / 8));
    count += (eight_draws >> (8 * (i % 8)) & 0xFF) == row % kDrawBlock;
  }
  return count;
}

// How often a row, numbered among the rows of all shards, stands in a tree's sample.
inline std::int64_t draw_count(const Recipe& recipe, std::uint64_t tree_key, std::uint64_t row) {
  if (recipe.block_thresholds) return draw_count_in_block(recipe, tree_key, row);
  const std::uint32_t bits = row_bits(static_cast<std::uint32_t>(tree_key), static_cast<std::uint32_t>(tree_key >> 32),
                                      static_cast<std::uint32_t>(row));
  std::int64_t count = 0;
  for (std::int32_t k = 0; k < recipe.n_thresholds; ++k) count += bits >= recipe.thresholds[k];
  return count;
}

// A node's candidate features in rising order: max_features of them without replacement, by Floyd's method.
inline void draw_candidates(std::uint64_t node_key, std::int32_t n_features, std::int32_t max_features,
                            std::int32_t* candidates) {
  if (max_features == n_features) return std::iota(candidates, candidates + n_features, 0);
  std::int32_t n = 0;
  for (std::int32_t last = n_features - max_features; last < n_features; ++last) {
    const auto index = static_cast<std::uint64_t>(last);
    const auto drawn = static_cast<std::int32_t>(below(node_key, index, index + 1));
    const bool taken = std::find(candidates, candidates + n, drawn) != candidates + n;
    candidates[n++] = taken ? last : drawn;
  }
  std::sort(candidates, candidates + n);
}

inline std::int32_t feature_of(const Table& table, const Recipe& recipe, std::int32_t split) {
  const auto* end = recipe.split_offset + table.n_features + 1;
  return static_cast<std::int32_t>(std::upper_bound(recipe.split_offset, end, split) - recipe.split_offset) - 1;
}

// The same among the features that may stand in a path with those above the node: all of them where they are fewer than
// max_features. `splits` are those of the tree so far. Returns how many; the rest is -1.
inline std::int32_t draw_allowed(const Table& table, const Recipe& recipe, std::uint64_t node_key,
                                 const std::int32_t* splits, std::int64_t node, std::int32_t* candidates) {
  if (!is_limited(recipe.together)) {
    draw_candidates(node_key, table.n_features, recipe.max_features, candidates);
    return recipe.max_features;
  }
  std::int32_t path[kMaxPath];
  int length = 0;
  for (; node > 0; node = (node - 1) / 2) path[length++] = feature_of(table, recipe, splits[(node - 1) / 2]);
  std::vector<std::int32_t> allowed(static_cast<std::size_t>(table.n_features));
  const std::int32_t n_allowed = list_allowed(recipe.together, table.n_features, path, length, allowed.data());
  const std::int32_t n = std::min(n_allowed, recipe.max_features);
  draw_candidates(node_key, n_allowed, n, candidates);
  for (std::int32_t k = 0; k < n; ++k) candidates[k] = allowed[static_cast<std::size_t>(candidates[k])];
  std::fill(candidates + n, candidates + recipe.max_features, -1);
  return n;
}

// Size and sums of some rows: 1 + n_sums integers, that of a bin is a cell.
using Sums = std::vector<std::int64_t>;

inline void add_to(Sums& sums, const std::int64_t* cell) {
  for (std::int64_t& sum : sums) sum += *cell++;
}

// Adds a row, drawn `count` times, to a cell.
inline void add_row(const Table& table, std::int64_t row, std::int64_t count, std::int64_t* cell) {
  const std::int64_t size = table.weight ? count * table.weight[row] : count;
  cell[0] += size;
  if (table.class_code) {
    cell[1 + table.class_code[row]] += size;
    return;
  }
  for (std::int32_t column = 0; column < table.n_sums; ++column)
    cell[1 + column] += size * value_of(table, column, row);
}

// The decrease in variance of a split, times the node's size squared, which all its splits share; -1 where one side is
// empty. That of several columns, or of classes, is the sum of theirs. With n the sizes and s_k the sums of the two sides it is sum_k D_k^2 / (n_L n_R), where
// D_k = s_kL n_R - s_kR n_L. It is computed in double precision from exact integers, in this order of operations and without
// fused multiply-add: the same number everywhere. And the same number if left and right change places (D becomes -D, to
// the last bit, however it was rounded): features that part the same rows score the same.
inline double score_of(const Sums& node, const Sums& left) {
  const auto n_left = static_cast<double>(left[0]), n_right = static_cast<double>(node[0] - left[0]);
  if (!(n_left > 0.0) || !(n_right > 0.0)) return -1.0;
  double score = 0.0;
  for (std::size_t k = 1; k < node.size(); ++k) {
    const double d = static_cast<double>(left[k]) * n_right - static_cast<double>(node[k] - left[k]) * n_left;
    score += d * d;
  }
  return score / (n_left * n_right);
}

struct Best {
  double score = -1.0;
  std::int32_t split = kNoSplit;
  std::uint32_t tie = 0;  // what its feature drew

  // Within a feature, the first of equals stays.
  void offer(double other, std::int32_t number) {
    if (other > score) score = other, split = number;
  }
  // Between features, a draw decides.
  void offer(const Best& other) {
    if (other.score > score || (other.score == score && other.tie > tie)) *this = other;
  }
};

// Tries the cuts of a feature, the lowest first, in its cells, bin after bin; missing values, which have the last bin, on
// the right, then on the left; at last the missing against the rest.
inline void search_feature(const Table& table, const Recipe& recipe, const Sums& node, std::int32_t feature,
                           const std::int64_t* cell, Best& best) {
  const std::int32_t n_cuts = n_known_bins(table, feature) - 1, per_bin = 1 + table.n_sums;
  const std::int32_t first = recipe.split_offset[feature];
  const std::int64_t* missing = table.has_missing[feature] ? cell + (n_cuts + 1) * per_bin : nullptr;
  Sums left(static_cast<std::size_t>(per_bin));
  for (std::int32_t cut = 0; cut < n_cuts; ++cut, cell += per_bin) {
    add_to(left, cell);
    best.offer(score_of(node, left), first + cut);
    if (!missing || missing[0] == 0) continue;
    Sums with_missing = left;
    add_to(with_missing, missing);
    best.offer(score_of(node, with_missing), first + n_cuts + cut);
  }
  if (!missing) return;
  add_to(left, cell);
  best.offer(score_of(node, left), first + 2 * n_cuts);
}

// The best split of a node from the cells of its candidates, one after the other.
inline Best best_split(const Table& table, const Recipe& recipe, std::uint64_t node_key, const std::int32_t* candidates,
                       const Sums& node, const std::int64_t* cells) {
  Best best;
  for (std::int32_t k = 0; k < recipe.max_features && candidates[k] >= 0; ++k) {
    Best found;
    found.tie = tie_bits(node_key, static_cast<std::uint32_t>(candidates[k]));
    search_feature(table, recipe, node, candidates[k], cells, found);
    best.offer(found);
    cells += table.n_bins[candidates[k]] * (1 + table.n_sums);
  }
  return best;
}

// The column whose straight line wins a tree, from the cells of its root and the score of the root's best cut: of the
// candidates that may be a line the one that takes most, if that is at least 0.9 of what the cut takes.
inline std::int32_t winning_line(const Table& table, const Recipe& recipe, std::uint64_t node_key,
                                 const std::int32_t* candidates, const std::int64_t* cells, double cut) {
  const std::int32_t per_bin = 1 + table.n_sums;
  BestLine best;
  for (std::int32_t k = 0; k < recipe.max_features && candidates[k] >= 0; ++k) {
    const std::int32_t feature = candidates[k], n_bins = table.n_bins[feature];
    if (const std::int16_t* v = numbers_of_line(recipe.lines, feature))
      best.offer(line_score(v, n_bins, table.n_sums,
                            [&](std::int32_t bin, std::int32_t i) { return cells[bin * per_bin + i]; }),
                 feature, node_key);
    cells += n_bins * per_bin;
  }
  return best.winner(cut);
}

inline bool row_goes_left(const Table& table, const Recipe& recipe, std::int32_t split, std::int64_t row) {
  const std::int32_t feature = feature_of(table, recipe, split);
  return goes_left(table.bins[feature * table.n_rows + row], split - recipe.split_offset[feature],
                   n_known_bins(table, feature) - 1);
}

// A row of a tree's sample: how often it was drawn, and the node that it has come to.
struct DrawnRow {
  std::int64_t row, count, node;
};

inline std::vector<DrawnRow> draw_rows(const Table& table, const Recipe& recipe, std::uint64_t tree_key) {
  std::vector<DrawnRow> rows;
  for (std::int64_t row = 0; row < table.n_rows; ++row)
    if (const auto count = draw_count(recipe, tree_key, table.first_row + static_cast<std::uint64_t>(row)))
      rows.push_back({row, count, 0});
  return rows;
}

// All rows answer the same: nothing is left to explain.
inline bool is_constant(const Table& table, const std::vector<DrawnRow>& rows) {
  return std::all_of(rows.begin(), rows.end(), [&](const DrawnRow& r) {
    return table.value ? same_values(table, r.row, rows[0].row)
                       : table.class_code[r.row] == table.class_code[rows[0].row];
  });
}

// `line` is set at the root, to the column whose line wins the tree.
inline Best split_node(const Table& table, const Recipe& recipe, std::uint64_t node_key, const std::int32_t* splits,
                       std::int64_t number, const std::vector<DrawnRow>& rows, std::int32_t* line) {
  std::int64_t n_drawn = 0;
  for (const DrawnRow& r : rows) n_drawn += r.count;
  if (n_drawn <= recipe.min_node_size || is_constant(table, rows)) return {};

  std::vector<std::int32_t> candidates(static_cast<std::size_t>(recipe.max_features));
  const std::int32_t n_drawn_features = draw_allowed(table, recipe, node_key, splits, number, candidates.data());
  candidates.resize(static_cast<std::size_t>(n_drawn_features));
  const std::int64_t per_bin = 1 + table.n_sums;
  Sums node(static_cast<std::size_t>(per_bin)), cells;
  for (const DrawnRow& r : rows) add_row(table, r.row, r.count, node.data());
  for (const std::int32_t feature : candidates) {
    const std::size_t first = cells.size();
    cells.resize(first + static_cast<std::size_t>(table.n_bins[feature] * per_bin));
    for (const DrawnRow& r : rows)
      add_row(table, r.row, r.count, &cells[first] + table.bins[feature * table.n_rows + r.row] * per_bin);
  }
  candidates.resize(static_cast<std::size_t>(recipe.max_features), -1);
  const Best best = best_split(table, recipe, node_key, candidates.data(), node, cells.data());
  if (number == 0 && line && recipe.lines.first)
    *line = winning_line(table, recipe, node_key, candidates.data(), cells.data(), best.score);
  return best;
}

// The splits of a tree's inner nodes in heap order, kNoSplit where a node is left alone or not there. And the
// column whose line wins the tree, kNoLine where a cut does.
inline std::vector<std::int32_t> grow_tree(const Table& table, const Recipe& recipe, std::uint64_t tree,
                                           std::int32_t* line = nullptr) {
  const std::uint64_t key = tree_key(recipe.seed, tree);
  const std::int64_t n_nodes = (std::int64_t{1} << recipe.max_depth) - 1;
  std::vector<std::int32_t> splits(static_cast<std::size_t>(n_nodes), kNoSplit);
  std::vector<DrawnRow> rows = draw_rows(table, recipe, key), inside;
  if (line) *line = kNoLine;
  for (std::int64_t node = 0; node < n_nodes; ++node) {
    inside.clear();
    for (const DrawnRow& r : rows)
      if (r.node == node) inside.push_back(r);
    const std::uint64_t own = node_key(key, static_cast<std::uint64_t>(node));
    const std::int32_t split = split_node(table, recipe, own, splits.data(), node, inside, line).split;
    splits[static_cast<std::size_t>(node)] = split;
    if (split == kNoSplit) continue;
    for (DrawnRow& r : rows)
      if (r.node == node) r.node = 2 * node + (row_goes_left(table, recipe, split, r.row) ? 1 : 2);
  }
  return splits;
}

}  // namespace pysirus::reference
