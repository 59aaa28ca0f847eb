// Bootstrap counts: how often each row of a chunk stands in the sample of each of the block's trees.
#pragma once

#include "lanes.hpp"
#include "random.hpp"

namespace pysirus::PYSIRUS_ISA {

struct TreeKeys {
  u32x low, high;
};

// Counts above kCommon are rare (1 row in 750 blocks' rows): they are redone with all thresholds, eight rows at once.
constexpr int kCommon = 6;
constexpr int kRowsAtOnce = 8;

inline void draw_counts(const TreeKeys& keys, const Recipe& recipe, std::uint64_t first_row, std::int64_t n_rows,
                        u8x* counts) {
  // Vectors compare as signed numbers on most machines, so bits and thresholds are moved by half their range.
  std::int32_t signed_threshold[kMaxThresholds];
  for (int k = 0; k < recipe.n_thresholds; ++k)
    signed_threshold[k] = static_cast<std::int32_t>(recipe.thresholds[k] ^ 0x80000000u);
  const int common = recipe.n_thresholds < kCommon ? recipe.n_thresholds : kCommon;

  const auto bits_of = [&](std::int64_t row) {
    const auto number = static_cast<std::uint32_t>(first_row + static_cast<std::uint64_t>(row));
    return reinterpret_cast<i32x>(row_bits(keys.low, keys.high, number) ^ 0x80000000u);
  };
  for (std::int64_t begin = 0; begin < n_rows; begin += kRowsAtOnce) {
    const std::int64_t end = begin + kRowsAtOnce < n_rows ? begin + kRowsAtOnce : n_rows;
    i32x rare{};
    for (std::int64_t row = begin; row < end; ++row) {
      const i32x bits = bits_of(row);
      i32x count{};
      for (int k = 0; k < common; ++k) count -= bits >= signed_threshold[k];
      rare |= count >= kCommon;
      counts[row] = __builtin_convertvector(count, u8x);
    }
    if (recipe.n_thresholds <= kCommon || !any(rare)) continue;
    for (std::int64_t row = begin; row < end; ++row) {
      const i32x bits = bits_of(row);
      i32x count{};
      for (int k = 0; k < recipe.n_thresholds; ++k) count -= bits >= signed_threshold[k];
      counts[row] = __builtin_convertvector(count, u8x);
    }
  }
}

inline i32x total_counts(const u8x* counts, std::int64_t n_rows) {
  i32x total{};
  for (std::int64_t row = 0; row < n_rows; ++row) total += __builtin_convertvector(counts[row], i32x);
  return total;
}

}  // namespace pysirus::PYSIRUS_ISA
