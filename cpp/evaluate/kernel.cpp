// The loops of evaluation, compiled once for each instruction set. Masks are as wide as the numbers they came from
// (all bits or none), so that comparing, joining and choosing never change width; loops run over whole chunks, whose
// rows past the last are computed and not written.
#include "evaluate/kernel.hpp"

#include <limits>
#include <type_traits>

#include "isa/vector.hpp"

namespace pysirus::PYSIRUS_ISA {
namespace {

constexpr std::int64_t kRows = kEvaluatedRows;
constexpr int kWidth = kVectorBytes / 8;
constexpr std::int64_t kVectors = kRows / kWidth;
using Reals = Vector<double, kWidth>;
using Masks = Vector<std::int64_t, kWidth>;

template <class Call>
void with_type(NumberType type, Call call) {
  switch (type) {
    case NumberType::f64: return call(double{});
    case NumberType::f32: return call(float{});
    case NumberType::i64: return call(std::int64_t{});
    case NumberType::i32: return call(std::int32_t{});
    case NumberType::i16: return call(std::int16_t{});
    case NumberType::i8: return call(std::int8_t{});
    case NumberType::u64: return call(std::uint64_t{});
    case NumberType::u32: return call(std::uint32_t{});
    case NumberType::u16: return call(std::uint16_t{});
    case NumberType::u8: return call(std::uint8_t{});
  }
}

void read_column(const ColumnView& view, std::int64_t first, std::int64_t n_rows, double* x) {
  with_type(view.type, [&](auto type) {
    const auto* values = static_cast<const decltype(type)*>(view.data) + first * view.stride;
    if (view.stride == 1)
      for (std::int64_t row = 0; row < n_rows; ++row) x[row] = static_cast<double>(values[row]);
    else
      for (std::int64_t row = 0; row < n_rows; ++row) x[row] = static_cast<double>(values[row * view.stride]);
  });
}

// NaN fails every comparison: what is asked is whether x is inside where NaN is not, and whether it is not outside
// where NaN is.
void ask_interval(const Condition& condition, const Reals* x, Masks* mask) {
  const auto lower = splat<Reals>(condition.lower), upper = splat<Reals>(condition.upper);
  if (condition.missing)
    for (std::int64_t v = 0; v < kVectors; ++v) mask[v] = ~((x[v] < lower) | (x[v] >= upper));
  else
    for (std::int64_t v = 0; v < kVectors; ++v) mask[v] = (x[v] >= lower) & (x[v] < upper);
}

void ask_levels(const Condition& condition, const std::uint8_t* answers, const double* x, std::int64_t* mask) {
  const std::uint8_t* answer = answers + condition.first_answer + 2;
  for (std::int64_t row = 0; row < kRows; ++row) {
    const auto code = static_cast<std::int64_t>(x[row]);
    mask[row] = answer[code >= -1 && code < condition.n_levels ? code : -2] ? ~std::int64_t{0} : 0;
  }
}

// Adds one output of one rule: the bits of `yes` where all masks hold, those of `no` elsewhere.
template <class Holds>
void add_output(Holds holds, double inside, double outside, Reals* total) {
  const auto no = as_vector<Masks>(splat<Reals>(outside)), yes = as_vector<Masks>(splat<Reals>(inside));
  for (std::int64_t v = 0; v < kVectors; ++v) total[v] += as_vector<Reals>(no ^ (holds(v) & (yes ^ no)));
}

void add_rule(const RuleView& rules, std::int32_t rule, const Masks* masks, Reals* totals) {
  const std::int32_t* part = rules.parts + rules.first_part[rule];
  const std::int32_t n_parts = rules.first_part[rule + 1] - rules.first_part[rule];
  for (std::int32_t k = 0; k < rules.n_outputs; ++k) {
    const double inside = rules.inside[rule * rules.n_outputs + k];
    const double outside = rules.outside[rule * rules.n_outputs + k];
    Reals* total = totals + k * kVectors;
    if (n_parts == 1) {
      const Masks* a = masks + part[0] * kVectors;
      add_output([=](std::int64_t v) { return a[v]; }, inside, outside, total);
    } else if (n_parts == 2) {
      const Masks *a = masks + part[0] * kVectors, *b = masks + part[1] * kVectors;
      add_output([=](std::int64_t v) { return a[v] & b[v]; }, inside, outside, total);
    } else {
      const auto all = [=](std::int64_t v) {
        auto holds = splat<Masks>(std::int64_t{-1});
        for (std::int32_t i = 0; i < n_parts; ++i) holds &= masks[part[i] * kVectors + v];
        return holds;
      };
      add_output(all, inside, outside, total);
    }
  }
}

// NaN fails every comparison, so it is replaced last.
void add_term(const Term& term, const double* slopes, std::int32_t n_outputs, const Reals* x, Reals* totals) {
  const auto lower = splat<Reals>(term.lower), upper = splat<Reals>(term.upper);
  const auto missing = splat<Reals>(term.missing), centre = splat<Reals>(term.centre);
  Reals value[kVectors];
  for (std::int64_t v = 0; v < kVectors; ++v) {
    const Reals held = choose(x[v] < lower, lower, choose(x[v] > upper, upper, x[v]));
    value[v] = choose(x[v] == x[v], held, missing) - centre;
  }
  for (std::int32_t k = 0; k < n_outputs; ++k) {
    const auto slope = splat<Reals>(slopes[k]);
    for (std::int64_t v = 0; v < kVectors; ++v) totals[k * kVectors + v] += slope * value[v];
  }
}

}  // namespace

void evaluate_rows(const RuleView& rules, const ColumnView* views, std::int64_t first, std::int64_t n_rows,
                   const Scratch& scratch, double* sums) {
  const std::int32_t n_outputs = rules.n_outputs;
  double* totals = scratch.totals;
  for (std::int64_t c = 0; c < rules.n_columns; ++c) read_column(views[c], first, n_rows, scratch.values + c * kRows);
  for (std::int64_t c = 0; c < rules.n_conditions; ++c) {
    const Condition& condition = rules.conditions[c];
    const double* values = scratch.values + condition.column * kRows;
    std::int64_t* mask = scratch.masks + c * kRows;
    if (condition.first_answer < 0)
      ask_interval(condition, reinterpret_cast<const Reals*>(values), reinterpret_cast<Masks*>(mask));
    else
      ask_levels(condition, rules.answers, values, mask);
  }
  for (std::int32_t k = 0; k < n_outputs; ++k)
    for (std::int64_t row = 0; row < kRows; ++row) totals[k * kRows + row] = rules.start[k];
  for (std::int32_t rule = 0; rule < rules.n_rules; ++rule)
    add_rule(rules, rule, reinterpret_cast<const Masks*>(scratch.masks), reinterpret_cast<Reals*>(totals));
  for (std::int32_t t = 0; t < rules.n_terms; ++t)
    add_term(rules.terms[t], rules.slopes + t * n_outputs, n_outputs,
             reinterpret_cast<const Reals*>(scratch.values + rules.terms[t].column * kRows),
             reinterpret_cast<Reals*>(totals));
  for (std::int64_t row = 0; row < n_rows; ++row)
    for (std::int32_t k = 0; k < n_outputs; ++k) sums[row * n_outputs + k] = totals[k * kRows + row];
}

bool any_infinite(const ColumnView& view, std::int64_t first, std::int64_t n) {
  bool found = false;
  with_type(view.type, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::numeric_limits<T>::has_infinity) {
      // Masks joined by `or`: a largest value would have to be found one number after the other.
      using Mask = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
      const T* values = static_cast<const T*>(view.data) + first * view.stride;
      constexpr T infinity = std::numeric_limits<T>::infinity();
      const auto is_infinite = [](T x) -> Mask { return x == infinity || x == -infinity ? ~Mask{0} : Mask{0}; };
      Mask any = 0;
      if (view.stride == 1)
        for (std::int64_t i = 0; i < n; ++i) any |= is_infinite(values[i]);
      else
        for (std::int64_t i = 0; i < n; ++i) any |= is_infinite(values[i * view.stride]);
      found = any;
    }
  });
  return found;
}

}  // namespace pysirus::PYSIRUS_ISA
