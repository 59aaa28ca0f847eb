#include "evaluate.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>

namespace pysirus {
namespace {

struct Kernel {
  decltype(&plain::evaluate_rows) evaluate_rows;
  decltype(&plain::any_infinite) any_infinite;
};

Kernel kernel_of(const std::string& instruction_set) {
#if defined(PYSIRUS_X86)
  if (instruction_set == "avx512") return {avx512::evaluate_rows, avx512::any_infinite};
  if (instruction_set == "avx2") return {avx2::evaluate_rows, avx2::any_infinite};
#endif
  if (instruction_set == "plain") return {plain::evaluate_rows, plain::any_infinite};
  throw std::invalid_argument("no instruction set is called '" + instruction_set + "'");
}

struct Release {
  void operator()(double* memory) const { ::operator delete(memory, std::align_val_t{64}); }
};

// On a cache line, and zero: rows past the last of a short table are computed too.
std::unique_ptr<double, Release> make_scratch(const RuleList& rules) {
  const auto n = static_cast<std::size_t>(scratch_size(rules));
  auto* memory = static_cast<double*>(::operator new(n * sizeof(double), std::align_val_t{64}));
  std::fill_n(memory, n, 0.0);
  return std::unique_ptr<double, Release>(memory);
}

std::int64_t size_of(NumberType type) {
  switch (type) {
    case NumberType::f64: case NumberType::i64: case NumberType::u64: return 8;
    case NumberType::f32: case NumberType::i32: case NumberType::u32: return 4;
    case NumberType::i16: case NumberType::u16: return 2;
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
  const auto scratch = make_scratch(rules);
  for (std::int64_t first = 0; first < n_rows; first += kEvaluatedRows)
    kernel.evaluate_rows(rules, views, first, std::min(kEvaluatedRows, n_rows - first), scratch.get(),
                         sums + first * rules.n_outputs());
}

bool evaluate_matrix(const RuleList& rules, const MatrixView& matrix, const std::string& instruction_set,
                     double* sums) {
  const Kernel kernel = kernel_of(instruction_set);
  const auto scratch = make_scratch(rules);
  std::vector<ColumnView> views;
  for (const std::int32_t column : rules.columns) views.push_back(column_of(matrix, column));
  for (std::int64_t first = 0; first < matrix.n_rows; first += kEvaluatedRows) {
    const std::int64_t n_rows = std::min(kEvaluatedRows, matrix.n_rows - first);
    if (holds_infinity(matrix, kernel, first, n_rows)) return false;
    kernel.evaluate_rows(rules, views.data(), first, n_rows, scratch.get(), sums + first * rules.n_outputs());
  }
  return true;
}

}  // namespace pysirus
