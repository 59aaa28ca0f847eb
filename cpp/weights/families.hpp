// Patterns and their scores in, sums of loss, slopes and curvatures out: one score with any loss, or softmax with a
// score a class. The gap of a rule is its output inside less its output outside; the constant part goes to the
// intercepts.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "weights/losses.hpp"
#include "weights/nonnegative.hpp"
#include "weights/patterns.hpp"
#include "weights/row_sums.hpp"

namespace pysirus {

// The terms of a pattern that are not 0, as places after `first` ones, and their values: 1 for a rule.
inline std::int64_t list_terms(const Prefix& prefix, std::int64_t pattern, std::int32_t first, std::int32_t* places,
                               double* values) {
  const std::int64_t n_lines = prefix.n_lines();
  const std::uint8_t* bytes = prefix.bytes.data() + pattern * prefix.n_bytes;
  std::int64_t n = 0, line = 0;
  const auto add_lines = [&](std::int32_t before) {
    for (; line < n_lines && prefix.lines[line] < before; ++line)
      if (const double value = prefix.values[pattern * n_lines + line]; value != 0.0) {
        places[n] = first + prefix.lines[line];
        values[n++] = value;
      }
  };
  for (std::int32_t b = 0; b < prefix.n_bytes; ++b)
    for (unsigned left = bytes[b]; left; left &= left - 1) {
      const std::int32_t rule = 8 * b + std::countr_zero(left);
      add_lines(rule);
      places[n] = first + rule;
      values[n++] = 1.0;
    }
  add_lines(prefix.n_rules);
  return n;
}

// The numbers 0 or 1 of the bits of every byte.
struct BitNumbers {
  double of[256][8];
  BitNumbers() {
    for (unsigned byte = 0; byte < 256; ++byte)
      for (unsigned bit = 0; bit < 8; ++bit) of[byte][bit] = byte >> bit & 1;
  }
};

// The values of all terms of a pattern, from `row` on: whole bytes of rules, so up to eight zeros more.
inline void fill_terms(const Prefix& prefix, std::int64_t pattern, double* row) {
  static const BitNumbers numbers;
  const std::uint8_t* bytes = prefix.bytes.data() + pattern * prefix.n_bytes;
  for (std::int32_t b = 0; b < prefix.n_bytes; ++b) std::copy_n(numbers.of[bytes[b]], 8, row + 8 * b);
  const std::int64_t n_lines = prefix.n_lines();
  for (std::int64_t line = 0; line < n_lines; ++line) row[prefix.lines[line]] = prefix.values[pattern * n_lines + line];
}

template <Loss L>
struct OneScore {
  static constexpr bool kQuadratic = L::kQuadratic;
  L loss{};
  std::int32_t n_scores() const { return 1; }

  std::vector<double> constant(double weight, const std::vector<double>& sum) const {
    return {loss.link(sum[0] / weight)};
  }

  // Whether rows have a finite intercept, given how many of their cells have a response, and how many one below 1.
  bool has_minimum(const std::int64_t* shown) const { return loss.has_minimum(shown[0] > 0, shown[1] > 0); }

  // The loss at some scores, at most Curves::kMost.
  void curves(const double* eta, std::int64_t n, Curves& to) const {
    weight_kernel_here().curves(L::kName, power(), eta, n, to);
  }

  // Loss of each cell at a score of its own.
  void values(const Prefix& prefix, const double* eta, double* value) const {
    weight_kernel_here().values(L::kName, power(), eta, prefix.weight.data(), prefix.sum.data(),
                                static_cast<std::int64_t>(prefix.weight.size()), value);
  }

  // Adds up the cells of each pattern into the model that `target` names for their fold, none if it is negative. The
  // intercept is a rule that always holds.
  template <bool kCurvature>
  void add_up(const Prefix& prefix, const double* eta, const std::vector<double>& gap,
              const std::vector<std::int32_t>& target, std::vector<Quadratic>& models,
              std::vector<RowSums>& row_sums) const {
    if constexpr (!kCurvature) return add_slopes(prefix, eta, gap, target, models);
    const std::int64_t n = prefix.n_rules + 1;
    row_sums.resize(models.size());
    for (RowSums& own : row_sums) own.reset(n);
    for_each_cell(prefix, eta, target, models,
                  [&](std::int64_t pattern, std::int32_t at, double slope, double curvature) {
                    double* row = row_sums[at].next();
                    row[0] = 1.0;
                    fill_terms(prefix, pattern, row + 1);
                    row_sums[at].add(slope, curvature);
                  });
    for (std::size_t at = 0; at < models.size(); ++at) {
      Quadratic& model = models[at];
      row_sums[at].finish(model);
      for (std::int64_t i = 1; i < n; ++i) {
        model.slope[i] *= gap[i - 1];
        model.curvature[i * n] *= gap[i - 1];
        for (std::int64_t j = 1; j <= i; ++j) model.curvature[i * n + j] *= gap[i - 1] * gap[j - 1];
      }
    }
  }

