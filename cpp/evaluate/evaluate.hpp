// Rules and columns in, sums of outputs out. The order of summation is part of the answer: the start, the rules in
// their order, the terms in theirs; so every instruction set and every chunk gives the same number.
#pragma once

#include <cstdint>
#include <string>

#include "evaluate/rules.hpp"

namespace pysirus {

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
