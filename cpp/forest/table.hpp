// What the core is told: binned columns, a fixed-point response, the recipe of a tree. Nothing here is owned.
#pragma once

#include <cstdint>

#include "forest/interactions.hpp"
#include "isa/isa.hpp"

namespace pysirus {

constexpr int kLanes = 16;     // trees of a group, searched side by side, one vector lane each
constexpr int kMaxGroups = 4;  // groups of a block, whose histograms are filled together
constexpr int kBlock = kMaxGroups * kLanes;
constexpr int kMaxDepth = 4;
constexpr int kMaxThresholds = 16;
constexpr int kMaxBins = 256;
constexpr int kNoSplit = -1;
constexpr int kDrawBlock = 256;  // rows that draw together, where trees draw few

// A row adds its drawn count to the size of a cell, and count times value to the cell's sums. Numbers: a sum for each
// column of the response, value = its entry in fixed point. Classes: a sum per class, value = 1, the class says which.
struct Table {
  const std::uint8_t* bins;  // [feature][row]
  std::int64_t n_rows;
  std::uint64_t first_row;  // number of the first row among the rows of all shards
  std::int32_t n_features;
  const std::int32_t* n_bins;       // per feature, the bin of the missing values included
  const std::uint8_t* has_missing;  // per feature: is the last bin that of the missing values?
  const std::int32_t* value;        // numbers: [column][row], size below 2^20; null for classes
  const std::uint8_t* class_code;   // classes: 0, 1, ...; null for numbers
  std::int32_t n_sums;              // of a cell: the number of columns, or of classes
  const std::int32_t* weight;       // sample weight in fixed point; null: 1 for every row
};

// Which columns may be straight lines. Nothing here is owned.
struct Lines {
  const std::int32_t* first = nullptr;    // [feature]: where the numbers of its bins begin, -1: no line; null: none are
  const std::int16_t* numbers = nullptr;  // of the bins of those that may, below 2^15 in size
};

// Splits are numbered over all features. A feature with c cuts takes c numbers, one a cut; with missing values it
// takes 2c + 1: c cuts with the missing on the right, the same c with the missing on the left, and missing apart.
struct Recipe {
  std::uint64_t seed;
  std::int32_t max_depth;
  std::int32_t max_features;
  std::int32_t min_node_size;
  std::int32_t n_thresholds;
  std::uint32_t thresholds[kMaxThresholds];  // a row's count: how many of these its 32 bits reach
  const std::int32_t* split_offset;          // [feature + 1]: first split number of each feature
  InteractionConstraint together = {};       // which features may stand in one path
  // Where trees draw few rows, blocks of rows draw instead, drawn.hpp says how: how many of these its 32 bits reach is
  // the number of draws of a block. Null: every row draws its own count.
  const std::uint32_t* block_thresholds = nullptr;
  std::int32_t n_block_thresholds = 0;
  Lines lines = {};  // that are compared with the best cut at the root of each tree
};

namespace PYSIRUS_ISA {

inline std::int32_t n_known_bins(const Table& table, std::int32_t feature) {
  return table.n_bins[feature] - table.has_missing[feature];
}

// The numbers of a feature's bins; null where it may not be a line.
inline const std::int16_t* numbers_of_line(const Lines& lines, std::int32_t feature) {
  return lines.first[feature] < 0 ? nullptr : lines.numbers + lines.first[feature];
}

inline std::int32_t value_of(const Table& table, std::int32_t column, std::int64_t row) {
  return table.value[column * table.n_rows + row];
}

// Do two rows answer the same numbers?
inline bool same_values(const Table& table, std::int64_t row, std::int64_t other) {
  std::int32_t column = 0;
  while (column < table.n_sums && value_of(table, column, row) == value_of(table, column, other)) ++column;
  return column == table.n_sums;
}

// Does split `local` of a feature with `n_cuts` cuts send `bin` to the left? Missing values are in bin n_cuts + 1.
inline bool goes_left(std::int32_t bin, std::int32_t local, std::int32_t n_cuts) {
  const bool missing = bin == n_cuts + 1;
  if (local < n_cuts) return bin <= local;
  if (local < 2 * n_cuts) return missing || bin <= local - n_cuts;
  return !missing;
}

}  // namespace PYSIRUS_ISA

}  // namespace pysirus
