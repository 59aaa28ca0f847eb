// A numeric column in, bins out: a value's bin is the number of cuts at or below it, missing values have their own.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pysirus {

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
      bin = static_cast<std::int32_t>(std::upper_bound(cuts, cuts + n_cuts, x) - cuts);
    }
    bins[row] = x == x ? static_cast<std::uint8_t>(bin) : missing_bin;
  }
}

}  // namespace pysirus
