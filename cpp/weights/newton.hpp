// A loss in, its minimum over weights >= 0 out, by Newton's method. The loss gives its value, slopes and curvatures at a
// point (`add_up`; `add_up_slopes` without curvatures), the number of its intercepts, which come first in a point (`n_scores`), and the largest change of a
// score between two points (`change`).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "weights/nonnegative.hpp"

namespace pysirus {

// A point that goes down to the minimum by Newton steps. A step that changes a score by more than kLongest is
// shortened, and halved while the loss does not fall. The first `n_held` weights stay what they are.
template <class Loss>
class Descent {
 public:
  static constexpr double kLongest = 2.0, kSure = 1e-3;

  explicit Descent(Loss at, std::int64_t n_held = 0) : loss(std::move(at)), n_held_(n_held) {}

  void start(std::vector<double> point) {
    point_ = std::move(point);
    loss.add_up(point_, total_);
  }

  void hold(std::int64_t n_held) { n_held_ = n_held; }

  // Where the next step leads; the largest change of a score that it would make, or what it is sure not to exceed.
  template <bool kBound = false>
  double propose(double penalty) {
    step_.take(total_, loss.n_scores(), penalty, point_, next_, n_held_);
    if constexpr (kBound)
      if (const double most = loss.most_change(point_, next_); most < kSure) return most;
    return loss.change(point_, next_);
  }

  // Takes the step that was proposed, or the part of it that lowers the loss. Where `kKeeps`, curvatures stay those of
  // where it came from.
  template <bool kKeeps = false>
  void accept(double penalty, double change) {
    const std::vector<double> from = point_;
    const double before = objective(penalty);
    double share = change > kLongest ? kLongest / change : 1.0;
    for (int halving = 0; halving < 60; ++halving, share *= 0.5) {
      for (std::size_t i = 0; i < from.size(); ++i)
        point_[i] = share == 1.0 ? next_[i] : from[i] + share * (next_[i] - from[i]);
      if constexpr (kKeeps)
        loss.add_up_slopes(point_, total_);
      else
        loss.add_up(point_, total_);
      if (change < kSure || objective(penalty) <= before + 1e-13 * std::fabs(before)) break;  // but for rounding
    }
  }

  template <bool kKeeps = false>
  double advance(double penalty) {
    const double change = propose<kKeeps>(penalty);
    accept<kKeeps>(penalty, change);
    return change;
  }

  // Steps until nothing is left to follow but rounding; gives what is left, in units of `steepest`. Where `kKeeps`,
  // curvatures are added up again only where those of a point before lead too slowly: each step that they serve costs a
  // quarter on a list of twenty terms.
  template <bool kKeeps = false>
  double minimise(double penalty, double steepest) {
    constexpr double kFast = 0.03;
    double last = std::numeric_limits<double>::infinity();
    for (int step = 0; step < 200; ++step) {
      const double gradient_norm = this->gradient_norm(penalty) / steepest;
      if (gradient_norm <= 1e-14 || (gradient_norm <= 1e-11 && gradient_norm > 0.1 * last)) break;
      if (kKeeps && step > 0 && gradient_norm > kFast * last) loss.add_up(point_, total_);
      last = gradient_norm;
      advance<kKeeps>(penalty);
    }
    return gradient_norm(penalty) / steepest;
  }

  // Goes on from where another descent over the same rows has looked.
  void follow(const Descent& other) {
    point_ = other.point_;
    total_ = other.total_;
  }

  const std::vector<double>& point() const { return point_; }
  const std::vector<double>& proposed() const { return next_; }
  const Quadratic& total() const { return total_; }

  Loss loss;

 private:
  double objective(double penalty) const {
    double squares = 0.0;
    for (std::size_t i = loss.n_scores() + n_held_; i < point_.size(); ++i) squares += point_[i] * point_[i];
    return total_.value / total_.size + 0.5 * penalty * squares;
  }

  // How far the point is from a minimum: the largest slope that it could follow.
  double gradient_norm(double penalty) const {
    const std::int64_t n_scores = loss.n_scores();
    double most = 0.0;
    for (std::int64_t i = 0; i < total_.n; ++i) {
      if (i >= n_scores && i < n_scores + n_held_) continue;
      double slope = total_.slope[i] / total_.size;
      if (i >= n_scores) {
        slope += penalty * point_[i];
        if (point_[i] <= 0.0) slope = std::min(slope, 0.0);
      }
      most = std::max(most, std::fabs(slope));
    }
    return most;
  }

  std::int64_t n_held_;
  Quadratic total_;
  NewtonStep step_;
  std::vector<double> point_, next_;
};

struct Fitted {
  std::vector<double> point;   // intercepts [score], then weights [rule]
  std::vector<double> losses;  // [penalty] cross-validated mean loss; zeros where there is nothing to choose
  double penalty = 0.0;
  double gradient_norm = 0.0;  // the largest slope left, relative to those at the constant
};

}  // namespace pysirus
