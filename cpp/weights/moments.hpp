// Binned rows in, moments of rules out: how often each rule and each pair of rules holds, with which response, in
// each fold. Every sum is an exact integer, so parts of a table add up to the same answer as the whole.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "forest/random.hpp"
#include "weights/wide.hpp"

namespace pysirus {

// Row membership by tables: rule r of word r / 64 holds where bit r % 64 survives the `and` over the used features of
// tables[feature][bin][word].
struct RuleTables {
  std::int32_t n_rules, n_words, n_used;
  const std::int32_t* features;  // [n_used]
  const std::uint64_t* tables;   // [n_used][256][n_words]
};

struct Response {
  const std::int64_t* value;       // numbers: [column][row], fixed point, size below 2^44; null for classes
  const std::uint8_t* class_code;  // classes: 0, 1, ...; null for numbers
  std::int32_t n_sums;             // the number of columns, or of classes
  const std::int64_t* weight;      // fixed point; null: 1 for every row
};

struct Moments {
  std::vector<std::int64_t> rows;  // [rule] rows inside, over all folds
  std::vector<std::int64_t> size;  // [fold]
  std::vector<std::int64_t> pair;  // [fold][rule][rule], lower triangle and diagonal
  std::vector<Wide> sum;           // [fold][column or class]
  std::vector<Wide> rule_sum;      // [fold][rule][column or class]
  std::vector<Wide> square;        // [fold][3]: of value = a 2^22 + b the sums of a a, a b and b b, over all columns
};

// Columns whose numbers count, not only their bins: two bytes of each row tell its place on the grid of its column, and
// its value is that place less a centre; 0 where the number is missing.
struct LineColumns {
  std::int32_t n_lines;
  const std::int32_t* rows;     // [line] the row of the bins with the upper bytes; the lower ones follow
  const std::int32_t* centres;  // [line] from 0 to kNoPlace
};

constexpr std::int32_t kNoPlace = 0xFFFF;  // of a missing number

inline std::int32_t line_value(const LineColumns& lines, const std::uint8_t* bins, std::int64_t n_rows,
                               std::int64_t row, std::int32_t line) {
  const std::uint8_t* upper = bins + lines.rows[line] * n_rows + row;
  const std::int32_t place = upper[0] << 8 | upper[n_rows];
  return place == kNoPlace ? 0 : place - lines.centres[line];
}

// What the moments of rules lack where a list has lines too.
struct LineMoments {
  std::vector<std::int64_t> rows;  // [line] rows with a number, over all folds
  std::vector<Wide> sum;           // [fold][line] of its values
  std::vector<Wide> pair;          // [fold][line][line], lower triangle and diagonal
  std::vector<Wide> rule;          // [fold][line][rule] over the rows where the rule holds
  std::vector<Wide> value_sum;     // [fold][line][column or class][2]: of value = a 2^22 + b with a and with b
};

inline void rule_bits(const RuleTables& rules, const std::uint8_t* bins, std::int64_t n_rows, std::int64_t row,
                      std::uint64_t* bits) {
  if (rules.n_words == 1) {  // in a register: a third of the time that a pass over the rows takes
    std::uint64_t all = ~std::uint64_t{0};
    for (std::int32_t u = 0; u < rules.n_used; ++u)
      all &= rules.tables[u * 256 + bins[rules.features[u] * n_rows + row]];
    bits[0] = all;
    return;
  }
  for (std::int32_t w = 0; w < rules.n_words; ++w) bits[w] = ~std::uint64_t{0};
  for (std::int32_t u = 0; u < rules.n_used; ++u) {
    const std::uint8_t bin = bins[rules.features[u] * n_rows + row];
    const std::uint64_t* entry = rules.tables + (u * 256 + bin) * rules.n_words;
    for (std::int32_t w = 0; w < rules.n_words; ++w) bits[w] &= entry[w];
  }
}

// Rows that satisfy the same rules are added up first and meet the pairs of rules together: there are few such
// signatures (a list of ten rules has dozens), and integers do not mind the order.
class Signatures {
 public:
  Signatures(const RuleTables& rules, std::int64_t n_rows, std::int64_t n_folds, std::int64_t n_sums)
      : n_words_(rules.n_words), n_folds_(n_folds), n_sums_(n_sums),
        capacity_(std::clamp<std::int64_t>(std::min(n_rows, (1 << 16) / (n_folds * n_sums)), 16, kMost)),
        bits_(capacity_ * n_words_), rows_(capacity_), size_(capacity_ * n_folds), sum_(capacity_ * n_folds * n_sums),
        places_(4 * kMost, -1) {}

