// Bootstrap counts: how often each row of a chunk stands in the sample of each of the block's trees.
#pragma once

#include <bit>

#include "forest/kernel/lanes.hpp"
#include "forest/random.hpp"

namespace pysirus::PYSIRUS_ISA {

// Count number 4 * lane + k of a row is drawn with keys low[k], high[k] of that lane.
constexpr int kQuarters = kBlock / kLanes;
struct TreeKeys {
  u32x low[kQuarters], high[kQuarters];
};

// Counts from kRareFrom on are rare (one draw in 1,700). A row is drawn with that many thresholds, and what reaches the
// last of them is drawn again, by itself. kRowsAtOnce rows share the question whether there is any.
constexpr int kRareFrom = 6;
constexpr std::int64_t kRowsAtOnce = 8;

// Adds one where bits reach a threshold. GCC 12 makes three instructions of the plain form where AVX-512 has two.
[[gnu::always_inline]]
inline void count_reached(const i32x::Part& bits, std::int32_t threshold, i32x::Part& count) {
#if defined(__AVX512F__) && !defined(PYSIRUS_PORTABLE)
  const __m512i old = reinterpret_cast<__m512i>(count);
  const __mmask16 reached = _mm512_cmpge_epi32_mask(reinterpret_cast<__m512i>(bits), _mm512_set1_epi32(threshold));
  count = reinterpret_cast<i32x::Part>(_mm512_mask_sub_epi32(old, reached, old, _mm512_set1_epi32(-1)));
#else
  count -= bits >= threshold;
#endif
}

// Where in a word of four bytes byte k of the memory stands.
constexpr int bit_of_byte(int k) { return 8 * (std::endian::native == std::endian::big ? 3 - k : k); }

// The count of a row in every tree, up to kRareFrom. Vectors compare as signed numbers on most machines, so bits and
// thresholds are moved by half their range. The counts of four vectors become the bytes of one: no lane moves.
[[gnu::always_inline]]
inline u32x draw_row(const TreeKeys& keys, std::uint32_t row, const std::int32_t* thresholds) {
  u32x bytes{};
  for (int i = 0; i < i32x::kParts; ++i)
    for (int k = 0; k < kQuarters; ++k) {
      const auto bits = row_bits(keys.low[k].part[i], keys.high[k].part[i], row) ^ 0x80000000u;
      const auto ordered = as_vector<i32x::Part>(bits);
      i32x::Part count{};
      for (int t = 0; t < kRareFrom; ++t) count_reached(ordered, thresholds[t], count);
      bytes.part[i] |= as_vector<u32x::Part>(count) << bit_of_byte(k);
    }
  return bytes;
}

// A bit in each byte that is kRareFrom, of vectors or words whose bytes are no larger: 6 alone has both of its bits.
[[gnu::always_inline]]
inline u32x find_rare(const u32x& bytes) {
  static_assert(kRareFrom == 6);
  u32x result;
  for (int i = 0; i < u32x::kParts; ++i) result.part[i] = bytes.part[i] & (bytes.part[i] << 1) & 0x04040404u;
  return result;
}

// The rare counts of a row, drawn again with all thresholds.
inline void redraw_rare(const TreeKeys& keys, const Recipe& recipe, std::uint32_t row, u32x& bytes) {
  const u32x rare = find_rare(bytes);
  if (!any(rare)) return;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int k = 0; rare[lane] && k < kQuarters; ++k) {
      if ((bytes[lane] >> bit_of_byte(k) & 0xFF) != kRareFrom) continue;
      const std::uint32_t bits = row_bits(keys.low[k][lane], keys.high[k][lane], row);
      std::uint32_t count = 0;
      for (int t = 0; t < recipe.n_thresholds; ++t) count += bits >= recipe.thresholds[t];
      bytes.set(lane, bytes[lane] + ((count - kRareFrom) << bit_of_byte(k)));
    }
}

inline void draw_counts(const TreeKeys& keys, const Recipe& recipe, std::uint64_t first_row, std::int64_t n_rows,
                        RowCounts* counts) {
  std::int32_t thresholds[kRareFrom];
  for (int k = 0; k < kRareFrom; ++k)
    thresholds[k] = k < recipe.n_thresholds ? static_cast<std::int32_t>(recipe.thresholds[k] ^ 0x80000000u) : INT32_MAX;
  const auto first = static_cast<std::uint32_t>(first_row);
  for (std::int64_t begin = 0; begin < n_rows; begin += kRowsAtOnce) {
    const std::int64_t end = begin + kRowsAtOnce < n_rows ? begin + kRowsAtOnce : n_rows;
    u32x rare{};
    for (std::int64_t row = begin; row < end; ++row) {
      const u32x bytes = draw_row(keys, first + static_cast<std::uint32_t>(row), thresholds);
      rare |= find_rare(bytes);
      std::memcpy(counts + row, &bytes, sizeof bytes);
    }
    if (!any(rare)) continue;
    for (std::int64_t row = begin; row < end; ++row) {
      u32x bytes;
      std::memcpy(&bytes, counts + row, sizeof bytes);
      redraw_rare(keys, recipe, first + static_cast<std::uint32_t>(row), bytes);
      std::memcpy(counts + row, &bytes, sizeof bytes);
    }
  }
}

// Adds up the rows drawn of a chunk, with repetition, in every tree: in bytes, as long as these cannot overflow.
inline void add_counts(const RowCounts* counts, std::int64_t n_rows, i32x* drawn) {
  constexpr std::int64_t kByteful = 255 / kMaxThresholds;
  for (std::int64_t begin = 0; begin < n_rows; begin += kByteful) {
    const std::int64_t end = begin + kByteful < n_rows ? begin + kByteful : n_rows;
    RowCounts total{};
    for (std::int64_t row = begin; row < end; ++row) total += counts[row];
    Lanes<std::uint8_t> part[kMaxGroups];
    std::memcpy(part, &total, sizeof total);
    for (int k = 0; k < kMaxGroups; ++k) drawn[k] += convert<std::int32_t>(part[k]);
  }
}

}  // namespace pysirus::PYSIRUS_ISA
