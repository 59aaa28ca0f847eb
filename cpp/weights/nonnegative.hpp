// A quadratic model of a penalised loss in, its minimum out: free intercepts, weights that are not negative.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace pysirus {

// Upper Cholesky factor of a symmetric matrix [n][n] in its upper triangle, row by row; pivots below `least` are
// raised to it. Each row is subtracted from those below as a whole, so that the inner loop has no order to keep.
inline void factorise(double* a, std::int64_t n, double least) {
  for (std::int64_t j = 0; j < n; ++j) {
    double* row = a + j * n;
    const double inverse = 1.0 / std::sqrt(std::max(row[j], least));
    row[j] = inverse;  // the diagonal holds inverses
    for (std::int64_t k = j + 1; k < n; ++k) row[k] *= inverse;
    for (std::int64_t i = j + 1; i < n; ++i) {
      const double factor = row[i];
      double* other = a + i * n;
      for (std::int64_t k = i; k < n; ++k) other[k] -= factor * row[k];
    }
  }
}

// Solves with the factor, in place.
inline void solve_factored(const double* a, std::int64_t n, double* x) {
  for (std::int64_t j = 0; j < n; ++j) {
    const double value = x[j] *= a[j * n + j];
    for (std::int64_t k = j + 1; k < n; ++k) x[k] -= a[j * n + k] * value;
  }
  for (std::int64_t j = n; j-- > 0;) {
    double value = x[j];
    for (std::int64_t k = j + 1; k < n; ++k) value -= a[j * n + k] * x[k];
    x[j] = value * a[j * n + j];
  }
}

// Minimises x'(G + penalty I)x / 2 - c'x over x >= 0. Principal pivoting as in ridge.hpp, from the set of positive
// weights that x comes with.
class NonNegative {
 public:
  void solve(const double* gram, const double* cross, std::int64_t n, double penalty, double* x) {
    double scale = 0.0;
    positive_.assign(n, 0);
    for (std::int64_t i = 0; i < n; ++i) {
      positive_[i] = x[i] > 0.0;
      scale = std::max(scale, std::fabs(cross[i]));
    }
    std::int64_t fewest = n + 1, patience = 3;
    for (std::int64_t step = 0; step < 100 + 10 * n; ++step) {
      solve_set(gram, cross, n, penalty, x);
      const std::int64_t n_wrong = find_wrong(gram, cross, n, 1e-13 * scale, x);
      if (n_wrong == 0) return;
      if (n_wrong < fewest) {
        fewest = n_wrong;
        patience = 3;
      } else if (patience-- <= 0) {
        wrong_.erase(wrong_.begin(), wrong_.end() - 1);  // one at a time cannot go round in circles
      }
      for (const std::int64_t i : wrong_) positive_[i] ^= 1;
    }
    for (std::int64_t i = 0; i < n; ++i) x[i] = std::max(x[i], 0.0);
  }

 private:
  void solve_set(const double* gram, const double* cross, std::int64_t n, double penalty, double* x) {
    index_.clear();
    for (std::int64_t i = 0; i < n; ++i)
      if (positive_[i]) index_.push_back(i);
    const auto m = static_cast<std::int64_t>(index_.size());
    factor_.resize(m * m);
    part_.resize(m);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t k = i; k < m; ++k) factor_[i * m + k] = gram[index_[i] * n + index_[k]];
      factor_[i * m + i] += penalty;
      part_[i] = cross[index_[i]];
    }
    factorise(factor_.data(), m, 1e-300);
    solve_factored(factor_.data(), m, part_.data());
    std::fill(x, x + n, 0.0);
    for (std::int64_t i = 0; i < m; ++i) x[index_[i]] = part_[i];
  }

  // Weights below zero, and weights at zero that should rise.
  std::int64_t find_wrong(const double* gram, const double* cross, std::int64_t n, double tolerance, const double* x) {
    wrong_.clear();
    for (std::int64_t i = 0; i < n; ++i) {
      if (positive_[i]) {
        if (x[i] < 0.0) wrong_.push_back(i);
        continue;
      }
      double slope = -cross[i];
      for (const std::int64_t k : index_) slope += gram[i * n + k] * x[k];
      if (slope < -tolerance) wrong_.push_back(i);
    }
    return static_cast<std::int64_t>(wrong_.size());
  }

  std::vector<unsigned char> positive_;
  std::vector<std::int64_t> index_, wrong_;
  std::vector<double> factor_, part_;
};

// Loss, slopes and curvatures of some rows at a point: the intercepts (one a score) come first, then the weights.
struct Quadratic {
  std::int64_t n = 0;  // coefficients
  double size = 0.0, value = 0.0;
  std::vector<double> slope;      // [n]
  std::vector<double> curvature;  // [n][n], lower triangle

