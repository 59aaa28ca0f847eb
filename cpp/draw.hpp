// Bootstrap counts: how often each row of a chunk stands in the sample of each of the block's trees.
#pragma once

#include "lanes.hpp"
#include "random.hpp"

namespace pysirus::PYSIRUS_ISA {

struct TreeKeys {
  u32x low, high;
};

// Counts of kCommon and more are rare (one draw in 1,700): rows are redone with all thresholds, eight at once.
constexpr int kCommon = 6;
constexpr int kRowsAtOnce = 8;

// The count of a row in every tree, up to n_thresholds. Vectors compare as signed numbers on most machines, so bits and
// thresholds are moved by half their range.
inline i32x draw_row(const TreeKeys& keys, std::uint32_t row, const std::int32_t* thresholds, int n_thresholds) {
  i32x count;
  for (int i = 0; i < i32x::kParts; ++i) {
    const auto bits = row_bits(keys.low.part[i], keys.high.part[i], row) ^ 0x80000000u;
    const auto ordered = reinterpret_cast<i32x::Part>(bits);
    count.part[i] = i32x::Part{};
    for (int k = 0; k < n_thresholds; ++k) count.part[i] -= ordered >= thresholds[k];
  }
  return count;
}

inline void draw_counts(const TreeKeys& keys, const Recipe& recipe, std::uint64_t first_row, std::int64_t n_rows,
                        u8x* counts) {
  std::int32_t thresholds[kMaxThresholds];
  for (int k = 0; k < kMaxThresholds; ++k)
    thresholds[k] = k < recipe.n_thresholds ? static_cast<std::int32_t>(recipe.thresholds[k] ^ 0x80000000u) : INT32_MAX;
  const auto first = static_cast<std::uint32_t>(first_row);
  for (std::int64_t begin = 0; begin < n_rows; begin += kRowsAtOnce) {
    const std::int64_t end = begin + kRowsAtOnce < n_rows ? begin + kRowsAtOnce : n_rows;
    i32x rare{};
    for (std::int64_t row = begin; row < end; ++row) {
      const i32x count = draw_row(keys, first + static_cast<std::uint32_t>(row), thresholds, kCommon);
      rare |= at_least(count, kCommon);
      counts[row] = convert<std::uint8_t>(count);
    }
    if (!any(rare)) continue;
    for (std::int64_t row = begin; row < end; ++row)
      counts[row] = convert<std::uint8_t>(
          draw_row(keys, first + static_cast<std::uint32_t>(row), thresholds, recipe.n_thresholds));
  }
}

inline i32x total_counts(const u8x* counts, std::int64_t n_rows) {
  i32x total{};
  for (std::int64_t row = 0; row < n_rows; ++row) total += convert<std::int32_t>(counts[row]);
  return total;
}

}  // namespace pysirus::PYSIRUS_ISA
