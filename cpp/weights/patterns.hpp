// Rows in, patterns out: which rules hold together, in which fold, with how much weight and response, and the values of
// lines where a list has some. Rows outside of the sample on which penalties are chosen are in no fold, which is the one
// after the last. Rows enter weights by likelihood through this table alone. Its sums are exact integers and its order is that of the patterns,
// so rows in any order and in any parts give the same table, and what is computed from it in a fixed order is the
// same everywhere.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "weights/moments.hpp"

namespace pysirus {

// Which of the terms are lines, and where their values are: of [entry][line].
struct LineTerms {
  std::vector<std::int32_t> terms;  // [line] its place among all terms, rising; no bit of it is set
  std::vector<std::int32_t> values;
  std::int64_t size() const { return static_cast<std::int64_t>(terms.size()); }
  const std::int32_t* of(std::int64_t entry) const { return values.data() + entry * size(); }
};

// Entries in the order of (pattern, fold, class). Patterns are ordered by the first term in which they differ, those
// where it does not hold, or has the smaller value, first: the patterns of the first k terms are then runs of
// neighbours, for every k.
struct Patterns {
  std::int32_t n_words;
  std::vector<std::uint64_t> bits;  // [entry][word]; rule r is bit r % 64 of word r / 64
  std::vector<std::uint8_t> fold, class_code;
  std::vector<std::int64_t> weight;
  std::vector<Wide> sum;  // weight times response; for classes the weight
  LineTerms lines = {};
  std::int64_t size() const { return static_cast<std::int64_t>(weight.size()); }
  void reserve(std::size_t n) {
    bits.reserve(n * n_words);
    fold.reserve(n);
    class_code.reserve(n);
    weight.reserve(n);
    sum.reserve(n);
    lines.values.reserve(n * lines.terms.size());
  }
};

// The first rule in which two patterns differ; 64 n_words if they are equal.
inline std::int32_t first_difference(const std::uint64_t* a, const std::uint64_t* b, std::int32_t n_words) {
  for (std::int32_t w = 0; w < n_words; ++w)
    if (const std::uint64_t change = a[w] ^ b[w]) return 64 * w + std::countr_zero(change);
  return 64 * n_words;
}

// The same with lines, of which the first that differs counts as a term; `entry_a` and `entry_b` have their values.
inline std::int32_t first_difference(const std::uint64_t* a, const std::uint64_t* b, std::int32_t n_words,
                                     const LineTerms& lines, std::int64_t entry_a, std::int64_t entry_b) {
  const std::int32_t of_rules = first_difference(a, b, n_words);
  for (std::int64_t l = 0; l < lines.size() && lines.terms[l] < of_rules; ++l)
    if (lines.of(entry_a)[l] != lines.of(entry_b)[l]) return lines.terms[l];
  return of_rules;
}

// Whether a pattern comes before another one that differs first in a term.
inline bool comes_before(const std::uint64_t* b, const LineTerms& lines, std::int64_t entry_a, std::int64_t entry_b,
                         std::int32_t term) {
  for (std::int64_t l = 0; l < lines.size(); ++l)
    if (lines.terms[l] == term) return lines.of(entry_a)[l] < lines.of(entry_b)[l];
  return (b[term / 64] >> (term % 64) & 1) != 0;
}

inline std::uint64_t reversed_bits(std::uint64_t bits) {
  const auto swap = [&](std::uint64_t mask, int by) { bits = ((bits >> by) & mask) | ((bits & mask) << by); };
  swap(0x5555555555555555, 1), swap(0x3333333333333333, 2), swap(0x0F0F0F0F0F0F0F0F, 4);
  swap(0x00FF00FF00FF00FF, 8), swap(0x0000FFFF0000FFFF, 16), swap(0x00000000FFFFFFFF, 32);
  return bits;
}

// The order of numbers, found digit by digit from the last: 90,000 rows take a third of the time of comparisons.
inline void sort_by_digits(std::vector<std::uint64_t>& keys, std::vector<std::uint32_t>& order) {
  constexpr int kDigit = 11;
  std::uint64_t differ = 0;
  for (const std::uint64_t key : keys) differ |= key ^ keys.front();
  std::vector<std::uint64_t> other_keys(keys.size());
  std::vector<std::uint32_t> other_order(order.size()), place(std::size_t{1} << kDigit);
  for (int shift = 0; shift < 64; shift += kDigit) {
    constexpr std::uint64_t kMask = (1 << kDigit) - 1;
    if (((differ >> shift) & kMask) == 0) continue;
    std::fill(place.begin(), place.end(), 0u);
    for (const std::uint64_t key : keys) ++place[(key >> shift) & kMask];
    std::exclusive_scan(place.begin(), place.end(), place.begin(), 0u);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint32_t to = place[(keys[i] >> shift) & kMask]++;
      other_keys[to] = keys[i];
      other_order[to] = order[i];
    }
    keys.swap(other_keys);
    order.swap(other_order);
  }
}

