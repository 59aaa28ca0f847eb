// Histograms of roots in, the column whose line wins each tree out: winning_line of reference.hpp in sixteen lanes. What
// a line takes is exact only where that is needed: a bound in double precision says which lanes a column cannot win.
#pragma once

#include "forest/kernel/lanes.hpp"
#include "forest/kernel/split.hpp"
#include "forest/lines.hpp"

namespace pysirus::PYSIRUS_ISA {

// Rounding of the sums below, in units of the largest that they can be: 256 bins, a product and a difference round to
// less than 2^-43 of |v| <= 2^15 times a response of at most 2^20, or of one for classes, times N^2.
constexpr double kLineRounding = 0x1p-43;

// In which lanes can a line take no more than `least`? Then that of a column need not be known. With A_k and B of
// line_score, known but for their rounding, that is where sum_k A_k^2 < least B.
template <int kSums, class Sum>
inline std::uint16_t lines_below(const Table& table, const Node<Sum>& node, const std::int16_t* v, std::int32_t n_bins,
                                 const Lanes<Sum>* cell, const f64x& least) {
  const int n_sums = kSums ? kSums : table.n_sums;
  f64x sx{}, sxx{}, sxy[1 + (kSums ? kSums : kMaxBins)];
  for (int k = 1; k <= n_sums; ++k) sxy[k] = f64x{};
  for (std::int32_t bin = 0; bin < n_bins; ++bin, cell += 1 + n_sums) {
    const f64x number = fill(static_cast<double>(v[bin])), n_v = number * convert<double>(cell[0]);
    sx += n_v;
    sxx += number * n_v;
    for (int k = 1; k <= n_sums; ++k) sxy[k] += number * convert<double>(cell[k]);
  }
  const f64x n = convert<double>(node.total[0]), square = n * n;
  const f64x more = fill(kLineRounding * 0x1p15 * (table.value ? 0x1p20 : 1.0)) * square;
  const f64x spread = n * sxx - sx * sx - fill(kLineRounding * 0x1p30) * square;
  f64x squares{};
  for (int k = 1; k <= n_sums; ++k) {
    const f64x a = n * sxy[k] - sx * convert<double>(node.total[k]);
    const f64x size = larger(a, f64x{} - a) + more;
    squares += size * size;
  }
  return compare(least * spread, fill(1.0 + 0x1p-40) * squares).greater;
}

// Writes the columns whose lines win to line[lane], in the open lanes.
template <class Sum>
inline void find_lines(const Table& table, const Recipe& recipe, const Memory& memory, const std::uint64_t* node_keys,
                       const Node<Sum>& node, const Best& cut, std::uint16_t open, std::int32_t* line) {
  BestLine best[kLanes];
  f64x least = fill(kLineShare * (1.0 - 0x1p-40)) * cut.score;
  const std::int32_t per_bin = 1 + table.n_sums;
  for (std::int32_t feature = 0; feature < table.n_features; ++feature) {
    const std::int16_t* v = numbers_of_line(recipe.lines, feature);
    std::uint16_t asked = memory.candidates[feature] & open;
    if (!v || !asked) continue;
    const Lanes<Sum>* cells = node.cells + memory.cell_offset[feature];
    const std::int32_t n_bins = table.n_bins[feature];
    asked &= ~(table.n_sums == 1 ? lines_below<1>(table, node, v, n_bins, cells, least)
                                 : lines_below<0>(table, node, v, n_bins, cells, least));
    for (int lane = 0; asked; ++lane, asked >>= 1) {
      if (!(asked & 1)) continue;
      best[lane].offer(
          line_score(v, n_bins, table.n_sums,
                     [&](std::int32_t bin, std::int32_t k) -> std::int64_t { return cells[bin * per_bin + k][lane]; }),
          feature, node_keys[lane]);
      if (best[lane].score > least[lane]) least.set(lane, best[lane].score);
    }
  }
  for (int lane = 0; lane < kLanes; ++lane)
    if (open >> lane & 1) line[lane] = best[lane].winner(cut.score[lane]);
}

}  // namespace pysirus::PYSIRUS_ISA
