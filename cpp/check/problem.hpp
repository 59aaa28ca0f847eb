// Made-up tables and the forests on them, for programs that check or time the core.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "forest/forest.hpp"
#include "forest/random.hpp"
#include "forest/table.hpp"

namespace pysirus::check {

// Numbers 0 .. bound - 1 from a counter.
inline std::uint32_t number(std::uint64_t i, std::uint32_t bound) {
  return static_cast<std::uint32_t>(below(7, i, bound));
}

struct Problem {
  std::vector<std::uint8_t> bins, has_missing, class_code;
  std::vector<std::int32_t> n_bins, offset, value, weight;
  std::vector<std::uint32_t> block_thresholds;
  Table table;
  Recipe recipe;
};

// What a made-up table has beside numbers in known bins: a sum of these.
enum Kind { kMissing = 1, kClasses = 2, kWeights = 4, kColumns = 8, kKinds = 16 };

constexpr bool is_kind(int kind) { return !(kind & kClasses && kind & kColumns); }  // classes, or columns of numbers

inline void make_problem(Problem& p, std::int64_t n_rows, std::int32_t n_features, int depth, int kind) {
  const bool missing = kind & kMissing, classes = kind & kClasses, weights = kind & kWeights;
  const std::int32_t n_columns = kind & kColumns ? 5 : 1;
  p.bins.resize(n_rows * n_features);
  p.offset = {0};
  for (std::int32_t f = 0; f < n_features; ++f) {
    const bool with_missing = missing && f % 2 == 0;
    p.has_missing.push_back(with_missing);
    p.n_bins.push_back(10 + with_missing);
    p.offset.push_back(p.offset.back() + (with_missing ? 19 : 9));
    for (std::int64_t r = 0; r < n_rows; ++r)
      p.bins[f * n_rows + r] =
          static_cast<std::uint8_t>(number(f * n_rows + r, static_cast<std::uint32_t>(p.n_bins[f])));
  }
  for (std::int64_t r = 0; r < n_rows; ++r) {
    const int signal = p.bins[r] + p.bins[n_rows + r] * (p.bins[2 * n_rows + r] > 5);
    p.value.push_back((signal - 50) * 10000 + static_cast<int>(number(~r, 100000)));
    p.class_code.push_back(static_cast<std::uint8_t>(signal % 3));
    p.weight.push_back(1 + static_cast<int>(number(r * r, 1 << 20)));
  }
  for (std::int32_t column = 1; column < n_columns; ++column)  // of which the last knows nothing of the bins
    for (std::int64_t r = 0; r < n_rows; ++r)
      p.value.push_back(column < 4 ? p.value[r] * (column - 2) / 2 + (p.class_code[r] == column ? 1 << 18 : 0)
                                   : static_cast<int>(number(r, 2 << 20)) - (1 << 20));
  p.table = {p.bins.data(),
             n_rows,
             0,
             n_features,
             p.n_bins.data(),
             p.has_missing.data(),
             classes ? nullptr : p.value.data(),
             classes ? p.class_code.data() : nullptr,
             classes ? 3 : n_columns,
             weights ? p.weight.data() : nullptr};
  p.recipe = {42,
              depth,
              std::max(2, n_features / 3),
              5,
              6,
              {1580030168u, 3160060337u, 3950075421u, 4213413783u, 4279248373u, 4292415291u},
              p.offset.data()};
}

// Blocks of rows draw, this many draws on average.
inline void draw_in_blocks(Problem& p, double mean) {
  double term = std::exp(-mean), total = term;
  p.block_thresholds.clear();
  for (int k = 1; total * 0x1p32 < 0x1p32 - 1 && k < 1000; ++k) {
    p.block_thresholds.push_back(static_cast<std::uint32_t>(total * 0x1p32));
    term *= mean / k;
    total += term;
  }
  p.recipe.block_thresholds = p.block_thresholds.data();
  p.recipe.n_block_thresholds = static_cast<std::int32_t>(p.block_thresholds.size());
}

inline std::vector<std::int32_t> grow(const Problem& p, std::int64_t n_trees, int n_threads, const std::string& set) {
  std::vector<std::int32_t> splits(n_trees * ((1 << p.recipe.max_depth) - 1));
  grow_forest(p.table, p.recipe, 0, n_trees, n_threads, set, [] { return false; }, splits.data());
  return splits;
}

inline std::uint64_t hash_of(const std::vector<std::int32_t>& splits) {
  std::uint64_t hash = 0;
  for (auto split : splits) hash = mix64(hash + static_cast<std::uint32_t>(split));
  return hash;
}

}  // namespace pysirus::check