 private:
  double power() const {
    if constexpr (requires { loss.power; }) return loss.power;
    return 0.0;
  }

  // Calls add(pattern, model, slope, curvature) for every cell that goes to a model, and adds its size and its loss to it.
  template <class Add>
  void for_each_cell(const Prefix& prefix, const double* eta, const std::vector<std::int32_t>& target,
                     std::vector<Quadratic>& models, const Add& add) const {
    if (models.size() == 1)
      for_each_cell_of<true>(prefix, eta, target, models, add);
    else
      for_each_cell_of<false>(prefix, eta, target, models, add);
  }

  // `kOne`: of one model, whose sums stay in registers.
  template <bool kOne, class Add>
  [[gnu::always_inline]]
  void for_each_cell_of(const Prefix& prefix, const double* eta, const std::vector<std::int32_t>& target,
                        std::vector<Quadratic>& models, const Add& add) const {
    Curves found;
    double size = models[0].size, value = models[0].value;
    for (std::int64_t start = 0; start < prefix.size(); start += Curves::kMost) {
      const std::int64_t end = std::min(prefix.size(), start + Curves::kMost);
      curves(eta + start, end - start, found);
      for (std::int64_t i = start; i < end; ++i) {
        const std::int64_t k = i - start;
        for (std::int64_t cell = prefix.first_cell[i]; cell < prefix.first_cell[i + 1]; ++cell) {
          const std::int32_t at = target[prefix.fold[cell]];
          if (at < 0) continue;
          const double weight = prefix.weight[cell], sum = prefix.sum[cell];
          (kOne ? size : models[at].size) += weight;
          (kOne ? value : models[at].value) += weight * found.a[k] + sum * found.b[k];
          add(i, at, weight * found.a1[k] + sum * found.b1[k], weight * found.a2[k] + sum * found.b2[k]);
        }
      }
    }
    if constexpr (kOne) models[0].size = size, models[0].value = value;
  }

  // Slopes without curvatures: those of the rules are added up by the bytes of patterns, and taken apart at the end.
  void add_slopes(const Prefix& prefix, const double* eta, const std::vector<double>& gap,
                  const std::vector<std::int32_t>& target, std::vector<Quadratic>& models) const {
    const std::int64_t n_lines = prefix.n_lines(), n_bytes = prefix.n_bytes;
    std::vector<double> tables(models.size() * static_cast<std::size_t>(n_bytes) * 256);
    const bool one = models.size() == 1;
    double of_one = models[0].slope[0];
    for_each_cell(prefix, eta, target, models, [&](std::int64_t i, std::int32_t at, double slope, double) {
      double *own = models[at].slope.data(), *table = tables.data() + at * n_bytes * 256;
      (one ? of_one : own[0]) += slope;
      for (std::int64_t b = 0; b < n_bytes; ++b) table[b * 256 + prefix.bytes[i * n_bytes + b]] += slope;
      for (std::int64_t l = 0; l < n_lines; ++l) own[1 + prefix.lines[l]] += slope * prefix.values[i * n_lines + l];
    });
    if (one) models[0].slope[0] = of_one;
    const double* table = tables.data();
    for (Quadratic& model : models) {
      for (std::int64_t b = 0; b < n_bytes; ++b, table += 256)
        for (unsigned byte = 1; byte < 256; ++byte)
          for (unsigned left = byte; left; left &= left - 1)
            if (const std::int64_t rule = 8 * b + std::countr_zero(left); rule < prefix.n_rules)
              model.slope[1 + rule] += table[byte];
      for (std::int64_t i = 0; i < prefix.n_rules; ++i) model.slope[1 + i] *= gap[i];
    }
  }
};

struct Softmax {
  static constexpr bool kQuadratic = false;
  std::int32_t n_classes;
  std::int32_t n_scores() const { return n_classes; }

  // Logarithms of the shares, less their mean.
  std::vector<double> constant(double weight, const std::vector<double>& sum) const {
    std::vector<double> score;
    double mean = 0.0;
    for (const double s : sum) {
      score.push_back(own_log(std::max(s / weight, kSmallestShare)));
      mean += score.back();
    }
    for (double& s : score) s -= mean / n_classes;
    return score;
  }

  // Whether every class is there.
  bool has_minimum(const std::int64_t* shown) const {
    return std::all_of(shown, shown + n_classes, [](std::int64_t n) { return n > 0; });
  }

