// Rows in, what a model remembers of them out: a mark and the ends of each column, and sums by bin and by rule of some
// numbers that stand beside each row. Marks and sums of parts add up.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "bins/encode.hpp"
#include "evaluate/rules.hpp"
#include "weights/moments.hpp"

namespace pysirus {

// What a row is known by, counted from 0: a step of the golden ratio.
inline std::uint64_t key_of_row(std::uint64_t row) { return (row + 1) * 0x9E3779B97F4A7C15; }

// What a value adds to the mark of its column: the product of two halves, one instruction for two rows.
inline std::uint64_t mark_of(std::uint64_t bits, std::uint64_t key) {
  bits ^= key;
  return (bits >> 32) * (bits & 0xFFFFFFFF);
}

struct ColumnMark {
  std::uint64_t mark = 0;
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();  // if known
};

// The mark of a column of numbers, and its ends.
template <class T>
ColumnMark mark_column(const T* values, std::int64_t stride, std::int64_t n_rows, std::uint64_t first_row) {
  ColumnMark found;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const double x = static_cast<double>(values[row * stride]) + 0.0;  // both zeros are one number
    const std::uint64_t bits = x == x ? std::bit_cast<std::uint64_t>(x) : 0x7FF8000000000000;
    found.mark += mark_of(bits, key_of_row(first_row + static_cast<std::uint64_t>(row)));
    found.low = x < found.low ? x : found.low;
    found.high = x > found.high ? x : found.high;
  }
  return found;
}

// Calls with the values of a column, from its first row on, in their own type.
template <class Call>
void with_values(const ColumnView& column, Call call) {
  switch (column.type) {
    case NumberType::f64: return call(static_cast<const double*>(column.data));
    case NumberType::f32: return call(static_cast<const float*>(column.data));
    case NumberType::i64: return call(static_cast<const std::int64_t*>(column.data));
    case NumberType::i32: return call(static_cast<const std::int32_t*>(column.data));
    case NumberType::i16: return call(static_cast<const std::int16_t*>(column.data));
    case NumberType::i8: return call(static_cast<const std::int8_t*>(column.data));
    case NumberType::u64: return call(static_cast<const std::uint64_t*>(column.data));
    case NumberType::u32: return call(static_cast<const std::uint32_t*>(column.data));
    case NumberType::u16: return call(static_cast<const std::uint16_t*>(column.data));
    case NumberType::u8: return call(static_cast<const std::uint8_t*>(column.data));
  }
}

// The mark of labels: each has a number, those below 0 are missing and have the last.
inline std::uint64_t mark_labels(const std::int32_t* codes, std::int64_t n_rows, const std::uint64_t* numbers,
                                 std::int64_t missing, std::uint64_t first_row) {
  std::uint64_t mark = 0;
  for (std::int64_t row = 0; row < n_rows; ++row)
    mark += mark_of(numbers[codes[row] < 0 ? missing : codes[row]],
                    key_of_row(first_row + static_cast<std::uint64_t>(row)));
  return mark;
}

// Numbers that stand beside each row, [row][number].
struct Beside {
  const double* numbers;
  std::int64_t n_numbers;
  const double* of(std::int64_t row) const { return numbers + row * n_numbers; }
};

// Calls with a number as a constant where it is small: a loop of so many steps needs no counting.
template <class Call>
void with_count(std::int64_t n, Call call) {
  if (n == 2) return call([] { return 2; });
  if (n == 3) return call([] { return 3; });
  if (n == 4) return call([] { return 4; });
  call([n] { return n; });
}

