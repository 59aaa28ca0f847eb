// Binned rows in, moments of rules out: how often each rule and each pair of rules holds, with which response, in
// each fold. Everything but the sum of squares is an exact integer, so shards and threads add up to the same answer.
#pragma once

#include <cstdint>
#include <vector>

#include "random.hpp"

namespace pysirus {

using Wide = __int128;

// Row membership by tables: rule r of word r / 64 holds where bit r % 64 survives the `and` over the used features of
// tables[feature][bin][word].
struct RuleTables {
  std::int32_t n_rules, n_words, n_used;
  const std::int32_t* features;   // [n_used]
  const std::uint64_t* tables;    // [n_used][256][n_words]
};

struct Response {
  const std::int64_t* value;      // regression: fixed point, size below 2^44; null for classes
  const std::uint8_t* slot;       // classes; null for regression
  std::int32_t n_slots;
  const std::int64_t* weight;     // fixed point; null: 1 for every row
};

struct Moments {
  std::vector<std::int64_t> rows;      // [rule] rows inside, over all folds
  std::vector<std::int64_t> size;      // [fold]
  std::vector<std::int64_t> pair;      // [fold][rule][rule], lower triangle and diagonal
  std::vector<Wide> sum;               // [fold][slot]
  std::vector<Wide> rule_sum;          // [fold][rule][slot]
  std::vector<double> square;          // [fold]
};

inline void rule_bits(const RuleTables& rules, const std::uint8_t* bins, std::int64_t n_rows, std::int64_t row,
                      std::uint64_t* bits) {
  for (std::int32_t w = 0; w < rules.n_words; ++w) bits[w] = ~std::uint64_t{0};
  for (std::int32_t u = 0; u < rules.n_used; ++u) {
    const std::uint8_t bin = bins[rules.features[u] * n_rows + row];
    const std::uint64_t* entry = rules.tables + (u * 256 + bin) * rules.n_words;
    for (std::int32_t w = 0; w < rules.n_words; ++w) bits[w] &= entry[w];
  }
}

inline Moments rule_moments(const RuleTables& rules, const std::uint8_t* bins, std::int64_t n_rows,
                            const Response& response, std::uint64_t seed, std::uint64_t first_row,
                            std::int32_t n_folds) {
  const std::int64_t n = rules.n_rules, n_slots = response.n_slots;
  Moments m;
  m.rows.resize(n);
  m.size.resize(n_folds);
  m.pair.resize(n_folds * n * n);
  m.sum.resize(n_folds * n_slots);
  m.rule_sum.resize(n_folds * n * n_slots);
  m.square.resize(n_folds);
  std::vector<std::uint64_t> bits(rules.n_words);
  std::vector<std::int32_t> inside(n);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    rule_bits(rules, bins, n_rows, row, bits.data());
    int n_inside = 0;
    for (std::int32_t w = 0; w < rules.n_words; ++w)
      for (std::uint64_t left = bits[w]; left; left &= left - 1) {
        const int rule = 64 * w + __builtin_ctzll(left);
        if (rule < n) inside[n_inside++] = rule;
      }
    const std::int64_t fold = fold_of_row(seed, first_row + static_cast<std::uint64_t>(row), n_folds);
    const std::int64_t weight = response.weight ? response.weight[row] : 1;
    const std::int64_t value = response.value ? response.value[row] : 1;
    const std::int64_t slot = response.slot ? response.slot[row] : 0;
    const Wide product = Wide{weight} * value;
    m.size[fold] += weight;
    m.sum[fold * n_slots + slot] += product;
    m.square[fold] += static_cast<double>(weight) * static_cast<double>(value) * static_cast<double>(value);
    for (int i = 0; i < n_inside; ++i) {
      const std::int64_t rule = inside[i];
      ++m.rows[rule];
      m.rule_sum[(fold * n + rule) * n_slots + slot] += product;
      std::int64_t* pair = m.pair.data() + (fold * n + rule) * n;
      for (int j = 0; j <= i; ++j) pair[inside[j]] += weight;
    }
  }
  return m;
}

}  // namespace pysirus