  bool full() const { return n_ == capacity_; }

  // Adds a row to its signature, whose sums are for the caller to add to.
  Wide* add(const std::uint64_t* bits, std::int64_t fold, std::int64_t weight) {
    const std::int64_t at = find(bits);
    ++rows_[at];
    size_[at * n_folds_ + fold] += weight;
    return sum_.data() + (at * n_folds_ + fold) * n_sums_;
  }

  // Hands what was collected to the moments, and forgets it.
  void flush(std::int64_t n_rules, Moments& m) {
    std::vector<std::int64_t> inside;
    for (std::int64_t at = 0; at < n_; ++at) {
      inside.clear();
      for (std::int64_t w = 0; w < n_words_; ++w)
        for (std::uint64_t left = bits_[at * n_words_ + w]; left; left &= left - 1)
          if (const std::int64_t rule = 64 * w + std::countr_zero(left); rule < n_rules) inside.push_back(rule);
      for (const std::int64_t rule : inside) m.rows[rule] += rows_[at];
      for (std::int64_t fold = 0; fold < n_folds_; ++fold)
        if (size_[at * n_folds_ + fold]) flush_fold(at, fold, inside, n_rules, m);
    }
    std::fill(rows_.begin(), rows_.end(), 0);
    std::fill(size_.begin(), size_.end(), 0);
    std::fill(sum_.begin(), sum_.end(), Wide{});
    std::fill(places_.begin(), places_.end(), -1);
    n_ = 0;
  }

 private:
  void flush_fold(std::int64_t at, std::int64_t fold, const std::vector<std::int64_t>& inside, std::int64_t n_rules,
                  Moments& m) const {
    const std::int64_t cell = at * n_folds_ + fold;
    m.size[fold] += size_[cell];
    for (std::int64_t s = 0; s < n_sums_; ++s) m.sum[fold * n_sums_ + s] += sum_[cell * n_sums_ + s];
    for (std::size_t i = 0; i < inside.size(); ++i) {
      const std::int64_t row = fold * n_rules + inside[i];
      for (std::int64_t s = 0; s < n_sums_; ++s) m.rule_sum[row * n_sums_ + s] += sum_[cell * n_sums_ + s];
      for (std::size_t j = 0; j <= i; ++j) m.pair[row * n_rules + inside[j]] += size_[cell];
    }
  }

  std::int64_t find(const std::uint64_t* bits) {
    std::uint64_t hash = 0;
    for (std::int64_t w = 0; w < n_words_; ++w) hash = (hash ^ bits[w]) * kGolden64;
    std::size_t place = hash >> 50;  // 14 bits, as many as there are places
    for (;; place = (place + 1) % places_.size()) {
      std::int32_t& at = places_[place];
      if (at < 0) {
        at = static_cast<std::int32_t>(n_);
        std::copy(bits, bits + n_words_, bits_.begin() + n_ * n_words_);
        return n_++;
      }
      if (same(bits, bits_.data() + at * n_words_)) return at;
    }
  }

  bool same(const std::uint64_t* a, const std::uint64_t* b) const {
    std::uint64_t differ = 0;
    for (std::int64_t w = 0; w < n_words_; ++w) differ |= a[w] ^ b[w];
    return differ == 0;
  }

