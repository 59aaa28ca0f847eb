// A list of rules to be evaluated: distinct conditions, rules as sets of them, linear terms, and the columns they read.
#pragma once

#include <cstdint>
#include <vector>

namespace pysirus {

enum class NumberType : std::uint8_t { f64, f32, i64, i32, i16, i8, u64, u32, u16, u8 };

// One column of a table, wherever it lies; the stride counts elements.
struct ColumnView {
  const void* data;
  std::int64_t stride;
  NumberType type;
};

// lower <= x < upper, NaN by `missing`; or, where there are levels, the answer of each code. Infinite ends are open.
// A condition that takes no known value has a lower end of infinity.
struct Condition {
  std::int32_t column;  // position in RuleList::columns
  double lower, upper;
  bool missing;
  std::int32_t first_answer = -1;  // in RuleList::answers: code -2 (never seen), -1 (missing), 0, 1, ...
  std::int32_t n_levels = 0;
};

// x held within its limits, less `centre`, times a slope for each output; `missing` stands in for NaN.
struct Term {
  std::int32_t column;
  double lower, upper, missing, centre;
};

struct RuleList {
  std::vector<std::int32_t> columns;  // the columns in use, as positions in the table
  std::vector<double> start;          // [output]: what the sums begin with
  std::vector<Condition> conditions;
  std::vector<std::uint8_t> answers;
  std::vector<std::int32_t> first_part{0};  // [rule + 1]: where its conditions begin in `parts`
  std::vector<std::int32_t> parts;          // positions in `conditions`
  std::vector<double> inside, outside;      // [rule][output]: what a rule adds where it holds, and elsewhere
  std::vector<Term> terms;
  std::vector<double> slopes;  // [term][output]

  std::int32_t n_outputs() const { return static_cast<std::int32_t>(start.size()); }
  std::int32_t n_rules() const { return static_cast<std::int32_t>(first_part.size()) - 1; }
};

}  // namespace pysirus
