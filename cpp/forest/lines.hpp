// Straight lines: how much of a node's variance one takes in a column, from the cells that its cuts are searched in.
// cpp/README.md says what is compared with what.
#pragma once

#include <cstdint>

#include "forest/random.hpp"
#include "forest/table.hpp"

namespace pysirus::PYSIRUS_ISA {

constexpr int kNoLine = -1;
constexpr double kLineShare = 0.9;  // of what the best cut takes: a line that takes as much wins its tree

// A sum of products, exact: 128 bits in two's complement.
struct ExactSum {
  std::uint64_t low = 0, high = 0;

  void add_product(std::int64_t a, std::int64_t b) {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    const std::uint64_t product = x * y;
    low += product;
    high += high_product(x, y) - (a < 0 ? y : 0) - (b < 0 ? x : 0) + (low < product);
  }

  // Its size as a double: words of 32 bits, the highest first, each added to 2^32 times what is there.
  double size() const {
    const bool negative = high >> 63;
    const std::uint64_t l = negative ? ~low + 1 : low, h = negative ? ~high + (l == 0) : high;
    const std::uint64_t words[] = {h >> 32, h, l >> 32, l};
    double size = 0.0;
    for (const std::uint64_t word : words) size = size * 0x1p32 + static_cast<double>(word & 0xFFFFFFFFu);
    return size;
  }
};

// The decrease in variance of the best straight line in a column, times the node's size squared, as that of a split is
// given; -1 where there is none. `v` are the numbers of the column's bins, cell(bin, 0) is the size of a bin and
// cell(bin, k) its k-th sum. With N and S_k the size and the sums of the node and
//
//   sx = sum v N_b, sxx = sum v^2 N_b, sxy_k = sum v S_kb, A_k = N sxy_k - sx S_k, B = N sxx - sx^2,
//
// it is sum_k A_k^2 / B. A_k = sum S_kb c_b and B = sum (v N_b) c_b with c_b = N v - sx are the same integers and need
// products of 64 bits only: |v| < 2^15, and S_kb < 2^63 for numbers of up to 2^20 takes N < 2^43; so |c_b| < 2^59, and
// A_k and B are below 2^122. Each is rounded to double precision, then squares are added in the order of the columns.
template <class Cell>
inline double line_score(const std::int16_t* v, std::int32_t n_bins, std::int32_t n_sums, const Cell& cell) {
  std::int64_t n = 0, sx = 0;
  for (std::int32_t bin = 0; bin < n_bins; ++bin) {
    n += cell(bin, 0);
    sx += v[bin] * cell(bin, 0);
  }
  ExactSum b;
  for (std::int32_t bin = 0; bin < n_bins; ++bin) b.add_product(v[bin] * cell(bin, 0), n * v[bin] - sx);
  const double spread = b.size();
  if (!(spread > 0.0)) return -1.0;
  double squares = 0.0;
  for (std::int32_t k = 1; k <= n_sums; ++k) {
    ExactSum a;
    for (std::int32_t bin = 0; bin < n_bins; ++bin) a.add_product(cell(bin, k), n * v[bin] - sx);
    const double size = a.size();
    squares += size * size;
  }
  return squares / spread;
}

// The best line so far: only one that takes anything. Between columns that take the same a draw decides, as for cuts.
struct BestLine {
  double score = 0.0;
  std::int32_t feature = kNoLine;

  void offer(double other, std::int32_t number, std::uint64_t node_key) {
    const bool tied = other == score && feature != kNoLine;
    if (other > score || (tied && tie_bits(node_key, static_cast<std::uint32_t>(number)) >
                                      tie_bits(node_key, static_cast<std::uint32_t>(feature))))
      score = other, feature = number;
  }

  // The column whose line wins against the best cut.
  std::int32_t winner(double cut) const { return score >= kLineShare * cut ? feature : kNoLine; }
};

}  // namespace pysirus::PYSIRUS_ISA
