// Cells of rules in, weights by Cox's penalised partial likelihood out: minimise minus the log-likelihood by weight of
// events, plus penalty / 2 times the squared weights, over weights >= 0. There is no intercept. The penalty is that of
// the largest cross-validated partial likelihood over a grid: l(all) - l(training) at the weights of each training part
// (Verweij and van Houwelingen 1993), since the rows of a fold alone have other risk sets. Each size of list is fitted by
// itself, in a fixed order: threads and other sizes change no bit. The first weights may be held at 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "weights/cox.hpp"
#include "weights/likelihood.hpp"

namespace pysirus {

// A point that goes down to the minimum by Newton steps, shortened and halved as in Descent.
class CoxDescent {
 public:
  static constexpr double kLongest = 2.0, kSure = 1e-3;

  CoxDescent(const CoxPrefix& prefix, const CoxTable& table, const std::vector<double>& gap, std::int32_t without,
             std::int32_t n_held)
      : prefix_(prefix), gap_(gap), n_held_(n_held), likelihood_(prefix, table, gap, without) {}

  void start(std::vector<double> point) {
    point_ = std::move(point);
    evaluate();
  }

  // Where the next step leads; the largest change of a score that it would make.
  double propose(double penalty) {
    step_.take(total_, 0, penalty, point_, next_, n_held_);
    return change(point_, next_);
  }

  // Takes the step that was proposed, or the part of it that lowers the loss.
  void accept(double penalty, double change) {
    const std::vector<double> from = point_;
    const double before = objective(penalty);
    double share = change > kLongest ? kLongest / change : 1.0;
    for (int halving = 0; halving < 60; ++halving, share *= 0.5) {
      for (std::size_t i = 0; i < from.size(); ++i)
        point_[i] = share == 1.0 ? next_[i] : from[i] + share * (next_[i] - from[i]);
      evaluate();
      if (change < kSure || objective(penalty) <= before + 1e-13 * std::fabs(before)) break;  // but for rounding
    }
  }

  double advance(double penalty) {
    const double change = propose(penalty);
    accept(penalty, change);
    return change;
  }

  // Slopes alone, at another point.
  const std::vector<double>& slopes_at(const std::vector<double>& point) {
    score(point);
    likelihood_.slopes(eta_.data(), slopes_);
    return slopes_;
  }

  // Minus l(all) - l(the rows here), at another point.
  double held_out_loss(const std::vector<double>& point) {
    score(point);
    return likelihood_.held_out_loss(eta_.data());
  }

  // The largest change of a score between two points. A constant does not count: half of the range of the changes.
  double change(const std::vector<double>& from, const std::vector<double>& to) {
    difference_.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) difference_[i] = to[i] - from[i];
    score(difference_);
    if (eta_.empty()) return 0.0;
    const auto [low, high] = std::minmax_element(eta_.begin(), eta_.end());
    return 0.5 * (*high - *low);
  }

  double objective(double penalty) const {
    double squares = 0.0;
    for (std::size_t i = n_held_; i < point_.size(); ++i) squares += point_[i] * point_[i];
    return total_.value / total_.size + 0.5 * penalty * squares;
  }

  // How far the point is from a minimum: the largest slope that it could follow.
  double unrest(double penalty) const {
    double most = 0.0;
    for (std::size_t i = n_held_; i < point_.size(); ++i) {
      const double slope = total_.slope[i] / total_.size + penalty * point_[i];
      most = std::max(most, std::fabs(point_[i] <= 0.0 ? std::min(slope, 0.0) : slope));
    }
    return most;
  }

  const std::vector<double>& point() const { return point_; }
  const std::vector<double>& proposed() const { return next_; }
  const Quadratic& total() const { return total_; }
  double size() const { return likelihood_.size(); }

 private:
  void score(const std::vector<double>& point) {
    padded_.assign(1, 0.0);  // no intercept
    padded_.insert(padded_.end(), point.begin(), point.end());
    scores_.set(prefix_.patterns, gap_, padded_.data());
    eta_.resize(prefix_.size());
    for (std::int64_t i = 0; i < prefix_.size(); ++i) eta_[i] = scores_.of(prefix_.patterns, i, 0);
  }

  void evaluate() {
    score(point_);
    likelihood_.add_up(eta_.data(), total_);
  }

  const CoxPrefix& prefix_;
  const std::vector<double>& gap_;
  std::size_t n_held_;
  CoxLikelihood likelihood_;
  Quadratic total_;
  NewtonStep step_;
  Scores scores_;
  std::vector<double> point_, next_, eta_, padded_, difference_, slopes_;
};