  void reset(std::int64_t n_coefficients) {
    reset_slopes(n_coefficients);
    curvature.assign(n * n, 0.0);
  }
  void add(const Quadratic& other, double sign) {
    add_slopes(other, sign);
    for (std::int64_t i = 0; i < n * n; ++i) curvature[i] += sign * other.curvature[i];
  }
  // The same but for the curvatures, which stay what they are.
  void reset_slopes(std::int64_t n_coefficients) {
    n = n_coefficients;
    size = value = 0.0;
    slope.assign(n, 0.0);
  }
  void add_slopes(const Quadratic& other, double sign) {
    size += sign * other.size;
    value += sign * other.value;
    for (std::int64_t i = 0; i < n; ++i) slope[i] += sign * other.slope[i];
  }
};

// The Newton step of mean loss + penalty / 2 * squared weights, kept within weights that are not negative.
class NewtonStep {
 public:
  // From `point` to `to`; the model is that of the mean loss times its size. With several scores the intercepts add
  // up to zero: a curvature along (1, ..., 1), where the loss has none, keeps them there. The first `n_held` weights
  // stay what they are.
  void take(const Quadratic& model, std::int64_t n_scores, double penalty, const std::vector<double>& point,
            std::vector<double>& to, std::int64_t n_held = 0) {
    const std::int64_t k = model.n - n_scores, m = k - n_held;
    reduce(model, n_scores);
    const double* w = point.data() + n_scores;
    for (std::int64_t i = n_held; i < k; ++i) {
      double sum = -reduced_slope_[i];
      for (std::int64_t j = n_held; j < k; ++j) sum += gram_[i * k + j] * w[j];
      cross_[i] = sum;
    }
    to = point;
    if (n_held > 0) {
      part_.resize(m * m);
      for (std::int64_t i = 0; i < m; ++i)
        std::copy_n(gram_.data() + (n_held + i) * k + n_held, m, part_.data() + i * m);
    }
    const double* gram = n_held > 0 ? part_.data() : gram_.data();
    solver_.solve(gram, cross_.data() + n_held, m, penalty, to.data() + n_scores + n_held);
    for (std::int64_t c = 0; c < n_scores; ++c) {
      double change = -free_[c];
      for (std::int64_t i = 0; i < k; ++i) change -= answer_[i * n_scores + c] * (to[n_scores + i] - w[i]);
      to[c] = point[c] + change;
    }
  }

  // The curvatures of the weights where the intercepts follow: those that the penalty is measured in.
  const std::vector<double>& reduce(const Quadratic& model, std::int64_t n_scores) {
    const std::int64_t n = model.n, k = n - n_scores, C = n_scores;
    const double unit = 1.0 / model.size;
    top_.assign(C * C, 0.0);
    double trace = 0.0;
    for (std::int64_t c = 0; c < C; ++c) trace += model.curvature[c * n + c] * unit;
    for (std::int64_t c = 0; c < C; ++c)
      for (std::int64_t d = c; d < C; ++d)
        top_[c * C + d] = model.curvature[d * n + c] * unit + (C > 1 ? trace / static_cast<double>(C) : 0.0);
    factorise(top_.data(), C, std::max(1e-15 * trace, 1e-300));
    free_.resize(C);
    for (std::int64_t c = 0; c < C; ++c) free_[c] = model.slope[c] * unit;
    solve_factored(top_.data(), C, free_.data());
    answer_.resize(k * C);
    reduced_slope_.resize(k);
    cross_.resize(k);
    gram_.resize(k * k);
    for (std::int64_t i = 0; i < k; ++i) {
      double* answer = answer_.data() + i * C;
      const double* row = model.curvature.data() + (C + i) * n;
      for (std::int64_t c = 0; c < C; ++c) answer[c] = row[c] * unit;
      solve_factored(top_.data(), C, answer);
      double slope = model.slope[C + i] * unit;
      for (std::int64_t c = 0; c < C; ++c) slope -= row[c] * unit * free_[c];
      reduced_slope_[i] = slope;
    }
    for (std::int64_t i = 0; i < k; ++i) {
      const double* row = model.curvature.data() + (C + i) * n;
      for (std::int64_t j = 0; j <= i; ++j) {
        double value = row[C + j] * unit;
        for (std::int64_t c = 0; c < C; ++c) value -= row[c] * unit * answer_[j * C + c];
        gram_[i * k + j] = gram_[j * k + i] = value;
      }
    }
    return gram_;
  }

 private:
  NonNegative solver_;
  std::vector<double> top_, free_, answer_, reduced_slope_, cross_, gram_, part_;
};

}  // namespace pysirus
