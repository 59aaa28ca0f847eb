// Rules and columns in, sums of outputs out. The order of summation is part of the answer: the start, the rules in
// their order, the terms in theirs; so every instruction set and every chunk gives the same number.
#pragma once

#include <cstdint>
#include <string>

#include "rules.hpp"

namespace pysirus {

constexpr std::int64_t kEvaluatedRows = 128;  // at a time: values, masks and sums of a dozen rules stay in L1

inline std::int64_t scratch_size(const RuleList& rules) {
  return kEvaluatedRows *
         static_cast<std::int64_t>(rules.columns.size() + rules.conditions.size() + rules.start.size());
}

// One version for each instruction set. `evaluate_rows` writes sums[row][output] of rows `first` to `first + n_rows`
// (at most kEvaluatedRows); `views` are those of rules.columns.
namespace plain {
void evaluate_rows(const RuleList& rules, const ColumnView* views, std::int64_t first, std::int64_t n_rows,
                   double* scratch, double* sums);
bool any_infinite(const ColumnView& view, std::int64_t first, std::int64_t n);
}  // namespace plain
namespace avx2 {
void evaluate_rows(const RuleList& rules, const ColumnView* views, std::int64_t first, std::int64_t n_rows,
                   double* scratch, double* sums);
bool any_infinite(const ColumnView& view, std::int64_t first, std::int64_t n);
}  // namespace avx2
namespace avx512 {
void evaluate_rows(const RuleList& rules, const ColumnView* views, std::int64_t first, std::int64_t n_rows,
                   double* scratch, double* sums);
bool any_infinite(const ColumnView& view, std::int64_t first, std::int64_t n);
}  // namespace avx512

// All rows, with the best instruction set or the one that is named.
void evaluate(const RuleList& rules, const ColumnView* views, std::int64_t n_rows, const std::string& instruction_set,
              double* sums);

// The same for the columns of a matrix, all of which are looked through for infinite numbers on the way; false, and
// nothing of use in `sums`, when there is one.
struct MatrixView {
  const void* data;
  std::int64_t n_rows, n_columns, row_stride, column_stride;
  NumberType type;
};
bool evaluate_matrix(const RuleList& rules, const MatrixView& matrix, const std::string& instruction_set, double* sums);

}  // namespace pysirus
