// Counts of rows times their digits, summed for all trees of a block: the one loop that is written for each machine.
//
// Bytes are multiplied and added up within a vector (VNNI: four rows at once in 32 bits; AVX2: two rows in 16 bits), so
// the counts of a quad of rows are interleaved first: this puts the trees into an order of their own, which
// tree_of_byte() tells. Elsewhere 16-bit lanes are multiplied, one row after the other.
#pragma once

#include "forest/chunk.hpp"
#include "forest/kernel/lanes.hpp"

namespace pysirus::PYSIRUS_ISA {

// Sums of a run: over its rows of the count (where kSize), then of the count times each digit (where kNumber).
template <bool kSize, bool kNumber, int kGroups>
struct RunSums {
  static constexpr int kPlanes = kSize + kDigits * kNumber;
  i32x plane[kPlanes][kGroups];
};

#if defined(__AVX512VNNI__) && !defined(PYSIRUS_PORTABLE)

// The tree, numbered group after group, whose count is byte number `byte` of a row.
constexpr int tree_of_byte(int byte) { return byte / 4 % 4 * 16 + byte / 16 * 4 + byte % 4; }

template <bool kSize, bool kNumber, int kGroups>
[[gnu::always_inline]]
inline void sum_run(const RowCounts* counts, const QuadRows* rows, const QuadDigits* digits, std::int32_t n_quads,
                    RunSums<kSize, kNumber, kGroups>& sums) {
  constexpr int kPlanes = RunSums<kSize, kNumber, kGroups>::kPlanes;
  __m512i total[kPlanes][kGroups];
  for (auto& plane : total)
    for (auto& group : plane) group = _mm512_setzero_si512();
  for (std::int32_t q = 0; q < n_quads; ++q) {
    __m512i row[4], quad[4];
    for (int k = 0; k < 4; ++k) row[k] = _mm512_load_si512(counts + rows[q].row[k]);
    const __m512i low[2] = {_mm512_unpacklo_epi8(row[0], row[1]), _mm512_unpacklo_epi8(row[2], row[3])};
    const __m512i high[2] = {_mm512_unpackhi_epi8(row[0], row[1]), _mm512_unpackhi_epi8(row[2], row[3])};
    quad[0] = _mm512_unpacklo_epi16(low[0], low[1]);
    quad[1] = _mm512_unpackhi_epi16(low[0], low[1]);
    quad[2] = _mm512_unpacklo_epi16(high[0], high[1]);
    quad[3] = _mm512_unpackhi_epi16(high[0], high[1]);
    for (int p = 0; p < kPlanes; ++p) {
      const std::uint32_t four = p < kSize ? 0x01010101 : digits[q].digit[p - kSize];
      const __m512i factor = _mm512_set1_epi32(static_cast<std::int32_t>(four));
      for (int g = 0; g < kGroups; ++g) total[p][g] = _mm512_dpbusd_epi32(total[p][g], quad[g], factor);
    }
    // Says that the sums are in registers here. GCC 12 makes copies and spills them otherwise: 5% slower on 506 x 13.
    for (auto& plane : total)
      for (auto& group : plane) asm("" : "+v"(group));
  }
  for (int p = 0; p < kPlanes; ++p)
    for (int g = 0; g < kGroups; ++g) sums.plane[p][g].part[0] = reinterpret_cast<i32x::Part>(total[p][g]);
}

#else

// Sixteen bits hold what seven quads add up to: 28 rows with counts up to 16, times digits up to 64.
constexpr std::int32_t kQuadsAtOnce = 7;
static_assert(kQuadsAtOnce * 4 * kMaxThresholds * 64 < 1 << 15);

#if defined(__AVX2__) && !defined(PYSIRUS_PORTABLE)

constexpr int tree_of_byte(int byte) { return byte / 32 * 32 + byte / 8 % 2 * 16 + byte / 16 % 2 * 8 + byte % 8; }
constexpr int kGroupsAtOnce = 2;

// Digits of a pair of rows, in every lane.
constexpr int kFactorRows = 2;
using Factor = __m256i;
[[gnu::always_inline]]
inline Factor make_factor(std::uint32_t digits) {
  return _mm256_set1_epi16(static_cast<std::int16_t>(digits));
}

template <bool kSize, int kPlanes>
[[gnu::always_inline]]
inline void add_rows(const RowCounts* counts, const std::uint16_t* rows, const Factor* factors, int group,
                     i16x (&total)[kPlanes][kGroupsAtOnce]) {
  const auto load = [&](int k) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(counts + rows[k]) + group * kLanes;
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes));
  };
  const __m256i first = load(0), second = load(1);
  const __m256i pair[2] = {_mm256_unpacklo_epi8(first, second), _mm256_unpackhi_epi8(first, second)};
  for (int p = 0; p < kPlanes; ++p)
    for (int g = 0; g < kGroupsAtOnce; ++g)
      total[p][g].part[0] += reinterpret_cast<i16x::Part>(
          _mm256_maddubs_epi16(pair[g], p < kSize ? make_factor(0x0101) : factors[p - kSize]));
}