  static constexpr std::int64_t kMost = 4096;
  std::int64_t n_words_, n_folds_, n_sums_, capacity_, n_ = 0;
  std::vector<std::uint64_t> bits_;   // [signature][word]
  std::vector<std::int64_t> rows_;    // [signature]
  std::vector<std::int64_t> size_;    // [signature][fold]
  std::vector<Wide> sum_;             // [signature][fold][column or class]
  std::vector<std::int32_t> places_;  // hash -> signature
};

// Adds weight times each column of a row, and weight times their squares.
inline void add_values(const Response& response, std::int64_t n_rows, std::int64_t row, std::int64_t weight, Wide* sum,
                       Wide* square) {
  for (std::int32_t column = 0; column < response.n_sums; ++column) {
    const std::int64_t value = response.value[column * n_rows + row];
    const std::int64_t a = value >> 22, b = value & ((1 << 22) - 1);
    square[0] += wide_product(weight, a * a);
    square[1] += wide_product(weight, a * b);
    square[2] += wide_product(weight, b * b);
    sum[column] += wide_product(weight, value);
  }
}

inline Moments rule_moments(const RuleTables& rules, const std::uint8_t* bins, std::int64_t n_rows,
                            const Response& response, std::uint64_t seed, std::uint64_t first_row,
                            std::int32_t n_folds) {
  const std::int64_t n = rules.n_rules, n_sums = response.n_sums;
  Moments m;
  m.rows.resize(n);
  m.size.resize(n_folds);
  m.pair.resize(n_folds * n * n);
  m.sum.resize(n_folds * n_sums);
  m.rule_sum.resize(n_folds * n * n_sums);
  m.square.resize(n_folds * 3);
  std::vector<std::uint64_t> bits(rules.n_words);
  Signatures signatures(rules, n_rows, n_folds, n_sums);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    rule_bits(rules, bins, n_rows, row, bits.data());
    const std::int64_t fold = fold_of_row(seed, first_row + static_cast<std::uint64_t>(row), n_folds);
    const std::int64_t weight = response.weight ? response.weight[row] : 1;
    if (signatures.full()) signatures.flush(n, m);
    Wide* sum = signatures.add(bits.data(), fold, weight);
    if (response.value) {
      add_values(response, n_rows, row, weight, sum, m.square.data() + 3 * fold);
    } else {
      sum[response.class_code ? response.class_code[row] : 0] += wide_product(weight, 1);
      m.square[3 * fold + 2] += wide_product(weight, 1);
    }
  }
  signatures.flush(n, m);
  return m;
}

// Adds a row to the moments of lines; `value` has those of the lines there.
inline void add_line_row(const RuleTables& rules, const std::uint64_t* bits, const Response& response,
                         std::int64_t n_rows, std::int64_t row, std::int64_t fold,
                         const std::vector<std::int32_t>& value, LineMoments& m) {
  const auto L = static_cast<std::int64_t>(value.size());
  const std::int64_t weight = response.weight ? response.weight[row] : 1;
  for (std::int64_t i = 0; i < L; ++i) {
    const std::int64_t along = weight * value[i], at = fold * L + i;
    if (along == 0) continue;
    m.sum[at] += wide_product(along, 1);
    for (std::int64_t j = 0; j <= i; ++j) m.pair[at * L + j] += wide_product(along, value[j]);
    for (std::int32_t w = 0; w < rules.n_words; ++w)
      for (std::uint64_t left = bits[w]; left; left &= left - 1)
        if (const std::int32_t rule = 64 * w + std::countr_zero(left); rule < rules.n_rules)
          m.rule[at * rules.n_rules + rule] += wide_product(along, 1);
    Wide* sums = m.value_sum.data() + 2 * at * response.n_sums;
    if (response.value) {
      for (std::int32_t column = 0; column < response.n_sums; ++column) {
        const std::int64_t y = response.value[column * n_rows + row];
        sums[2 * column] += wide_product(along, y >> 22);
        sums[2 * column + 1] += wide_product(along, y & ((1 << 22) - 1));
      }
    } else {
      sums[2 * (response.class_code ? response.class_code[row] : 0) + 1] += wide_product(along, 1);
    }
  }
}

inline LineMoments line_moments(const RuleTables& rules, const LineColumns& lines, const std::uint8_t* bins,
                                std::int64_t n_rows, const Response& response, std::uint64_t seed,
                                std::uint64_t first_row, std::int32_t n_folds) {
  const std::int64_t L = lines.n_lines;
  LineMoments m;
  m.rows.resize(L);
  m.sum.resize(n_folds * L);
  m.pair.resize(n_folds * L * L);
  m.rule.resize(n_folds * L * rules.n_rules);
  m.value_sum.resize(n_folds * L * response.n_sums * 2);
  std::vector<std::uint64_t> bits(rules.n_words);
  std::vector<std::int32_t> value(L);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    rule_bits(rules, bins, n_rows, row, bits.data());
    for (std::int32_t line = 0; line < lines.n_lines; ++line) {
      value[line] = line_value(lines, bins, n_rows, row, line);
      const std::uint8_t* upper = bins + lines.rows[line] * n_rows + row;
      m.rows[line] += (upper[0] & upper[n_rows]) != 0xFF;
    }
    const std::int64_t fold = fold_of_row(seed, first_row + static_cast<std::uint64_t>(row), n_folds);
    add_line_row(rules, bits.data(), response, n_rows, row, fold, value, m);
  }
  return m;
}

}  // namespace pysirus
