// Rows of a chunk in the order of their cells, one column at a time, as a kernel reads them: the rows of a cell can be
// summed in registers. sorted.hpp puts them in this order.
#pragma once

#include <cstdint>

#include "forest/table.hpp"

namespace pysirus {

constexpr std::int64_t kChunk = 3584;            // rows sorted, and their counts held, at a time
constexpr std::int64_t kChunkRows = kChunk + 1;  // rows of counts in memory: the last is the row of nobody
constexpr std::int64_t kKeptRows = 8 * 1024;     // tables up to this size draw each count once

// Numbers of size 2^20 and less are summed as three digits to the base 128, each from -64 to 64: a byte times a count.
constexpr int kDigits = 3;
constexpr int kDigitBits = 7;

// The response times the weight is two such numbers, low + 2^21 * high.
constexpr int kPartBits = kDigits * kDigitBits;

struct QuadRows {
  std::uint16_t row[4];
};
struct QuadDigits {
  std::uint32_t digit[kDigits];  // each of the four rows, a byte a row
};

// The rows of a chunk that share a bin, and a class where there are classes: quads first .. last - 1.
struct Run {
  std::int32_t bin, class_code, first, last;
};

// Four rows are summed at once. The last quad of a run is filled up with row number n_rows, whose counts are zero.
struct SortedColumn {
  const Run* runs;
  std::int64_t n_runs;
  const QuadRows* rows;      // [quad]
  const QuadDigits* digits;  // [number][quad], of each number that a row adds
  std::int64_t n_quads;
};

}  // namespace pysirus
