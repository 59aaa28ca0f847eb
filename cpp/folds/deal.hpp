// Row numbers in, the folds that hold the rows out: dealt like cards, so that folds differ by one row at most, all rows
// together and within each stratum. The fold of a row is a function of the seed, its stratum, its rank in it and the
// sizes of the strata, so whoever holds some of the rows knows their folds, and nobody holds a list of all rows.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "forest/random.hpp"

namespace pysirus {

// A keyed permutation of 0 ... n - 1, one number at a time: a Feistel network on the next power of two, of which a number
// that falls beyond the end is sent through again until it does not (Black and Rogaway 2002). Eight rounds on at least
// eight bits: on the three bits that five rows need, eight rounds let some pairs of rows meet too often in a fold; on
// eight bits six rounds were enough for tests such as those of tests/learn/test_folds.py.
class Permutation {
 public:
  Permutation(std::uint64_t n, std::uint64_t key) : n_(n), key_(mix64(key + kGolden64)) {
    const int bits = n > 256 ? static_cast<int>(std::bit_width(n - 1)) : 8;
    left_bits_ = bits / 2;
    right_bits_ = bits - left_bits_;
  }

  std::uint64_t operator()(std::uint64_t x) const {
    do x = shuffled(x);
    while (x >= n_);
    return x;
  }

 private:
  static constexpr std::uint64_t kRounds = 8;

  std::uint64_t shuffled(std::uint64_t x) const {
    std::uint64_t left = x >> right_bits_, right = x & ((std::uint64_t{1} << right_bits_) - 1), key = key_;
    for (std::uint64_t round = 0; round < kRounds; round += 2) {
      left ^= mix64((key += kGolden64) ^ right) >> (64 - left_bits_);
      right ^= mix64((key += kGolden64) ^ left) >> (64 - right_bits_);
    }
    return left << right_bits_ | right;
  }

  std::uint64_t n_, key_;
  int left_bits_, right_bits_;
};

// Deals the rows of one stratum after the other: all places together are 0 ... n - 1, and a place's fold is its rest.
inline void deal(const std::uint8_t* stratum, std::int64_t n_rows, const std::vector<std::uint64_t>& size,
                 std::vector<std::uint64_t> rank, std::uint64_t seed, std::uint32_t n_folds, std::uint32_t* fold) {
  std::vector<Permutation> permutation;
  std::vector<std::uint64_t> first{0};
  for (const std::uint64_t n : size) {
    permutation.emplace_back(n, mix64(seed + kGolden64) + permutation.size());
    first.push_back(first.back() + n);
  }
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const std::size_t own = stratum ? stratum[row] : 0;
    fold[row] = static_cast<std::uint32_t>((first[own] + permutation[own](rank[own]++)) % n_folds);
  }
}

}  // namespace pysirus
