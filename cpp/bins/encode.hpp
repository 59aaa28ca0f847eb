// A numeric column in, bins out: a value's bin is the number of cuts at or below it, missing values have their own.
// Bins of a fine grid in, coarser bins of some of the rows out.
#pragma once

#include <array>
#include <cstdint>

namespace pysirus {

// The number of cuts at or below a value, for more cuts than are counted one by one: halves the rest without a branch,
// which values in no order would mispredict at every step.
inline std::int32_t cuts_up_to(double x, const double* cuts, std::int32_t n_cuts) {
  const double* first = cuts;
  for (std::int32_t left = n_cuts; left > 0;) {
    const std::int32_t half = (left + 1) / 2;
    first += first[half - 1] <= x ? half : 0;
    left -= half;
  }
  return static_cast<std::int32_t>(first - cuts);
}

template <class T>
void encode_column(const T* values, std::int64_t n_rows, std::int64_t stride, const double* cuts, std::int32_t n_cuts,
                   std::uint8_t missing_bin, std::uint8_t* bins) {
  constexpr std::int32_t kFew = 16;  // up to here counting beats searching, and the compiler makes it a vector loop
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const double x = static_cast<double>(values[row * stride]);
    std::int32_t bin = 0;
    if (n_cuts <= kFew) {
      for (std::int32_t k = 0; k < n_cuts; ++k) bin += x >= cuts[k];
    } else {
      bin = cuts_up_to(x, cuts, n_cuts);
    }
    bins[row] = x == x ? static_cast<std::uint8_t>(bin) : missing_bin;
  }
}

// What a table [256] makes of the bins of some rows.
inline void recode_column(const std::uint8_t* grid, const std::int64_t* rows, std::int64_t n_rows,
                          const std::uint8_t* table, std::uint8_t* bins) {
  for (std::int64_t i = 0; i < n_rows; ++i) bins[i] = table[grid[rows[i]]];
}

// How many rows are in each bin. Neighbours are often in the same one, and then wait for each other: four tables.
inline std::array<std::int64_t, 256> count_bins(const std::uint8_t* bins, std::int64_t n_rows) {
  std::array<std::array<std::int64_t, 256>, 4> counts{};
  std::int64_t row = 0;
  for (; row + 4 <= n_rows; row += 4)
    for (std::int64_t k = 0; k < 4; ++k) ++counts[k][bins[row + k]];
  for (; row < n_rows; ++row) ++counts[0][bins[row]];
  for (std::size_t bin = 0; bin < 256; ++bin) counts[0][bin] += counts[1][bin] + counts[2][bin] + counts[3][bin];
  return counts[0];
}

}  // namespace pysirus
