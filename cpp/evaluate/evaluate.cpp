#include "evaluate/evaluate.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

#include "evaluate/kernel.hpp"

namespace pysirus {
namespace {

struct Kernel {
  EvaluateRows* evaluate_rows;
  AnyInfinite* any_infinite;
};

Kernel kernel_of(const std::string& instruction_set) {
#if defined(PYSIRUS_AVX512)
  if (instruction_set == "avx512") return {avx512::evaluate_rows, avx512::any_infinite};
#endif
#if defined(PYSIRUS_AVX2)
  if (instruction_set == "avx2") return {avx2::evaluate_rows, avx2::any_infinite};
#endif
  if (instruction_set == "plain") return {plain::evaluate_rows, plain::any_infinite};
  throw std::invalid_argument("no instruction set is called '" + instruction_set + "'");
}

RuleView view_of(const RuleList& rules) {
  return {static_cast<std::int32_t>(rules.columns.size()),
          rules.n_outputs(),
          static_cast<std::int32_t>(rules.conditions.size()),
          rules.n_rules(),
          static_cast<std::int32_t>(rules.terms.size()),
          rules.start.data(),
          rules.conditions.data(),
          rules.answers.data(),
          rules.first_part.data(),
          rules.parts.data(),
          rules.inside.data(),
          rules.outside.data(),
          rules.terms.data(),
          rules.slopes.data()};
}

// On a cache line, and zero: rows past the last of a short table are computed too.
struct ScratchMemory {
  static constexpr std::align_val_t kLine{64};
  std::int64_t n_values, n_totals, n_masks;
  void* memory;

  explicit ScratchMemory(const RuleView& rules)
      : n_values(kEvaluatedRows * rules.n_columns), n_totals(kEvaluatedRows * rules.n_outputs),
        n_masks(kEvaluatedRows * rules.n_conditions), memory(::operator new(n_bytes(), kLine)) {
    std::memset(memory, 0, n_bytes());
  }
  ScratchMemory(const ScratchMemory&) = delete;
  ~ScratchMemory() { ::operator delete(memory, kLine); }

  std::size_t n_bytes() const { return static_cast<std::size_t>(n_values + n_totals + n_masks) * sizeof(double); }
  Scratch scratch() const {
    auto* values = static_cast<double*>(memory);
    return {values, values + n_values, reinterpret_cast<std::int64_t*>(values + n_values + n_totals)};
  }
};

std::int64_t size_of(NumberType type) {
  switch (type) {
    case NumberType::f64:
    case NumberType::i64:
    case NumberType::u64: return 8;
    case NumberType::f32:
    case NumberType::i32:
    case NumberType::u32: return 4;
    case NumberType::i16:
    case NumberType::u16: return 2;
    default: return 1;
  }
}

ColumnView column_of(const MatrixView& matrix, std::int64_t column) {
  const std::int64_t bytes = column * matrix.column_stride * size_of(matrix.type);
  return {static_cast<const char*>(matrix.data) + bytes, matrix.row_stride, matrix.type};
}

bool holds_infinity(const MatrixView& matrix, const Kernel& kernel, std::int64_t first, std::int64_t n_rows) {
  if (matrix.column_stride == 1 && matrix.row_stride == matrix.n_columns)
    return kernel.any_infinite({matrix.data, 1, matrix.type}, first * matrix.n_columns, n_rows * matrix.n_columns);
  for (std::int64_t c = 0; c < matrix.n_columns; ++c)
    if (kernel.any_infinite(column_of(matrix, c), first, n_rows)) return true;
  return false;
}

}  // namespace

void evaluate(const RuleList& rules, const ColumnView* views, std::int64_t n_rows, const std::string& instruction_set,
              double* sums) {
  const Kernel kernel = kernel_of(instruction_set);
  const RuleView view = view_of(rules);
  const ScratchMemory memory(view);
  for (std::int64_t first = 0; first < n_rows; first += kEvaluatedRows)
    kernel.evaluate_rows(view, views, first, std::min(kEvaluatedRows, n_rows - first), memory.scratch(),
                         sums + first * rules.n_outputs());
}

bool evaluate_matrix(const RuleList& rules, const MatrixView& matrix, const std::string& instruction_set,
                     double* sums) {
  const Kernel kernel = kernel_of(instruction_set);
  const RuleView view = view_of(rules);
  const ScratchMemory memory(view);
  std::vector<ColumnView> views;
  for (const std::int32_t column : rules.columns) views.push_back(column_of(matrix, column));
  for (std::int64_t first = 0; first < matrix.n_rows; first += kEvaluatedRows) {
    const std::int64_t n_rows = std::min(kEvaluatedRows, matrix.n_rows - first);
    if (holds_infinity(matrix, kernel, first, n_rows)) return false;
    kernel.evaluate_rows(view, views.data(), first, n_rows, memory.scratch(), sums + first * rules.n_outputs());
  }
  return true;
}

}  // namespace pysirus
