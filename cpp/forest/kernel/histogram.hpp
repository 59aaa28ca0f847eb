// Histograms of integer sums. A cell of a bin holds 1 + n_sums vectors: its size, then its sums, one lane a tree. The
// rows of a cell are summed in registers, run by run, and added to it once a chunk.
#pragma once

#include "forest/kernel/dots.hpp"

namespace pysirus::PYSIRUS_ISA {

// A number from its digits' sums, in the width of a cell. Within a chunk two digits fit 32 bits.
template <class Sum>
[[gnu::always_inline]]
inline Lanes<Sum> join_digits(const i32x& low, const i32x& middle, const i32x& high) {
  i32x rest;
  for (int i = 0; i < i32x::kParts; ++i) rest.part[i] = low.part[i] + (middle.part[i] << kDigitBits);
  Lanes<Sum> result = convert<Sum>(high);
  for (auto& part : result.part) part <<= 2 * kDigitBits;
  return result += convert<Sum>(rest);
}
static_assert(kChunk * kMaxThresholds * 64 * 129 < std::int64_t{1} << 31);

// Sums of count times number over a run.
template <class Sum, int kGroups>
[[gnu::always_inline]]
inline void sum_number(const RowCounts* counts, const SortedColumn& sorted, const Run& run, int number,
                       Lanes<Sum>* result) {
  RunSums<false, true, kGroups> sums;
  const QuadDigits* digits = sorted.digits + number * sorted.n_quads + run.first;
  sum_run(counts, sorted.rows + run.first, digits, run.last - run.first, sums);
  for (int g = 0; g < kGroups; ++g) result[g] = join_digits<Sum>(sums.plane[0][g], sums.plane[1][g], sums.plane[2][g]);
}

// Sums of count times weight times a column of the response over a run.
template <class Sum, int kGroups>
[[gnu::always_inline]]
inline void sum_weighted(const RowCounts* counts, const SortedColumn& sorted, const Run& run, int column,
                         Lanes<Sum>* result) {
  Lanes<Sum> high[kGroups];
  sum_number<Sum, kGroups>(counts, sorted, run, 1 + 2 * column, result);
  sum_number<Sum, kGroups>(counts, sorted, run, 2 + 2 * column, high);
  for (int g = 0; g < kGroups; ++g) {
    for (auto& part : high[g].part) part <<= kPartBits;
    result[g] += high[g];
  }
}

// Size and first sum of a run, by what the rows add.
template <class Sum, bool kClasses, bool kWeights, int kGroups>
[[gnu::always_inline]]
inline void sum_rows(const RowCounts* counts, const SortedColumn& sorted, const Run& run, Lanes<Sum>* size,
                     Lanes<Sum>* sum) {
  if constexpr (kWeights) {
    sum_number<Sum, kGroups>(counts, sorted, run, 0, size);
    if constexpr (!kClasses) sum_weighted<Sum, kGroups>(counts, sorted, run, 0, sum);
  } else {
    RunSums<true, !kClasses, kGroups> sums;
    sum_run(counts, sorted.rows + run.first, kClasses ? nullptr : sorted.digits + run.first, run.last - run.first,
            sums);
    for (int g = 0; g < kGroups; ++g) {
      size[g] = convert<Sum>(sums.plane[0][g]);
      if constexpr (!kClasses) sum[g] = join_digits<Sum>(sums.plane[1][g], sums.plane[2][g], sums.plane[3][g]);
    }
  }
  if constexpr (kClasses)
    for (int g = 0; g < kGroups; ++g) sum[g] = size[g];
}

// Adds the rows of a chunk to the cells of a feature. Those of the next group of trees stand `stride` vectors on. A
// function by itself: as part of a larger one GCC 12 moves the sums of a run to memory.
template <class Sum, bool kClasses, bool kWeights, int kGroups>
[[gnu::noinline]]
inline void add_chunk(const RowCounts* counts, const SortedColumn& sorted, std::int64_t per_bin, Lanes<Sum>* cells,
                      std::int64_t stride) {
  for (const Run* at = sorted.runs; at < sorted.runs + sorted.n_runs; ++at) {
    const Run run = *at;
    Lanes<Sum> size[kGroups], sum[kGroups];
    sum_rows<Sum, kClasses, kWeights, kGroups>(counts, sorted, run, size, sum);
    Lanes<Sum>* cell = cells + run.bin * per_bin;
    for (int g = 0; g < kGroups; ++g, cell += stride) {
      cell[0] += size[g];
      cell[1 + run.class_code] += sum[g];
    }
  }
}

// Adds the further columns of the response, one after the other while the counts of a run are at hand.
template <class Sum, bool kWeights, int kGroups>
[[gnu::noinline]]
inline void add_columns(const RowCounts* counts, const SortedColumn& sorted, std::int64_t per_bin, Lanes<Sum>* cells,
                        std::int64_t stride) {
  for (const Run* at = sorted.runs; at < sorted.runs + sorted.n_runs; ++at) {
    const Run run = *at;
    for (int column = 1; column < per_bin - 1; ++column) {
      Lanes<Sum> sum[kGroups];
      if constexpr (kWeights)
        sum_weighted<Sum, kGroups>(counts, sorted, run, column, sum);
      else
        sum_number<Sum, kGroups>(counts, sorted, run, column, sum);
      Lanes<Sum>* cell = cells + run.bin * per_bin + 1 + column;
      for (int g = 0; g < kGroups; ++g, cell += stride) *cell += sum[g];
    }
  }
}

}  // namespace pysirus::PYSIRUS_ISA