// Numbers of some bits side by side in words, the least significant first: a key of each entry.
class Keys {
 public:
  explicit Keys(std::int64_t n) : n_(static_cast<std::size_t>(n)) {}

  template <class Number>
  void add(int n_bits, const Number& number) {
    if (n_bits == 0) return;
    if (used_ + n_bits > 64) {
      words_.emplace_back(n_, 0);
      used_ = 0;
    }
    for (std::size_t i = 0; i < n_; ++i) words_.back()[i] |= number(i) << used_;
    used_ += n_bits;
  }

  // The entries in the order of their keys.
  std::vector<std::uint32_t> order() const {
    std::vector<std::uint32_t> order(n_);
    std::iota(order.begin(), order.end(), 0u);
    std::vector<std::uint64_t> keys(n_);
    for (const std::vector<std::uint64_t>& word : words_) {
      for (std::size_t i = 0; i < n_; ++i) keys[i] = word[order[i]];
      if (n_ > 0) sort_by_digits(keys, order);
    }
    return order;
  }

 private:
  std::size_t n_;
  int used_ = 64;
  std::vector<std::vector<std::uint64_t>> words_;
};

// Patterns from the last term to the first; before them, where patterns are equal, fold and class.
inline std::vector<std::uint32_t> order_of(const Patterns& given) {
  Keys keys(given.size());
  keys.add(16, [&](std::size_t i) { return std::uint64_t{given.fold[i]} << 8 | given.class_code[i]; });
  const auto add_rules = [&](std::int32_t first, std::int32_t end) {  // the first of them counts most
    while (end > first) {
      const std::int32_t word = (end - 1) / 64, from = std::max(first, 64 * word), n = end - from;
      keys.add(n, [&](std::size_t i) {
        return reversed_bits(given.bits[i * given.n_words + word] >> (from % 64) << (64 - n));
      });
      end = from;
    }
  };
  std::int32_t end = 64 * given.n_words;
  for (std::int64_t l = given.lines.size(); l-- > 0;) {
    add_rules(given.lines.terms[l] + 1, end);
    end = given.lines.terms[l];
    const auto value = [&](std::size_t i) { return given.lines.of(static_cast<std::int64_t>(i))[l]; };
    std::int32_t low = 0, high = 0;
    for (std::size_t i = 0; i < given.weight.size(); ++i)
      low = std::min(low, value(i)), high = std::max(high, value(i));
    keys.add(std::bit_width(static_cast<std::uint64_t>(std::int64_t{high} - low)),
             [&](std::size_t i) { return static_cast<std::uint64_t>(std::int64_t{value(i)} - low); });
  }
  add_rules(0, end);
  return keys.order();
}

// Puts entries in order and adds up equal ones.
inline Patterns in_order(const Patterns& given) {
  const std::int32_t n_words = given.n_words;
  const auto place = [&](std::uint32_t i) { return (given.fold[i] << 8) | given.class_code[i]; };
  const auto same = [&](std::uint32_t i, std::uint32_t k) {
    const std::uint64_t *a = given.bits.data() + std::size_t{i} * n_words,
                        *b = given.bits.data() + std::size_t{k} * n_words;
    return place(i) == place(k) && first_difference(a, b, n_words, given.lines, i, k) == 64 * n_words;
  };
  Patterns result{n_words, {}, {}, {}, {}, {}, {given.lines.terms, {}}};
  if (given.lines.size() > 0) result.reserve(given.weight.size());  // most entries then have no equal
  std::uint32_t last = 0;
  for (const std::uint32_t i : order_of(given)) {
    if (result.size() > 0 && same(last, i)) {
      result.weight.back() += given.weight[i];
      result.sum.back() += given.sum[i];
      continue;
    }
    const auto from = given.bits.begin() + static_cast<std::ptrdiff_t>(i) * n_words;
    result.bits.insert(result.bits.end(), from, from + n_words);
    result.fold.push_back(given.fold[i]);
    result.class_code.push_back(given.class_code[i]);
    result.weight.push_back(given.weight[i]);
    result.sum.push_back(given.sum[i]);
    result.lines.values.insert(result.lines.values.end(), given.lines.of(i), given.lines.of(i) + given.lines.size());
    last = i;
  }
  return result;
}