  // Shares e^eta / sum, and the logarithm of the sum.
  double shares(const double* eta, double* p) const {
    double top = eta[0], sum = 0.0;
    for (std::int32_t c = 1; c < n_classes; ++c) top = std::max(top, eta[c]);
    for (std::int32_t c = 0; c < n_classes; ++c) p[c] = own_exp(eta[c] - top);
    for (std::int32_t c = 0; c < n_classes; ++c) sum += p[c];
    const double inverse = 1.0 / sum;
    for (std::int32_t c = 0; c < n_classes; ++c) p[c] *= inverse;
    return top + own_log(sum);
  }

  void values(const Prefix& prefix, const double* eta, double* value) const {
    std::vector<double> p(n_classes);
    for (std::size_t i = 0; i < prefix.weight.size(); ++i) {
      const double *own = eta + i * n_classes, *sum = prefix.sum.data() + i * n_classes;
      double total = prefix.weight[i] * shares(own, p.data());
      for (std::int32_t c = 0; c < n_classes; ++c) total -= sum[c] * own[c];
      value[i] = total;
    }
  }

  template <bool kCurvature>
  void add_up(const Prefix& prefix, const double* eta, const std::vector<double>& gap,
              const std::vector<std::int32_t>& target, std::vector<Quadratic>& models, std::vector<RowSums>&) const {
    const std::int64_t C = n_classes;
    std::vector<double> p(C), hessian(prefix.n_rules * C), pair, slope(C), value(prefix.n_rules), step;
    std::vector<std::int32_t> place(prefix.n_rules);
    for (std::int64_t i = 0; i < prefix.size(); ++i) {
      const double log_sum = shares(eta + i * C, p.data());
      const std::int64_t m = list_terms(prefix, i, 0, place.data(), value.data());
      step.resize(m * C);
      for (std::int64_t k = 0; k < m; ++k)
        for (std::int64_t c = 0; c < C; ++c) step[k * C + c] = value[k] * gap[place[k] * C + c];
      if constexpr (kCurvature) hessian_products(p, step, m, hessian, pair);
      for (std::int64_t cell = prefix.first_cell[i]; cell < prefix.first_cell[i + 1]; ++cell) {
        const std::int32_t at = target[prefix.fold[cell]];
        if (at < 0) continue;
        Quadratic& model = models[at];
        const double weight = prefix.weight[cell], *sum = prefix.sum.data() + cell * C;
        model.size += weight;
        model.value += weight * log_sum;
        for (std::int64_t c = 0; c < C; ++c) {
          slope[c] = weight * p[c] - sum[c];
          model.value -= sum[c] * eta[i * C + c];
          model.slope[c] += slope[c];
          if constexpr (!kCurvature) continue;
          double* row = model.curvature.data() + c * model.n;
          row[c] += weight * p[c];
          for (std::int64_t d = 0; d <= c; ++d) row[d] -= weight * p[c] * p[d];
        }
        add_rules<kCurvature>(weight, slope, step, place.data(), m, hessian, pair, model);
      }
    }
  }

 private:
  // With M = diag(p) - p p': M step for each term of a pattern, its step being its value times its gap, and
  // step' M step for each pair of them.
  void hessian_products(const std::vector<double>& p, const std::vector<double>& step, std::int64_t m,
                        std::vector<double>& hessian, std::vector<double>& pair) const {
    const std::int64_t C = n_classes;
    pair.clear();
    for (std::int64_t i = 0; i < m; ++i) {
      const double* own = step.data() + i * C;
      double mean = 0.0;
      for (std::int64_t c = 0; c < C; ++c) mean += p[c] * own[c];
      for (std::int64_t c = 0; c < C; ++c) hessian[i * C + c] = p[c] * (own[c] - mean);
      for (std::int64_t j = 0; j <= i; ++j) {
        const double* other = step.data() + j * C;
        double sum = 0.0;
        for (std::int64_t c = 0; c < C; ++c) sum += hessian[i * C + c] * other[c];
        pair.push_back(sum);
      }
    }
  }

  template <bool kCurvature>
  void add_rules(double weight, const std::vector<double>& slope, const std::vector<double>& step,
                 const std::int32_t* place, std::int64_t m, const std::vector<double>& hessian,
                 const std::vector<double>& pair, Quadratic& model) const {
    const std::int64_t C = n_classes;
    const double* next = pair.data();
    for (std::int64_t i = 0; i < m; ++i) {
      double along = 0.0;
      for (std::int64_t c = 0; c < C; ++c) along += step[i * C + c] * slope[c];
      model.slope[C + place[i]] += along;
      if constexpr (!kCurvature) continue;
      double* row = model.curvature.data() + (C + place[i]) * model.n;
      for (std::int64_t c = 0; c < C; ++c) row[c] += weight * hessian[i * C + c];
      for (std::int64_t j = 0; j <= i; ++j) row[C + place[j]] += weight * *next++;
    }
  }
};

}  // namespace pysirus
