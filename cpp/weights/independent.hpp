// Which columns of a Gram matrix of integers are combinations of those before them: elimination modulo the prime
// 2^61 - 1. A column whose rest is not zero there is independent, for certain. One whose rest is zero is dependent but
// for a chance of about 1 in 2^50; its coefficients come back with it, so that the caller can check them exactly.
#pragma once

#include <cstdint>
#include <vector>

namespace pysirus {

// Numbers modulo 2^61 - 1, without 128-bit arithmetic, which not every compiler has.
struct Modular {
  static constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;

  static std::uint64_t fold(std::uint64_t x) {
    const std::uint64_t sum = (x >> 61) + (x & prime);
    return sum >= prime ? sum - prime : sum;
  }
  static std::uint64_t subtract(std::uint64_t a, std::uint64_t b) { return a >= b ? a - b : a + prime - b; }
  static std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t a_high = a >> 31, a_low = a & 0x7fffffff, b_high = b >> 31, b_low = b & 0x7fffffff;
    const std::uint64_t middle = a_low * b_high + a_high * b_low;  // below 2^62
    // 2^62 is 2, and the upper bits of the middle, times 2^31 * 2^30 = 2^61, are 1
    return fold(a_high * b_high * 2 + (middle >> 30) + ((middle & 0x3fffffff) << 31) + a_low * b_low);
  }
  static std::uint64_t inverse(std::uint64_t a) {
    std::uint64_t result = 1;
    for (std::uint64_t exponent = prime - 2; exponent != 0; exponent >>= 1, a = multiply(a, a))
      if (exponent & 1) result = multiply(result, a);
    return result;
  }
};

struct Independent {
  std::vector<std::uint8_t> kept;           // [column]
  std::vector<std::uint64_t> coefficients;  // [column][column], of a column that is not kept, modulo the prime
};

// `gram` is [n][n], symmetric, of entries from 0 on.
inline Independent independent_columns(const std::int64_t* gram, int n) {
  Independent answer{std::vector<std::uint8_t>(n), std::vector<std::uint64_t>(static_cast<std::size_t>(n) * n)};
  std::vector<int> pivots;
  std::vector<std::vector<std::uint64_t>> rows, origins;  // the rest of each kept row, and what it is made of
  std::vector<std::uint64_t> scales;                      // one over each pivot
  for (int i = 0; i < n; ++i) {
    std::vector<std::uint64_t> row(n), origin(n);
    for (int j = 0; j < n; ++j)
      row[j] = Modular::fold(static_cast<std::uint64_t>(gram[static_cast<std::size_t>(i) * n + j]));
    for (std::size_t k = 0; k < pivots.size(); ++k) {
      const std::uint64_t factor = Modular::multiply(row[pivots[k]], scales[k]);
      if (factor == 0) continue;
      for (int j = 0; j < n; ++j) {
        row[j] = Modular::subtract(row[j], Modular::multiply(factor, rows[k][j]));
        // origin is what was taken away, so it adds
        origin[j] = Modular::fold(origin[j] + Modular::multiply(factor, origins[k][j]));
      }
    }
    if (row[i] == 0) {
      for (int j = 0; j < n; ++j) answer.coefficients[static_cast<std::size_t>(i) * n + j] = origin[j];
      continue;
    }
    answer.kept[i] = 1;
    for (int j = 0; j < n; ++j) origin[j] = Modular::subtract(0, origin[j]);
    origin[i] = 1;
    pivots.push_back(i);
    scales.push_back(Modular::inverse(row[i]));
    rows.push_back(std::move(row));
    origins.push_back(std::move(origin));
  }
  return answer;
}

}  // namespace pysirus