// The bits of the rules that hold in a row, and no others.
inline void clean_bits(const RuleTables& rules, const std::uint8_t* bins, std::int64_t n_rows, std::int64_t row,
                       std::uint64_t* bits) {
  rule_bits(rules, bins, n_rows, row, bits);
  for (std::int32_t w = 0; w < rules.n_words; ++w) {
    const std::int32_t left = rules.n_rules - 64 * w;
    if (left < 64) bits[w] &= left <= 0 ? 0 : (std::uint64_t{1} << left) - 1;
  }
}

inline Patterns rule_patterns(const RuleTables& rules, const std::uint8_t* bins, std::int64_t n_rows,
                              const Response& response, std::uint64_t seed, std::uint64_t first_row,
                              std::int32_t n_folds, const LineColumns& lines = {},
                              const std::vector<std::int32_t>& line_terms = {},
                              std::uint64_t most_sampled = ~std::uint64_t{0}) {
  Patterns rows{rules.n_words, {}, {}, {}, {}, {}, {line_terms, {}}};
  const auto n = static_cast<std::size_t>(n_rows);
  rows.bits.resize(n * rules.n_words);
  rows.fold.resize(n);
  rows.class_code.resize(n);
  rows.weight.resize(n);
  rows.sum.resize(n);
  rows.lines.values.resize(n * line_terms.size());
  std::int32_t* values = rows.lines.values.data();
  for (std::size_t row = 0; row < n; ++row) {
    std::uint64_t* bits = rows.bits.data() + row * rules.n_words;
    clean_bits(rules, bins, n_rows, static_cast<std::int64_t>(row), bits);
    for (std::int32_t l = 0; l < lines.n_lines; ++l) {
      bits[line_terms[l] / 64] &= ~(std::uint64_t{1} << (line_terms[l] % 64));
      *values++ = line_value(lines, bins, n_rows, static_cast<std::int64_t>(row), l);
    }
    const bool sampled = in_sample(seed, first_row + row, most_sampled);
    rows.fold[row] = static_cast<std::uint8_t>(sampled ? fold_of_row(seed, first_row + row, n_folds) : n_folds);
    rows.class_code[row] = response.class_code ? response.class_code[row] : 0;
    rows.weight[row] = response.weight ? response.weight[row] : 1;
    rows.sum[row] = wide_product(rows.weight[row], response.value ? response.value[row] : 1);
  }
  return in_order(rows);
}

// How sums of the response are read: numbers are integer * 2^-exponent + centre; of classes each has a score, and one
// score stands for the second of two.
struct Reading {
  bool classes;
  std::int32_t n_scores, exponent;
  double centre;
};

// The patterns of the first terms: cells [pattern][fold], as real numbers, in units of the whole weight.
struct Prefix {
  std::int32_t n_rules, n_bytes, n_scores;
  std::vector<std::uint8_t> bytes;       // [pattern][byte]
  std::vector<std::int64_t> first_cell;  // [pattern + 1]
  std::vector<std::uint8_t> fold;        // [cell]
  std::vector<double> weight;            // [cell]
  std::vector<double> sum;               // [cell][score]
  std::vector<std::int32_t> lines = {};  // those of the terms that are lines
  std::vector<double> values = {};       // [pattern][line]
  std::int64_t n_lines() const { return static_cast<std::int64_t>(lines.size()); }
  std::int64_t size() const { return static_cast<std::int64_t>(first_cell.size()) - 1; }
  void reserve(std::size_t n) {  // patterns of one cell
    bytes.reserve(n * n_bytes);
    first_cell.reserve(n + 1);
    fold.reserve(n);
    weight.reserve(n);
    sum.reserve(n * n_scores);
    values.reserve(n * lines.size());
  }
};

inline double real(const Wide& number) {
  return std::ldexp(static_cast<double>(upper_half(number)), 48) + static_cast<double>(lower_half(number));
}

