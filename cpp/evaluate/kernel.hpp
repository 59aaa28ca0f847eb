// What is compiled once for each instruction set to evaluate rules: a chunk of rows, and a look for infinite numbers.
#pragma once

#include <cstdint>

#include "evaluate/rules.hpp"

namespace pysirus {

constexpr std::int64_t kEvaluatedRows = 128;  // at a time: values, masks and sums of a dozen rules stay in L1

// A RuleList as a kernel reads it: no code of the standard library.
struct RuleView {
  std::int32_t n_columns, n_outputs, n_conditions, n_rules, n_terms;
  const double* start;  // [output]
  const Condition* conditions;
  const std::uint8_t* answers;
  const std::int32_t* first_part;  // [rule + 1]
  const std::int32_t* parts;
  const double *inside, *outside;  // [rule][output]
  const Term* terms;
  const double* slopes;  // [term][output]
};

struct Scratch {
  double* values;       // [column][row]
  double* totals;       // [output][row]
  std::int64_t* masks;  // [condition][row]
};

// evaluate_rows writes sums[row][output] of rows `first` to `first + n_rows` (at most kEvaluatedRows); `views` are those
// of the columns in use.
using EvaluateRows = void(const RuleView& rules, const ColumnView* views, std::int64_t first, std::int64_t n_rows,
                          const Scratch& scratch, double* sums);
using AnyInfinite = bool(const ColumnView& view, std::int64_t first, std::int64_t n);

namespace plain {
EvaluateRows evaluate_rows;
AnyInfinite any_infinite;
}  // namespace plain
namespace avx2 {
EvaluateRows evaluate_rows;
AnyInfinite any_infinite;
}  // namespace avx2
namespace avx512 {
EvaluateRows evaluate_rows;
AnyInfinite any_infinite;
}  // namespace avx512

}  // namespace pysirus