// One size of list. `grid` falls, in units of the largest curvature of a weight where all weights are zero. The point of
// the answer has no intercept.
class CoxFit {
 public:
  CoxFit(const CoxTable& table, std::int32_t n_rules, const std::vector<double>& gap, double near,
         std::int32_t n_held = 0)
      : whole_(table.make(n_rules, false)), by_fold_(table.make(n_rules, true)), near_(near),
        n_held_(std::min(n_held, n_rules)), all_(whole_, table, gap, table.n_folds, n_held_) {
    std::vector<unsigned char> has_rows(table.n_folds), has_events(table.n_folds);
    for (std::size_t cell = 0; cell < by_fold_.fold.size(); ++cell) {
      has_rows[by_fold_.fold[cell]] = 1;
      if (by_fold_.event[cell] > 0.0) has_events[by_fold_.fold[cell]] = 1;
    }
    const auto n_with_events = std::count(has_events.begin(), has_events.end(), 1);
    // a fold counts if it has rows and the others have events, for without them there is nothing to learn from
    for (std::int32_t f = 0; f < table.n_folds; ++f)
      if (has_rows[f] && n_with_events > has_events[f]) folds_.emplace_back(by_fold_, table, gap, f, n_held_);
  }

  Fitted run(const std::vector<double>& grid, const double* fixed_penalty) {
    const std::int64_t n = whole_.n_rules();
    Fitted fitted;
    fitted.point.assign(n, 0.0);
    std::fill_n(fitted.point.begin(), n_held_, 1.0);
    fitted.losses.assign(grid.size(), 0.0);
    if (n == 0 || all_.size() <= 0.0) return fitted;
    all_.start(fitted.point);
    const Quadratic& total = all_.total();
    double scale = 0.0, steepest = 0.0;
    for (std::int64_t i = n_held_; i < n; ++i) {
      scale = std::max(scale, total.curvature[i * n + i] / total.size);
      steepest = std::max(steepest, std::fabs(total.slope[i] / total.size));
    }
    // the slopes of rules that say nothing are rounding: what they are measured by does not vanish with them
    steepest = std::max(steepest, 1e-3 * std::sqrt(scale));
    if (scale > 0.0) {
      fitted.penalty = fixed_penalty ? *fixed_penalty : choose(grid, scale, fitted.losses);
      settle(fitted.penalty, steepest, fitted);
    }
    fitted.point = all_.point();
    return fitted;
  }

 private:
  // Walks down the penalties. The whole list takes steps until the last changes no score by more than twice `near`;
  // from there each fold takes steps of its own, mostly one or two.
  double choose(const std::vector<double>& grid, double scale, std::vector<double>& losses) {
    std::vector<std::vector<double>> points;
    std::size_t best = 0;
    for (std::size_t p = 0; p < grid.size(); ++p) {
      const double penalty = grid[p] * scale;
      for (int step = 0; step < 100; ++step) {
        const double change = all_.advance(penalty);
        if (change <= 0.04 * near_) break;
      }
      points.push_back(all_.point());
      for (CoxDescent& fold : folds_) losses[p] += held_out_loss(fold, penalty) / all_.size();
      if (losses[p] < losses[best]) best = p;
    }
    all_.start(points[best]);
    return grid[best] * scale;
  }

  // Minus l(all) - l(training) at the minimum of the training part, which is near that of all rows: the curvatures of
  // all rows serve, by weight of events, and only slopes are its own. Where a step does not halve the one before, or is
  // long, the training part takes Newton steps of its own.
  double held_out_loss(CoxDescent& fold, double penalty) {
    double last = 2.0 * CoxDescent::kLongest;
    from_ = all_.point();
    shared_ = all_.total();
    for (int step = 0; step < 100; ++step) {
      const std::vector<double>& slopes = fold.slopes_at(from_);
      for (std::size_t i = 0; i < slopes.size(); ++i) shared_.slope[i] = slopes[i] * (shared_.size / fold.size());
      step_.take(shared_, 0, penalty, from_, to_, n_held_);
      const double change = fold.change(from_, to_);
      if (change > 0.5 * last) return far_loss(fold, penalty);
      std::swap(from_, to_);
      if (change <= 0.04 * near_) break;
      last = change;
    }
    return fold.held_out_loss(from_);
  }

  double far_loss(CoxDescent& fold, double penalty) {
    fold.start(all_.point());
    for (int step = 0; step < 100; ++step) {
      const double change = fold.propose(penalty);
      if (change <= near_) break;
      fold.accept(penalty, change);
    }
    return fold.held_out_loss(fold.proposed());
  }

  // Steps until nothing is left to follow but rounding.
  void settle(double penalty, double steepest, Fitted& fitted) {
    double last = std::numeric_limits<double>::infinity();
    for (int step = 0; step < 200; ++step) {
      const double unrest = all_.unrest(penalty) / steepest;
      if (unrest <= 1e-14 || (unrest <= 1e-11 && unrest > 0.1 * last)) break;
      last = unrest;
      all_.advance(penalty);
    }
    fitted.unrest = all_.unrest(penalty) / steepest;
  }

  CoxPrefix whole_, by_fold_;
  double near_;
  std::int32_t n_held_;
  CoxDescent all_;
  std::vector<CoxDescent> folds_;
  NewtonStep step_;
  Quadratic shared_;
  std::vector<double> from_, to_;
};

}  // namespace pysirus
