// Histograms of integer sums. A cell of a bin holds 1 + n_slots vectors: its size, then its sums, one lane a tree.
// All trees of a block see a row in the same bin, so adding a row is one vector addition a sum, with no scatter.
#pragma once

#include "lanes.hpp"
#include "workspace.hpp"

namespace pysirus::PYSIRUS_ISA {

// Adds a chunk of rows to the cells of `N` features at once. Sum is the width of a cell's sums.
template <int N, class Sum, bool kSlots, bool kWeights>
inline void add_rows(const Table& table, std::int64_t first, std::int64_t n_rows, const u8x* counts,
                     std::int32_t feature, sums_of<Sum>* const* cells) {
  using Lanes = sums_of<Sum>;
  const std::uint8_t* columns[N];
  Lanes* base[N];
  for (int i = 0; i < N; ++i) {
    columns[i] = table.bins + (feature + i) * table.n_rows + first;
    base[i] = cells[i];
  }
  const std::int64_t per_bin = 1 + table.n_slots;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    Lanes size = __builtin_convertvector(counts[row], Lanes);
    if constexpr (kWeights) size *= table.weight[first + row];
    const Lanes sum = kSlots ? size : size * static_cast<Sum>(table.value[first + row]);
    const std::int64_t slot = kSlots ? 1 + table.slot[first + row] : 1;
    for (int i = 0; i < N; ++i) {
      Lanes* cell = base[i] + (kSlots ? per_bin : 2) * columns[i][row];
      cell[0] += size;
      cell[slot] += sum;
    }
  }
}

template <class Sum, bool kSlots, bool kWeights>
inline void add_tile(const Table& table, std::int64_t first, std::int64_t n_rows, const u8x* counts,
                     std::int32_t feature, std::int32_t n, sums_of<Sum>* const* cells) {
  static_assert(kTile == 4);
  switch (n) {
    case 4: return add_rows<4, Sum, kSlots, kWeights>(table, first, n_rows, counts, feature, cells);
    case 3: return add_rows<3, Sum, kSlots, kWeights>(table, first, n_rows, counts, feature, cells);
    case 2: return add_rows<2, Sum, kSlots, kWeights>(table, first, n_rows, counts, feature, cells);
    default: return add_rows<1, Sum, kSlots, kWeights>(table, first, n_rows, counts, feature, cells);
  }
}

// Adds a chunk to a node's histogram. `kNarrow`: 64-bit sums are built from 32-bit sums of this one chunk, which
// the caller keeps short enough.
template <class Sum, bool kSlots, bool kWeights>
inline void add_chunk(const Table& table, Workspace& space, std::int64_t first, std::int64_t n_rows,
                      const u8x* counts, sums_of<Sum>* histogram) {
  constexpr bool kNarrow = sizeof(Sum) == 8 && !kWeights;
  for (std::int32_t feature = 0; feature < table.n_features; feature += kTile) {
    const std::int32_t n = feature + kTile <= table.n_features ? kTile : table.n_features - feature;
    const std::int64_t begin = space.cell_offset[feature], end = space.cell_offset[feature + n];
    if constexpr (kNarrow) {
      auto* tile = reinterpret_cast<i32x*>(space.tile.get());
      for (std::int64_t c = 0; c < end - begin; ++c) tile[c] = i32x{};
      i32x* cells[kTile];
      for (int i = 0; i < n; ++i) cells[i] = tile + space.cell_offset[feature + i] - begin;
      add_tile<std::int32_t, kSlots, kWeights>(table, first, n_rows, counts, feature, n, cells);
      for (std::int64_t c = 0; c < end - begin; ++c) histogram[begin + c] += __builtin_convertvector(tile[c], i64x);
    } else {
      sums_of<Sum>* cells[kTile];
      for (int i = 0; i < n; ++i) cells[i] = histogram + space.cell_offset[feature + i];
      add_tile<Sum, kSlots, kWeights>(table, first, n_rows, counts, feature, n, cells);
    }
  }
}

}  // namespace pysirus::PYSIRUS_ISA
