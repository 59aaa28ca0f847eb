// What trees that draw few of the rows (forest/drawn.hpp) ask of vectors: the draws of several blocks at a time, and the
// scores of several cuts.
#pragma once

#include "forest/kernel.hpp"
#include "forest/random.hpp"
#include "isa/vector.hpp"

namespace pysirus::PYSIRUS_ISA {
namespace {

constexpr int kAtOnce = kCutsAtOnce;  // cuts, or blocks

// Eight rows of a block from each byte of some bits.
[[gnu::always_inline]]
inline void write_rows(std::uint64_t bits, std::int64_t first, std::int64_t* to) {
  using Rows = Vector<std::uint64_t, 8>;
  const Rows shifts = {0, 8, 16, 24, 32, 40, 48, 56};
  const Rows rows =
      (splat<Rows>(bits) >> shifts & splat<Rows>(std::uint64_t{0xFF})) + splat<Rows>(static_cast<std::uint64_t>(first));
  std::memcpy(to, &rows, sizeof rows);
}

// The number of draws: looked for from where the first byte of the bits leads.
[[gnu::always_inline]]
inline std::int64_t n_draws(const BlockThresholds& draws, std::uint64_t bits) {
  std::int64_t n = draws.reached[bits >> 24];
  while (n < draws.n && bits >= draws.thresholds[n]) ++n;
  return n;
}

std::int64_t* draw_blocks(const BlockThresholds& draws, std::uint64_t tree_key, std::uint64_t block, std::uint64_t end,
                          std::int64_t first, std::int64_t* to) {
  std::uint64_t key[kAtOnce], number[kAtOnce], one[kAtOnce], two[kAtOnce];
  for (; block < end; block += kAtOnce) {
    for (int k = 0; k < kAtOnce; ++k) key[k] = block_key(tree_key, block + static_cast<std::uint64_t>(k));
    for (int k = 0; k < kAtOnce; ++k) number[k] = bits_at(key[k], 0) >> 32;
    for (int k = 0; k < kAtOnce; ++k) one[k] = bits_at(key[k], 1);
    for (int k = 0; k < kAtOnce; ++k) two[k] = bits_at(key[k], 2);
    const int n_blocks = end - block < kAtOnce ? static_cast<int>(end - block) : kAtOnce;
    for (int k = 0; k < n_blocks; ++k, first += kDrawBlock) {
      const std::int64_t n = n_draws(draws, number[k]);
      write_rows(one[k], first, to);
      write_rows(two[k], first, to + 8);
      for (std::int64_t i = 16; i < n; i += 8)
        write_rows(bits_at(key[k], static_cast<std::uint64_t>(1 + i / 8)), first, to + i);
      to += n;
    }
  }
  return to;
}

using Cells = Vector<std::int64_t, kAtOnce>;
using Reals = Vector<double, kAtOnce>;

// Packing::score_of, operation by operation. `kClasses`: 0 for numbers.
template <int kClasses>
[[gnu::always_inline]]
inline Reals scores_of(const Cells& left, const Cells& right) {
  const auto part = [](const Cells& cells, int k) {
    return cells >> (kClassBits * k) & splat<Cells>(std::int64_t{(1 << kClassBits) - 1});
  };
  const auto size = [&](const Cells& cells) {
    if constexpr (kClasses == 0) return cells & splat<Cells>(std::int64_t{(1 << kSizeBits) - 1});
    Cells sum = part(cells, 0) + part(cells, 1);
    if constexpr (kClasses == 3) sum += part(cells, 2);
    return sum;
  };
  const auto real = [](const Cells& cells) { return convert_vector<double, kAtOnce, std::int64_t>(cells); };
  const Reals n_left = real(size(left)), n_right = real(size(right));
  Reals score{};
  const auto add = [&](const Cells& sum_left, const Cells& sum_right) {
    const Reals d = real(sum_left) * n_right - real(sum_right) * n_left;
    score += d * d;
  };
  if constexpr (kClasses == 0) add(left >> kSizeBits, right >> kSizeBits);
  for (int k = 0; k < kClasses; ++k) add(part(left, k), part(right, k));
  const Reals zero{};
  const Reals none = splat<Reals>(-1.0);
  return choose(n_left > zero, choose(n_right > zero, score / (n_left * n_right), none), none);
}

template <int kClasses>
double score_cuts_of(std::int64_t node, const std::int64_t* left, std::int64_t n, double* scores) {
  Reals most = splat<Reals>(-1.0);
  const Cells all = splat<Cells>(node);
  for (std::int64_t i = 0; i < n; i += kAtOnce) {
    Cells own;
    std::memcpy(&own, left + i, sizeof own);
    const Reals found = scores_of<kClasses>(own, all - own);
    most = choose(found > most, found, most);
    std::memcpy(scores + i, &found, sizeof found);
  }
  double best = most[0];
  for (int k = 1; k < kAtOnce; ++k) best = most[k] > best ? most[k] : best;
  return best;
}

double score_cuts(std::int32_t n_classes, std::int64_t node, const std::int64_t* left, std::int64_t n, double* scores) {
  switch (n_classes) {
    case 0: return score_cuts_of<0>(node, left, n, scores);
    case 2: return score_cuts_of<2>(node, left, n, scores);
    default: return score_cuts_of<3>(node, left, n, scores);
  }
}

}  // namespace
}  // namespace pysirus::PYSIRUS_ISA
