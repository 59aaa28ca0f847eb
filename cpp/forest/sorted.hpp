// Rows of a chunk in the order of their cells, one column at a time: rows of a cell can then be summed in registers.
// Sorting is paid for once a table, or once a chunk and block of trees.
//
// Tried: adding each row to its cell in memory, the design before, is bound by stores: three times as long. Picking
// from 64 trees those that have a column as candidate (a byte permutation of each row) leaves a third of the sums, but
// no parents to subtract from: 15% less time for the sums with AVX-512, 30% more with AVX2, twice where all are
// candidates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "forest/chunk.hpp"
#include "forest/table.hpp"

namespace pysirus {

// Tables up to this size are sorted once: five bytes a bin and a little. Eleven with weights; with more than three
// numbers a row, tables are to be that much smaller.
constexpr std::int64_t kKeptBins = 1 << 25;

// The digits of a number: a byte each, the lowest first.
constexpr std::uint32_t digits_of(std::int64_t number) {
  std::uint32_t bytes = 0;
  for (int k = 0; k < kDigits; ++k) {
    const std::int64_t digit = k + 1 < kDigits ? ((number + 64) & 127) - 64 : number;
    bytes |= static_cast<std::uint32_t>(digit & 0xFF) << (8 * k);
    number = (number - digit) >> kDigitBits;
  }
  return bytes;
}
static_assert(digits_of(1 << 20) == 0x400000 && digits_of(-(1 << 20)) == 0xC00000 && digits_of(-65) == 0x00FF3F);

// What a row adds to its cell beside its count, as numbers: the columns of the response; or the weight, and each column
// times the weight in two parts.
constexpr int n_numbers(const Table& table) {
  const int n_columns = table.value ? table.n_sums : 0;
  return table.weight ? 1 + 2 * n_columns : n_columns;
}
inline void numbers_of(const Table& table, std::int64_t row, std::int64_t* numbers) {
  if (table.weight) *numbers++ = table.weight[row];
  if (!table.value) return;
  constexpr std::int64_t half = std::int64_t{1} << (kPartBits - 1);
  for (std::int32_t column = 0; column < table.n_sums; ++column) {
    const std::int64_t value = value_of(table, column, row);
    if (!table.weight) {
      *numbers++ = value;
      continue;
    }
    const std::int64_t product = table.weight[row] * value;
    const std::int64_t low = ((product + half) & (2 * half - 1)) - half;
    *numbers++ = low;
    *numbers++ = (product - low) >> kPartBits;
  }
}

inline QuadDigits transpose_digits(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  constexpr std::uint32_t kEven = 0x00FF00FF;
  const std::uint32_t low_ab = (a & kEven) | (b & kEven) << 8, low_cd = (c & kEven) | (d & kEven) << 8;
  const std::uint32_t middle_ab = (a >> 8 & 0xFF) | (b & 0xFF00), middle_cd = (c >> 8 & 0xFF) | (d & 0xFF00);
  return {{(low_ab & 0xFFFF) | low_cd << 16, middle_ab | middle_cd << 16, low_ab >> 16 | (low_cd & 0xFFFF0000)}};
}

// A column of a chunk in order; SortedColumn is what a kernel sees of it.
struct SortedRows {
  std::vector<Run> runs;
  std::vector<QuadRows> rows;
  std::vector<QuadDigits> digits;  // [number][quad]
};

class RowSorter {
 public:
  // Takes up the rows first .. first + n_rows - 1.
  void start_chunk(const Table& table, std::int64_t first, std::int64_t n_rows) {
    first_ = first;
    n_rows_ = n_rows;
    numbers_.resize(static_cast<std::size_t>(n_numbers(table)));
    digits_.assign(numbers_.size() * static_cast<std::size_t>(n_rows + 1), 0);
    if (numbers_.empty()) return;  // classes of equal weight are only counted
    for (std::int64_t row = 0; row < n_rows; ++row) {
      numbers_of(table, first + row, numbers_.data());
      std::uint32_t* digits = digits_.data() + row;
      for (std::size_t i = 0; i < numbers_.size(); ++i, digits += n_rows + 1) *digits = digits_of(numbers_[i]);
    }
  }

