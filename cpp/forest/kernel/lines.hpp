// Histograms of roots in, the column whose line wins each tree out: winning_line of reference.hpp in sixteen lanes. The
// search for the best cut gives bounds of what each line takes, in double precision; where they do not tell the winner
// exact sums do.
#pragma once

#include <limits>

#include "forest/kernel/lanes.hpp"
#include "forest/kernel/split.hpp"
#include "forest/lines.hpp"

namespace pysirus::PYSIRUS_ISA {

// Rounding of the sums below, in units of the largest that they can be: 256 bins, products and differences round to less
// than 2^-43 of |v| <= 2^15 times a response of at most 2^20, or of one for classes, times N^2. (v rises from bin to bin,
// but for that of missing values, so that its steps add up to no more than 2^17.)
constexpr double kLineRounding = 0x1p-43;
constexpr double kNoBound = std::numeric_limits<double>::infinity();  // no call: instruction sets share no function
constexpr double kMargin = 0x1p-40;  // more than the rounding of everything that is computed from them

// What a line is made of, along the search for the best cut. With D_k of the cut after bin b, A_k of line_score is
// -sum_b (v_{b+1} - v_b) D_kb, and with w = v - v_last B is N sum w^2 N_b - (sum w N_b)^2, where such a sum is one over
// the sizes left of cuts.
template <int kSums>  // 0: as many as the table has
struct LineAlong {
  const std::int16_t* v;
  std::int32_t last;  // bin
  f64x step{}, x{}, xx{};
  f64x a[1 + (kSums ? kSums : kMaxBins)];

  [[gnu::always_inline]] LineAlong(const std::int16_t* numbers, std::int32_t n_bins, int n_sums)
      : v(numbers), last(n_bins - 1) {
    for (int k = 1; k <= n_sums; ++k) a[k] = f64x{};
  }
  [[gnu::always_inline]] void enter(std::int32_t bin, const f64x& n_left) {
    const auto here = static_cast<double>(v[bin] - v[last]), next = static_cast<double>(v[bin + 1] - v[last]);
    step = fill(next - here);
    x += step * n_left;
    xx += fill(here * here - next * next) * n_left;
  }
  [[gnu::always_inline]] void add(int k, const f64x& d) { a[k] += step * d; }
};

// The best line of each lane, as far as bounds tell: what it takes at least and at most, its column, and the most that
// another one can take.
struct TopLines {
  f64x low{}, high{}, other{};
  i64x feature = fill<std::int64_t>(kNoLine);
  f64x n, more, doubt;  // the size of the root; rounding of A and of B

  template <class Sum>
  TopLines(const Table& table, const Node<Sum>& node) : n(convert<double>(node.total[0])) {
    more = fill(kLineRounding * 0x1p15 * (table.value ? 0x1p20 : 1.0)) * n * n;
    doubt = fill(kLineRounding * 0x1p30) * n * n;
  }

  template <int kSums>
  [[gnu::always_inline]] void offer(const Table& table, const LineAlong<kSums>& along, std::uint16_t allowed,
                                    std::int32_t number) {
    const f64x spread_low = n * along.xx - along.x * along.x - doubt;
    f64x most{}, least{};
    for (int k = 1; k <= (kSums ? kSums : table.n_sums); ++k) {
      const f64x size = larger(along.a[k], f64x{} - along.a[k]), lower = larger(size - more, f64x{});
      most += (size + more) * (size + more);
      least += lower * lower;
    }
    f64x inverse = fill(1.0);
    inverse /= spread_low;
    const f64x at_most = fill(1.0 + kMargin) * most * inverse;
    const f64x at_least = least * inverse * (fill(1.0 - kMargin) - fill(2.0) * doubt * inverse);
    const i64x mask = spread(allowed);
    for (int i = 0; i < f64x::kParts; ++i) {
      const i64x::Part known = spread_low.part[i] > f64x{}.part[i];
      const auto up = choose(known, at_most.part[i], fill(kNoBound).part[i]);
      const auto down = choose(known, at_least.part[i], f64x{}.part[i]);
      const i64x::Part better = mask.part[i] & (down > low.part[i]);
      const auto loser = choose(better, high.part[i], up);
      const i64x::Part above = mask.part[i] & (loser > other.part[i]);
      other.part[i] = choose(above, loser, other.part[i]);
      low.part[i] = choose(better, down, low.part[i]);
      high.part[i] = choose(better, up, high.part[i]);
      feature.part[i] = choose(better, fill<std::int64_t>(number).part[i], feature.part[i]);
    }
  }
};

// Searches a column that may be a line.
template <int kSums, class Sum>
inline void search_both(const Table& table, const Recipe& recipe, const Memory& memory, const Node<Sum>& node,
                        std::int32_t feature, const std::int16_t* v, Best& found, TopLines& top) {
  LineAlong<kSums> along(v, table.n_bins[feature], kSums ? kSums : table.n_sums);
  search_feature<kSums>(table, recipe, node, feature, node.cells + memory.cell_offset[feature], found, along);
  top.offer(table, along, memory.candidates[feature], feature);
}

// Writes the columns whose lines win to line[lane], in the open lanes.
template <class Sum>
inline void find_lines(const Table& table, const Recipe& recipe, const Memory& memory, const std::uint64_t* node_keys,
                       const Node<Sum>& node, const Best& cut, const TopLines& top, std::uint16_t open,
                       std::int32_t* line) {
  const std::int32_t per_bin = 1 + table.n_sums;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(open >> lane & 1)) continue;
    const double least = kLineShare * cut.score[lane];
    const double low = top.low[lane], other = top.other[lane];
    if ((top.high[lane] > other ? top.high[lane] : other) < least) continue;  // none can win
    if (low > other && low > least) {
      line[lane] = static_cast<std::int32_t>(top.feature[lane]);
      continue;
    }
    BestLine best;
    for (std::int32_t feature = 0; feature < table.n_features; ++feature) {
      const std::int16_t* v = numbers_of_line(recipe.lines, feature);
      if (!v || !(memory.candidates[feature] >> lane & 1)) continue;
      const Lanes<Sum>* cells = node.cells + memory.cell_offset[feature];
      best.offer(
          line_score(v, table.n_bins[feature], table.n_sums,
                     [&](std::int32_t bin, std::int32_t k) -> std::int64_t { return cells[bin * per_bin + k][lane]; }),
          feature, node_keys[lane]);
    }
    line[lane] = best.winner(cut.score[lane]);
  }
}

// The best split of a root; the columns whose lines win go to line[lane], in the open lanes.
template <class Sum>
inline Best best_split(const Table& table, const Recipe& recipe, const Memory& memory, const std::uint64_t* node_keys,
                       Node<Sum>& node, std::uint16_t open, std::int32_t* line) {
  sum_up(table, node);
  TopLines top(table, node);
  const Best best = search_splits(table, recipe, memory, node_keys, [&](std::int32_t feature, Best& found) {
    const std::int16_t* v = numbers_of_line(recipe.lines, feature);
    const Lanes<Sum>* cells = node.cells + memory.cell_offset[feature];
    if (v)
      table.n_sums == 1 ? search_both<1>(table, recipe, memory, node, feature, v, found, top)
                        : search_both<0>(table, recipe, memory, node, feature, v, found, top);
    else
      table.n_sums == 1 ? search_feature<1>(table, recipe, node, feature, cells, found)
                        : search_feature<0>(table, recipe, node, feature, cells, found);
  });
  find_lines(table, recipe, memory, node_keys, node, best, top, open, line);
  return best;
}

}  // namespace pysirus::PYSIRUS_ISA
