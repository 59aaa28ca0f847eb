// Cells of rules in, weights by Cox's penalised partial likelihood out: minimise minus the log-likelihood by weight of
// events, plus penalty / 2 times the squared weights, over weights >= 0. There is no intercept. The penalty is that of
// the largest cross-validated partial likelihood over a grid: l(all) - l(training) at the weights of each training part
// (Verweij and van Houwelingen 1993), since the rows of a fold alone have other risk sets. Each size of list is fitted by
// itself, in a fixed order: threads and other sizes change no bit. The first weights may be held at 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "weights/cox.hpp"
#include "weights/likelihood.hpp"

namespace pysirus {

// Minus the log-likelihood of the rows of all folds but one.
class CoxLoss {
 public:
  CoxLoss(const CoxPrefix& prefix, const CoxTable& table, const std::vector<double>& gap, std::int32_t without)
      : prefix_(prefix), gap_(gap), likelihood_(prefix, table, gap, without) {}

  std::int64_t n_scores() const { return 0; }
  double size() const { return likelihood_.size(); }

  void add_up(const std::vector<double>& point, Quadratic& total) {
    score(point);
    likelihood_.add_up(eta_.data(), total);
  }

  const std::vector<double>& slopes(const std::vector<double>& point) {
    score(point);
    likelihood_.slopes(eta_.data(), slopes_);
    return slopes_;
  }

  // Minus l(all) - l(the rows here).
  double held_out_loss(const std::vector<double>& point) {
    score(point);
    return likelihood_.held_out_loss(eta_.data());
  }

  // A constant does not count: half of the range of the changes.
  double change(const std::vector<double>& from, const std::vector<double>& to) {
    difference_.resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) difference_[i] = to[i] - from[i];
    score(difference_);
    if (eta_.empty()) return 0.0;
    const auto [low, high] = std::minmax_element(eta_.begin(), eta_.end());
    return 0.5 * (*high - *low);
  }

 private:
  void score(const std::vector<double>& point) {
    padded_.assign(1, 0.0);  // no intercept
    padded_.insert(padded_.end(), point.begin(), point.end());
    scores_.set(prefix_.patterns, gap_, padded_.data());
    eta_.resize(prefix_.size());
    for (std::int64_t i = 0; i < prefix_.size(); ++i) eta_[i] = scores_.of(prefix_.patterns, i, 0);
  }

  const CoxPrefix& prefix_;
  const std::vector<double>& gap_;
  CoxLikelihood likelihood_;
  Scores scores_;
  std::vector<double> eta_, padded_, difference_, slopes_;
};

// One size of list. `grid` falls, in units of the largest curvature of a weight where all weights are zero. The point of
// the answer has no intercept.
class CoxFit {
 public:
  CoxFit(const CoxTable& table, std::int32_t n_rules, const std::vector<double>& gap, double tol,
         std::int32_t n_held = 0)
      : whole_(table.make(n_rules, false)), by_fold_(table.make(n_rules, true)), tol_(tol),
        n_held_(std::min(n_held, n_rules)), all_({whole_, table, gap, table.n_folds}, n_held_) {
    std::vector<unsigned char> has_rows(table.n_folds), has_events(table.n_folds);
    for (std::size_t cell = 0; cell < by_fold_.fold.size(); ++cell) {
      has_rows[by_fold_.fold[cell]] = 1;
      if (by_fold_.event[cell] > 0.0) has_events[by_fold_.fold[cell]] = 1;
    }
    const auto n_with_events = std::count(has_events.begin(), has_events.end(), 1);
    // a fold counts if it has rows and the others have events, for without them there is nothing to learn from
    for (std::int32_t f = 0; f < table.n_folds; ++f)
      if (has_rows[f] && n_with_events > has_events[f]) folds_.emplace_back(CoxLoss(by_fold_, table, gap, f), n_held_);
  }

  Fitted run(const std::vector<double>& grid, const double* fixed_penalty) {
    const std::int64_t n = whole_.n_rules();
    Fitted fitted;
    fitted.point.assign(n, 0.0);
    std::fill_n(fitted.point.begin(), n_held_, 1.0);
    fitted.losses.assign(grid.size(), 0.0);
    if (n == 0 || all_.loss.size() <= 0.0) return fitted;
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
      fitted.gradient_norm = all_.minimise(fitted.penalty, steepest);
    }
    fitted.point = all_.point();
    return fitted;
  }

 private:
  // Walks down the penalties. The whole list takes steps until the last changes no score by more than twice `tol`;
  // from there each fold takes steps of its own, mostly one or two.
  double choose(const std::vector<double>& grid, double scale, std::vector<double>& losses) {
    std::vector<std::vector<double>> points;
    std::size_t best = 0;
    for (std::size_t p = 0; p < grid.size(); ++p) {
      const double penalty = grid[p] * scale;
      for (int step = 0; step < 100; ++step) {
        const double change = all_.advance(penalty);
        if (change <= 0.04 * tol_) break;
      }
      points.push_back(all_.point());
      for (Descent<CoxLoss>& fold : folds_) losses[p] += held_out_loss(fold, penalty) / all_.loss.size();
      if (losses[p] < losses[best]) best = p;
    }
    all_.start(points[best]);
    return grid[best] * scale;
  }

  // Minus l(all) - l(training) at the minimum of the training part, which is near that of all rows: the curvatures of
  // all rows serve, by weight of events, and only slopes are its own. Where a step does not halve the one before, or is
  // long, the training part takes Newton steps of its own.
  double held_out_loss(Descent<CoxLoss>& fold, double penalty) {
    double last = 2.0 * fold.kLongest;
    from_ = all_.point();
    shared_ = all_.total();
    for (int step = 0; step < 100; ++step) {
      const std::vector<double>& slopes = fold.loss.slopes(from_);
      for (std::size_t i = 0; i < slopes.size(); ++i) shared_.slope[i] = slopes[i] * (shared_.size / fold.loss.size());
      step_.take(shared_, 0, penalty, from_, to_, n_held_);
      const double change = fold.loss.change(from_, to_);
      if (change > 0.5 * last) return far_loss(fold, penalty);
      std::swap(from_, to_);
      if (change <= 0.04 * tol_) break;
      last = change;
    }
    return fold.loss.held_out_loss(from_);
  }

  double far_loss(Descent<CoxLoss>& fold, double penalty) {
    fold.start(all_.point());
    for (int step = 0; step < 100; ++step) {
      const double change = fold.propose(penalty);
      if (change <= tol_) break;
      fold.accept(penalty, change);
    }
    return fold.loss.held_out_loss(fold.proposed());
  }

  CoxPrefix whole_, by_fold_;
  double tol_;
  std::int32_t n_held_;
  Descent<CoxLoss> all_;
  std::vector<Descent<CoxLoss>> folds_;
  NewtonStep step_;
  Quadratic shared_;
  std::vector<double> from_, to_;
};

}  // namespace pysirus