class PrefixMaker {
 public:
  PrefixMaker(const Patterns& patterns, const Reading& reading, std::int32_t n_folds)
      : patterns_(patterns), reading_(reading), n_folds_(n_folds) {
    for (std::int64_t i = 0; i < patterns.size(); ++i) {
      total_ += patterns.weight[i];
      differs_.push_back(i == 0 ? -1
                                : first_difference(patterns.bits.data() + (i - 1) * patterns.n_words,
                                                   patterns.bits.data() + i * patterns.n_words, patterns.n_words,
                                                   patterns.lines, i - 1, i));
      all_sampled_ = all_sampled_ && patterns.fold[i] < n_folds;
    }
  }

  // Whether every row has a fold.
  bool all_sampled() const { return all_sampled_; }

  // `folds` keeps them apart, and leaves out rows that are in none; else they are all fold 0.
  Prefix make(std::int32_t n_rules, bool folds) const {
    Prefix prefix{n_rules, (n_rules + 7) / 8, reading_.n_scores, {}, {}, {}, {}, {}};
    for (const std::int32_t term : patterns_.lines.terms)
      if (term < n_rules) prefix.lines.push_back(term);
    if (!prefix.lines.empty()) prefix.reserve(patterns_.weight.size());
    std::vector<std::int64_t> weight(n_folds_);
    std::vector<Wide> sum(std::size_t(n_folds_) * reading_.n_scores);
    for (std::int64_t i = 0; i < patterns_.size();) {
      std::fill(weight.begin(), weight.end(), 0);
      std::fill(sum.begin(), sum.end(), Wide{});
      std::int64_t last = i;
      bool any = false;
      do {
        const std::int32_t fold = folds ? patterns_.fold[last] : 0;
        if (fold == n_folds_) continue;
        any = true;
        add_entry(last, fold, weight, sum);
      } while (++last < patterns_.size() && differs_[last] >= n_rules);
      if (any) {
        add_pattern(i, prefix);
        add_cells(weight, sum, prefix);
      }
      i = last;
    }
    prefix.first_cell.push_back(static_cast<std::int64_t>(prefix.fold.size()));
    return prefix;
  }

 private:
  void add_pattern(std::int64_t i, Prefix& prefix) const {
    prefix.first_cell.push_back(static_cast<std::int64_t>(prefix.fold.size()));
    for (std::int32_t b = 0; b < prefix.n_bytes; ++b) {
      const int left = prefix.n_rules - 8 * b;
      const auto byte = static_cast<std::uint8_t>(patterns_.bits[i * patterns_.n_words + b / 8] >> (8 * (b % 8)));
      prefix.bytes.push_back(left < 8 ? byte & ((1 << left) - 1) : byte);
    }
    for (std::int64_t l = 0; l < prefix.n_lines(); ++l) prefix.values.push_back(patterns_.lines.of(i)[l]);
  }

  void add_entry(std::int64_t i, std::int32_t fold, std::vector<std::int64_t>& weight, std::vector<Wide>& sum) const {
    weight[fold] += patterns_.weight[i];
    if (!reading_.classes)
      sum[fold] += patterns_.sum[i];
    else if (reading_.n_scores > 1)
      sum[fold * reading_.n_scores + patterns_.class_code[i]] += wide_product(patterns_.weight[i], 1);
    else if (patterns_.class_code[i] == 1)
      sum[fold] += wide_product(patterns_.weight[i], 1);
  }

  void add_cells(const std::vector<std::int64_t>& weight, const std::vector<Wide>& sum, Prefix& prefix) const {
    const double unit = 1.0 / static_cast<double>(total_);
    for (std::int32_t f = 0; f < n_folds_; ++f) {
      if (weight[f] == 0) continue;
      const double share = static_cast<double>(weight[f]) * unit;
      prefix.fold.push_back(static_cast<std::uint8_t>(f));
      prefix.weight.push_back(share);
      for (std::int32_t c = 0; c < reading_.n_scores; ++c) {
        const double value = real(sum[f * reading_.n_scores + c]) * unit;
        prefix.sum.push_back(reading_.classes ? value : from_centre(std::ldexp(value, -reading_.exponent), share));
      }
    }
  }

  // Responses of zero add up to zero, not to what rounding leaves of it.
  double from_centre(double deviation, double share) const {
    const double shift = reading_.centre * share, sum = deviation + shift;
    return std::fabs(sum) <= 1e-12 * std::fabs(shift) ? 0.0 : sum;
  }

  const Patterns& patterns_;
  Reading reading_;
  std::int32_t n_folds_;
  std::int64_t total_ = 0;
  bool all_sampled_ = true;
  std::vector<std::int32_t> differs_;  // [entry] the first rule in which it differs from the entry before
};

}  // namespace pysirus