// The sums of the first `n_used` numbers beside the rows of each bin, [bin][number]; of column c from bin offset[c] on.
// Columns are taken two at a time, by pairs of bins, as long as these are few: half as many sums to add to.
inline void sum_bins(const std::uint8_t* bins, std::int64_t n_rows, const std::vector<std::int64_t>& offset,
                     const Beside& beside, std::int64_t n_used, double* sums) {
  constexpr std::int64_t kMostPairs = 1024;
  std::vector<double> pairs;
  const std::int64_t n_columns = static_cast<std::int64_t>(offset.size()) - 1;
  for (std::int64_t c = 0, taken; c < n_columns; c += taken) {
    const std::int64_t n_first = offset[c + 1] - offset[c];
    const std::int64_t n_second = c + 1 < n_columns ? offset[c + 2] - offset[c + 1] : 1;
    taken = c + 1 < n_columns && n_first * n_second <= kMostPairs ? 2 : 1;
    const std::uint8_t *first = bins + c * n_rows, *second = first + (taken - 1) * n_rows;
    const std::int64_t step = taken == 2 ? n_second : 0;
    pairs.assign(static_cast<std::size_t>(n_first * std::max(step, std::int64_t{1}) * n_used), 0.0);
    with_count(n_used, [&](auto count) {
      double* own = pairs.data();
      if (taken == 1) {
        for (std::int64_t row = 0; row < n_rows; ++row)
          for (std::int64_t k = 0; k < count(); ++k) own[first[row] * count() + k] += beside.of(row)[k];
      } else {
        for (std::int64_t row = 0; row < n_rows; ++row)
          for (std::int64_t k = 0; k < count(); ++k)
            own[(first[row] * step + second[row]) * count() + k] += beside.of(row)[k];
      }
    });
    const double* from = pairs.data();
    for (std::int64_t a = 0; a < n_first; ++a)
      for (std::int64_t b = 0; b < std::max(step, std::int64_t{1}); ++b)
        for (std::int64_t k = 0; k < n_used; ++k, ++from) {
          sums[(offset[c] + a) * n_used + k] += *from;
          if (taken == 2) sums[(offset[c + 1] + b) * n_used + k] += *from;
        }
  }
}

// The sums of the numbers beside the rows in which each rule holds, [rule][number], and how many rows these are.
inline void sum_rules(const RuleTables& rules, const std::uint8_t* bins, std::int64_t n_rows, const Beside& beside,
                      std::int64_t* rows, double* sums) {
  std::vector<std::uint64_t> bits(static_cast<std::size_t>(rules.n_words));
  with_count(beside.n_numbers, [&](auto count) {
    for (std::int64_t row = 0; row < n_rows; ++row) {
      rule_bits(rules, bins, n_rows, row, bits.data());
      for (std::int32_t w = 0; w < rules.n_words; ++w) {
        const std::int32_t left = rules.n_rules - 64 * w;
        std::uint64_t word = left >= 64 ? bits[w] : bits[w] & ((std::uint64_t{1} << left) - 1);
        for (; word; word &= word - 1) {
          const std::int32_t rule = 64 * w + std::countr_zero(word);
          ++rows[rule];
          for (std::int64_t k = 0; k < count(); ++k) sums[rule * count() + k] += beside.of(row)[k];
        }
      }
    }
  });
}

// The greatest value of a column below each of some rising numbers, and the least at or above it.
template <class T>
void find_brackets(const T* values, std::int64_t stride, std::int64_t n_rows, const double* numbers,
                   std::int32_t n_numbers, double* below, double* above) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> low(static_cast<std::size_t>(n_numbers) + 1, kInfinity), high(low.size(), -kInfinity);
  for (std::int64_t row = 0; row < n_rows; ++row) {
    const double x = static_cast<double>(values[row * stride]);
    std::int32_t place = 0;
    if (n_numbers <= 8) {
      for (std::int32_t i = 0; i < n_numbers; ++i) place += x >= numbers[i];
    } else {
      place = cuts_up_to(x, numbers, n_numbers);
    }
    low[place] = x < low[place] ? x : low[place];  // of a missing value neither holds
    high[place] = x > high[place] ? x : high[place];
  }
  for (std::int32_t i = 0; i < n_numbers; ++i) below[i] = std::max(i ? below[i - 1] : -kInfinity, high[i]);
  for (std::int32_t i = n_numbers; i-- > 0;)
    above[i] = std::min(i + 1 < n_numbers ? above[i + 1] : kInfinity, low[i + 1]);
}

}  // namespace pysirus