  // Sorts them by counting.
  void sort(const Table& table, std::int32_t feature, SortedRows& sorted) {
    const std::uint8_t* bins = table.bins + feature * table.n_rows + first_;
    if (!table.class_code) {
      place_rows(table.n_bins[feature], 1, [=](std::int64_t row) { return bins[row]; }, sorted);
    } else {
      const std::uint8_t* codes = table.class_code + first_;
      const std::int32_t n_classes = table.n_sums;
      place_rows(
          table.n_bins[feature], n_classes, [=](std::int64_t row) { return bins[row] * n_classes + codes[row]; },
          sorted);
    }
    sorted.digits.resize(numbers_.size() * sorted.rows.size());
    QuadDigits* to = sorted.digits.data();
    const std::uint32_t* digits = digits_.data();
    for (std::size_t i = 0; i < numbers_.size(); ++i, digits += n_rows_ + 1)
      for (const auto& [row] : sorted.rows)
        *to++ = transpose_digits(digits[row[0]], digits[row[1]], digits[row[2]], digits[row[3]]);
  }

 private:
  template <class KeyOf>
  void place_rows(std::int32_t n_bins, std::int32_t n_classes, KeyOf key_of, SortedRows& sorted) {
    place_.assign(static_cast<std::size_t>(n_bins * n_classes), 0);
    std::int32_t* place = place_.data();
    for (std::int64_t row = 0; row < n_rows_; ++row) ++place[key_of(row)];
    sorted.runs.clear();
    std::int32_t n_quads = 0;
    for (std::int32_t bin = 0, key = 0; bin < n_bins; ++bin)
      for (std::int32_t code = 0; code < n_classes; ++code, ++key) {
        if (place[key] == 0) continue;
        const std::int32_t n = (place[key] + 3) / 4;
        sorted.runs.push_back({bin, code, n_quads, n_quads + n});
        place[key] = 4 * n_quads;
        n_quads += n;
      }
    sorted.rows.resize(static_cast<std::size_t>(n_quads));
    const auto nobody = static_cast<std::uint16_t>(n_rows_);
    for (const Run& run : sorted.runs) sorted.rows[run.last - 1] = {{nobody, nobody, nobody, nobody}};
    std::uint16_t* rows = sorted.rows.data()->row;
    for (std::int64_t row = 0; row < n_rows_; ++row) rows[place[key_of(row)]++] = static_cast<std::uint16_t>(row);
  }

  std::int64_t first_ = 0, n_rows_ = 0;
  std::vector<std::int64_t> numbers_;  // of a row
  std::vector<std::uint32_t> digits_;  // [number][row], zero for nobody
  std::vector<std::int32_t> place_;
};

// All rows of a table, [chunk][feature]; empty for a large one, which is sorted chunk by chunk, anew for each block.
struct SortedTable {
  std::vector<SortedRows> rows;
  std::int64_t n_chunks = 0;

  SortedTable(const Table& table, std::int64_t n_trees) {
    const std::int64_t n_bins = table.n_rows * table.n_features;
    if (n_trees <= kBlock || n_bins > kKeptBins / std::max(1, (n_numbers(table) + 2) / 3)) return;
    n_chunks = (table.n_rows + kChunk - 1) / kChunk;
    rows.resize(static_cast<std::size_t>(n_chunks * table.n_features));
  }

  void sort_chunk(const Table& table, std::int64_t chunk, RowSorter& sorter) {
    const std::int64_t first = chunk * kChunk;
    sorter.start_chunk(table, first, std::min(kChunk, table.n_rows - first));
    for (std::int32_t feature = 0; feature < table.n_features; ++feature)
      sorter.sort(table, feature, rows[chunk * table.n_features + feature]);
  }
};

}  // namespace pysirus