#else

constexpr int tree_of_byte(int byte) { return byte; }
constexpr int kGroupsAtOnce = 1;

// A digit of a row, in every lane.
constexpr int kFactorRows = 1;
using Factor = i16x::Part;
[[gnu::always_inline]]
inline Factor make_factor(std::uint32_t digits) {
  return fill<std::int16_t>(static_cast<std::int8_t>(digits)).part[0];
}

template <bool kSize, int kPlanes>
[[gnu::always_inline]]
inline void add_rows(const RowCounts* counts, const std::uint16_t* rows, const Factor* factors, int group,
                     i16x (&total)[kPlanes][kGroupsAtOnce]) {
  Lanes<std::uint8_t> bytes;
  std::memcpy(&bytes, reinterpret_cast<const std::uint8_t*>(counts + rows[0]) + group * kLanes, sizeof bytes);
  const i16x count = convert<std::int16_t>(bytes);
  for (int p = 0; p < kPlanes; ++p)
    for (int i = 0; i < i16x::kParts; ++i)
      total[p][0].part[i] += p < kSize ? count.part[i] : count.part[i] * factors[p - kSize];
}

#endif

template <bool kSize, bool kNumber, int kGroups>
[[gnu::always_inline]]
inline void sum_run(const RowCounts* counts, const QuadRows* rows, const QuadDigits* digits, std::int32_t n_quads,
                    RunSums<kSize, kNumber, kGroups>& sums) {
  constexpr int kPlanes = RunSums<kSize, kNumber, kGroups>::kPlanes;
  constexpr int kSteps = 4 / kFactorRows;
  for (std::int32_t first = 0; first < n_quads; first += kQuadsAtOnce) {
    const std::int32_t n = first + kQuadsAtOnce < n_quads ? kQuadsAtOnce : n_quads - first;
    Factor factors[kQuadsAtOnce][kSteps][kDigits];
    for (std::int32_t q = 0; kNumber && q < n; ++q)
      for (int step = 0; step < kSteps; ++step)
        for (int k = 0; k < kDigits; ++k)
          factors[q][step][k] = make_factor(digits[first + q].digit[k] >> (8 * kFactorRows * step));
    for (int group = 0; group < kGroups; group += kGroupsAtOnce) {
      i16x total[kPlanes][kGroupsAtOnce] = {};
      for (std::int32_t q = 0; q < n; ++q)
        for (int step = 0; step < kSteps; ++step)
          add_rows<kSize>(counts, rows[first + q].row + kFactorRows * step, factors[q][step], group, total);
      for (int p = 0; p < kPlanes; ++p)
        for (int g = 0; g < kGroupsAtOnce && group + g < kGroups; ++g) {
          const i32x more = convert<std::int32_t>(total[p][g]);
          i32x& sum = sums.plane[p][group + g];
          sum = first == 0 ? more : sum + more;
        }
    }
  }
}

#endif

}  // namespace pysirus::PYSIRUS_ISA
