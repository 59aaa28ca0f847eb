// Non-negative ridge in Gram space: minimise b'(G + penalty I)b - 2 c'b over b >= 0, for every prefix of a list of
// rules. Principal pivoting (Portugal, Judice and Vicente 1994): solve for the weights that are thought positive,
// exchange every weight on the wrong side. A rule more is a row more of the Cholesky factor, so the prefixes of a list
// cost hardly more than the list.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace pysirus {

class Ridge {
 public:
  // `stride` is the row length of gram; both stay where they are while the prefixes grow.
  Ridge(const double* gram, int stride, const double* cross, double penalty)
      : gram_(gram), cross_(cross), stride_(stride), penalty_(penalty), x_(stride), slope_(stride),
        factor_(stride * stride), half_(stride), positive_(stride) {
    index_.reserve(stride);
  }

  // Puts another penalty to the same prefix.
  void set_penalty(double penalty) {
    if (penalty == penalty_) return;
    penalty_ = penalty;
    n_factored_ = 0;
    decompose();
  }

  // Takes one rule more.
  void grow() {
    const int added = size_++;
    slope_[added] = slope(added);
    // A rule that would not help at weight zero stays there, and the others keep their weights.
    if (slope_[added] >= 0.0) return;
    index_.push_back(added);
    decompose();
  }

  int size() const { return size_; }
  const std::vector<int>& positive() const { return index_; }  // rules of positive weight, in no order
  double weight(int rule) const { return x_[rule]; }

 private:
  double slope(int rule) const {
    const double* row = gram_ + rule * stride_;
    double sum = -cross_[rule];
    for (int k : index_) sum += row[k] * x_[k];
    return sum;
  }

  // Solves and exchanges until no weight is on the wrong side. Exchanging all may cycle; after three exchanges without
  // progress only the last is exchanged, which cannot.
  void decompose() {
    double scale = 0.0;
    for (int i = 0; i < size_; ++i) scale = std::fmax(scale, std::fabs(cross_[i]));
    const double tolerance = 1e-12 * scale;
    int fewest = size_ + 1, patience = 3;
    for (int step = 0; step < 100 + 10 * size_; ++step) {
      solve();
      wrong_.clear();
      for (int i = 0; i < size_; ++i) positive_[i] = 0;
      for (int k : index_) positive_[k] = 1;
      for (int i = 0; i < size_; ++i) {
        if (!positive_[i]) slope_[i] = slope(i);
        if (positive_[i] ? x_[i] < 0.0 : slope_[i] < -tolerance) wrong_.push_back(i);
      }
      if (wrong_.empty()) return;
      if (static_cast<int>(wrong_.size()) < fewest) {
        fewest = static_cast<int>(wrong_.size());
        patience = 3;
      } else if (patience-- <= 0) {
        wrong_.erase(wrong_.begin(), wrong_.end() - 1);
      }
      exchange();
    }
    for (int k : index_) x_[k] = std::fmax(x_[k], 0.0);
  }

  // Rules that leave take the rows of the factor behind them along; rules that enter go to the end.
  void exchange() {
    for (int i : wrong_) positive_[i] ^= 1;
    std::size_t kept = 0;
    for (std::size_t at = 0; at < index_.size(); ++at) {
      if (positive_[index_[at]]) {
        index_[kept++] = index_[at];
      } else {
        x_[index_[at]] = 0.0;
        n_factored_ = std::min(n_factored_, kept);
      }
    }
    index_.resize(kept);
    for (int i : wrong_)
      if (positive_[i]) index_.push_back(i);
  }

  // x on the positive set; rows of the factor that are there already are kept. The diagonal holds inverses.
  void solve() {
    const std::size_t m = index_.size(), stride = static_cast<std::size_t>(stride_);
    for (std::size_t i = n_factored_; i < m; ++i) {
      const double* row = gram_ + index_[i] * stride_;
      double* l = factor_.data() + i * stride;
      double rest = cross_[index_[i]], diagonal = row[index_[i]] + penalty_;
      for (std::size_t j = 0; j < i; ++j) {
        const double* lj = factor_.data() + j * stride;
        double sum = row[index_[j]];
        for (std::size_t k = 0; k < j; ++k) sum -= l[k] * lj[k];
        l[j] = sum * lj[j];
        rest -= l[j] * half_[j];
        diagonal -= l[j] * l[j];
      }
      l[i] = 1.0 / std::sqrt(diagonal);
      half_[i] = rest * l[i];
    }
    n_factored_ = m;
    solution_.assign(half_.begin(), half_.begin() + static_cast<std::ptrdiff_t>(m));
    for (std::size_t i = m; i-- > 0;) {
      const double* l = factor_.data() + i * stride;
      const double value = solution_[i] *= l[i];
      for (std::size_t k = 0; k < i; ++k) solution_[k] -= l[k] * value;
    }
    for (std::size_t i = 0; i < m; ++i) x_[index_[i]] = solution_[i];
  }

  const double *gram_, *cross_;
  int stride_, size_ = 0;
  double penalty_;
  std::size_t n_factored_ = 0;
  std::vector<double> x_, slope_, factor_, half_, solution_;
  std::vector<unsigned char> positive_;
  std::vector<int> index_, wrong_;
};

// Covariances of rule outputs with each other and with the response; [fold][rule][rule] and [fold][rule]. `test_*` are
// sums over the fold's own rows of deviations from the means of the other folds, divided by the size of all folds.
struct RidgeFolds {
  std::int32_t n_rules, n_folds;
  const double *train_gram, *train_cross, *test_gram, *test_cross, *test_square;
};

// errors[size][penalty]: the cross-validated mean squared error of the first 1, 2, ... rules; penalties[size][penalty].
inline void ridge_errors(const RidgeFolds& folds, const double* penalties, int n_penalties, double* errors) {
  const std::int64_t n = folds.n_rules;
  for (std::int64_t i = 0; i < n * n_penalties; ++i) errors[i] = 0.0;
  for (std::int32_t fold = 0; fold < folds.n_folds; ++fold) {
    const double* test_gram = folds.test_gram + fold * n * n;
    const double* test_cross = folds.test_cross + fold * n;
    for (int p = 0; p < n_penalties; ++p) {
      Ridge ridge(folds.train_gram + fold * n * n, folds.n_rules, folds.train_cross + fold * n, penalties[p]);
      for (std::int64_t size = 1; size <= n; ++size) {
        ridge.set_penalty(penalties[(size - 1) * n_penalties + p]);
        ridge.grow();
        double error = folds.test_square[fold];
        for (int i : ridge.positive()) {
          double product = -2.0 * test_cross[i];
          for (int j : ridge.positive()) product += test_gram[i * n + j] * ridge.weight(j);
          error += ridge.weight(i) * product;
        }
        errors[(size - 1) * n_penalties + p] += error;
      }
    }
  }
}

}  // namespace pysirus
