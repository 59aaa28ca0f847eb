// Non-negative ridge in Gram space: minimise b'(G + penalty I)b - 2 c'b over b >= 0, for many penalties, folds and
// prefixes of one list of rules. Block principal pivoting (Portugal, Judice and Vicente 1994): guess which weights are
// positive, solve for them, exchange every weight on the wrong side; neighbouring problems share their guess.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace pysirus {

class Ridge {
 public:
  explicit Ridge(int max_rules) : x_(max_rules), slope_(max_rules), positive_(max_rules, 1), factor_(max_rules * max_rules) {}

  // Solves the leading n x n problem; `stride` is the row length of gram. The previous solution's guess is the start.
  const double* solve(const double* gram, int stride, const double* cross, int n, double penalty) {
    double scale = 0.0;
    for (int i = 0; i < n; ++i) scale = std::fmax(scale, std::fabs(cross[i]));
    const double tolerance = 1e-12 * scale;
    int fewest = n + 1, patience = 3;
    for (int step = 0; step < 100 + 10 * n; ++step) {
      solve_positive(gram, stride, cross, n, penalty);
      int n_wrong = 0, last_wrong = -1;
      for (int i = 0; i < n; ++i)
        if (is_wrong(i, tolerance)) {
          ++n_wrong;
          last_wrong = i;
        }
      if (n_wrong == 0) break;
      // Exchanging all may cycle; after three exchanges without progress the last alone is exchanged, which cannot.
      if (n_wrong < fewest) {
        fewest = n_wrong;
        patience = 3;
      } else if (patience > 0) {
        --patience;
      } else {
        positive_[last_wrong] ^= 1;
        continue;
      }
      for (int i = 0; i < n; ++i)
        if (is_wrong(i, tolerance)) positive_[i] ^= 1;
    }
    for (int i = 0; i < n; ++i) x_[i] = positive_[i] ? std::fmax(x_[i], 0.0) : 0.0;
    return x_.data();
  }

  void restart() { positive_.assign(positive_.size(), 1); }

 private:
  bool is_wrong(int i, double tolerance) const { return positive_[i] ? x_[i] < 0.0 : slope_[i] < -tolerance; }

  // x on the positive set by Cholesky; the slope of the objective elsewhere.
  void solve_positive(const double* gram, int stride, const double* cross, int n, double penalty) {
    index_.clear();
    for (int i = 0; i < n; ++i)
      if (positive_[i]) index_.push_back(i);
    const int m = static_cast<int>(index_.size());
    z_.resize(m);
    for (int i = 0; i < m; ++i) {
      const double* row = gram + index_[i] * stride;
      double* l = factor_.data() + i * m;
      double rest = cross[index_[i]];
      for (int j = 0; j < i; ++j) {
        const double* lj = factor_.data() + j * m;
        double sum = row[index_[j]];
        for (int k = 0; k < j; ++k) sum -= l[k] * lj[k];
        l[j] = sum * lj[j];
        rest -= l[j] * z_[j];
      }
      double diagonal = row[index_[i]] + penalty;
      for (int k = 0; k < i; ++k) diagonal -= l[k] * l[k];
      l[i] = 1.0 / std::sqrt(diagonal);  // the inverse, to multiply with
      z_[i] = rest * l[i];
    }
    for (int i = m - 1; i >= 0; --i) {
      double sum = z_[i];
      for (int k = i + 1; k < m; ++k) sum -= factor_[k * m + i] * z_[k];
      z_[i] = sum * factor_[i * m + i];
    }
    for (int i = 0; i < m; ++i) x_[index_[i]] = z_[i];
    for (int i = 0; i < n; ++i) {
      if (positive_[i]) continue;
      double slope = -cross[i];
      for (int k = 0; k < m; ++k) slope += gram[i * stride + index_[k]] * z_[k];
      slope_[i] = slope;
    }
  }

  std::vector<double> x_, slope_;
  std::vector<unsigned char> positive_;
  std::vector<double> factor_, z_;
  std::vector<int> index_;
};

// Covariances of rule outputs with each other and with the response; [fold][rule][rule] and [fold][rule]. `test_*` are
// sums over the fold's own rows of deviations from the means of the other folds, weights sum to one over all folds.
struct RidgeFolds {
  std::int32_t n_rules, n_folds;
  const double *train_gram, *train_cross, *test_gram, *test_cross, *test_square;
};

// errors[penalty]: the cross-validated mean squared error of the first `size` rules. Penalties fall.
inline void ridge_errors(const RidgeFolds& folds, Ridge& ridge, int size, const double* penalties, int n_penalties,
                         double* errors) {
  const std::int64_t n = folds.n_rules;
  for (int k = 0; k < n_penalties; ++k) errors[k] = 0.0;
  for (std::int32_t fold = 0; fold < folds.n_folds; ++fold) {
    ridge.restart();
    const double* test_gram = folds.test_gram + fold * n * n;
    const double* test_cross = folds.test_cross + fold * n;
    for (int k = 0; k < n_penalties; ++k) {
      const double* x = ridge.solve(folds.train_gram + fold * n * n, folds.n_rules, folds.train_cross + fold * n, size,
                                    penalties[k]);
      double error = folds.test_square[fold];
      for (int i = 0; i < size; ++i) {
        if (x[i] == 0.0) continue;
        double product = -2.0 * test_cross[i];
        for (int j = 0; j < size; ++j) product += test_gram[i * n + j] * x[j];
        error += x[i] * product;
      }
      errors[k] += error;
    }
  }
}

}  // namespace pysirus
