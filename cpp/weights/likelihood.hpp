// Patterns of rules in, weights by penalised likelihood out: minimise the mean loss of the scores intercept + sum of
// weight * output over rows, plus penalty / 2 times the squared weights, over weights >= 0. The penalty is that of
// the least cross-validated loss over a grid. Every number comes from the table of patterns by operations in a fixed
// order, and each size of list is fitted by itself: threads, parts of rows and other sizes change no bit. The first
// weights may be held at 1: what these rules add is given, and the others are fitted to what it leaves.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "weights/families.hpp"
#include "weights/newton.hpp"

namespace pysirus {

// Scores of patterns, from tables of the sums over each eight rules.
class Scores {
 public:
  void set(const Prefix& prefix, const std::vector<double>& gap, const double* point, bool intercepts = true) {
    const std::int64_t C = prefix.n_scores;
    table_.resize(std::size_t(C) * prefix.n_bytes * 256);
    start_.assign(C, 0.0);
    lines_.clear();
    for (std::int64_t c = 0; c < C; ++c)
      for (const std::int32_t term : prefix.lines) lines_.push_back(point[C + term] * gap[term * C + c]);
    for (std::int64_t c = 0; c < C; ++c) {
      if (intercepts) start_[c] = point[c];
      for (std::int32_t b = 0; b < prefix.n_bytes; ++b) {
        double* table = table_.data() + (c * prefix.n_bytes + b) * 256;
        table[0] = 0.0;
        const int n = std::min(8, prefix.n_rules - 8 * b);
        for (int r = 0; r < n; ++r) {
          const std::int64_t rule = 8 * b + r;
          const double add = point[C + rule] * gap[rule * C + c];
          for (int v = 0; v < (1 << r); ++v) table[(1 << r) + v] = table[v] + add;
        }
      }
    }
  }
  double of(const Prefix& prefix, std::int64_t pattern, std::int64_t c) const {
    const std::uint8_t* bytes = prefix.bytes.data() + pattern * prefix.n_bytes;
    const double* table = table_.data() + c * prefix.n_bytes * 256;
    double eta = start_[c];
    for (std::int32_t b = 0; b < prefix.n_bytes; ++b) eta += table[b * 256 + bytes[b]];
    const std::int64_t n_lines = prefix.n_lines();
    for (std::int64_t l = 0; l < n_lines; ++l) eta += lines_[c * n_lines + l] * prefix.values[pattern * n_lines + l];
    return eta;
  }

 private:
  std::vector<double> table_, start_, lines_;
};

// What is being fitted: the patterns of the first rules and their gaps [rule][score].
template <class Family>
struct Problem {
  const Prefix& prefix;
  const std::vector<double>& gap;
  const Family& family;
};

// The loss of the rows of some folds: `target` names the model that each fold goes to, or -1 to leave it out.
template <class Family>
class PatternLoss {
 public:
  PatternLoss(const Problem<Family>& problem, std::vector<std::int32_t> target, std::int32_t n_models)
      : problem_(problem), target_(std::move(target)), models_(n_models) {}

  std::int64_t n_scores() const { return problem_.prefix.n_scores; }

  void add_up(const std::vector<double>& point, Quadratic& total) {
    add_up_models<true>(point);
    total.reset(static_cast<std::int64_t>(point.size()));
    for (const Quadratic& model : models_) total.add(model, 1.0);
  }

  void add_up_slopes(const std::vector<double>& point, Quadratic& total) {
    add_up_models<false>(point);
    total.reset_slopes(static_cast<std::int64_t>(point.size()));
    for (const Quadratic& model : models_) total.add_slopes(model, 1.0);
  }

  double change(const std::vector<double>& from, const std::vector<double>& to) {
    if constexpr (Family::kQuadratic) return 0.0;
    const Prefix& prefix = problem_.prefix;
    std::vector<double> difference(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) difference[i] = to[i] - from[i];
    scores_.set(prefix, problem_.gap, difference.data());
    double most = 0.0;
    for (std::int64_t i = 0; i < prefix.size(); ++i)
      for (std::int64_t c = 0; c < prefix.n_scores; ++c) most = std::max(most, std::fabs(scores_.of(prefix, i, c)));
    return most;
  }

  // What no score changes by more than.
  double most_change(const std::vector<double>& from, const std::vector<double>& to) {
    const Prefix& prefix = problem_.prefix;
    const std::int64_t C = prefix.n_scores, n_lines = prefix.n_lines();
    if (largest_.empty()) {
      largest_.assign(prefix.n_rules, 1.0);
      for (std::int64_t l = 0; l < n_lines; ++l) {
        double& most = largest_[prefix.lines[l]] = 0.0;
        for (std::int64_t i = 0; i < prefix.size(); ++i)
          most = std::max(most, std::fabs(prefix.values[i * n_lines + l]));
      }
    }
    double most = 0.0;
    for (std::int64_t c = 0; c < C; ++c) {
      double sum = std::fabs(to[c] - from[c]);
      for (std::int64_t i = 0; i < prefix.n_rules; ++i)
        sum += std::fabs((to[C + i] - from[C + i]) * problem_.gap[i * C + c]) * largest_[i];
      most = std::max(most, sum);
    }
    return most;
  }

  const std::vector<double>& scores() const { return eta_; }  // [pattern][score], where it was last added up
  const Quadratic& model(std::int32_t i) const { return models_[i]; }

 private:
  template <bool kCurvature>
  void add_up_models(const std::vector<double>& point) {
    const Prefix& prefix = problem_.prefix;
    const std::int64_t C = prefix.n_scores;
    scores_.set(prefix, problem_.gap, point.data());
    eta_.resize(prefix.size() * C);
    for (std::int64_t i = 0; i < prefix.size(); ++i)
      for (std::int64_t c = 0; c < C; ++c) eta_[i * C + c] = scores_.of(prefix, i, c);
    for (Quadratic& model : models_) model.reset(static_cast<std::int64_t>(point.size()));
    problem_.family.template add_up<kCurvature>(prefix, eta_.data(), problem_.gap, target_, models_, row_sums_);
  }

  Problem<Family> problem_;
  std::vector<std::int32_t> target_;
  std::vector<Quadratic> models_;
  std::vector<RowSums> row_sums_;  // [model], while they are added up
  Scores scores_;
  std::vector<double> eta_, largest_;  // `largest_`: the largest value of each term, once it is asked for
};

// One size of list. `grid` falls, in units of the largest curvature of a weight at the constant.
template <class Family>
class Fit {
 public:
  // `prefix` has its cells by fold, `whole` the same patterns with one cell each; the weights of the first `n_held`
  // rules are 1. Where `sampled`, `prefix` has some of the rows, on which the penalty is chosen.
  Fit(const Prefix& prefix, const Prefix& whole, const std::vector<double>& gap, const Family& family,
      std::int32_t n_folds, double tol, std::int32_t n_held = 0, bool sampled = false)
      : prefix_(prefix), problem_{prefix, gap, family}, n_folds_(n_folds), n_held_(std::min(n_held, prefix.n_rules)),
        sampled_(sampled), tol_(Family::kQuadratic ? std::numeric_limits<double>::infinity() : tol),
        all_({{whole, gap, family}, {0}, 1}), few_({problem_, std::vector<std::int32_t>(n_folds), 1}, n_held_),
        by_fold_({problem_, folds(), n_folds}, n_held_) {
    point_folds();
    if (sampled) add_up_rows(whole);
  }

  Fitted run(const std::vector<double>& grid, const double* fixed_penalty) {
    Fitted fitted;
    const std::int64_t C = prefix_.n_scores;
    std::vector<double> start = problem_.family.constant(whole_, whole_sum_);
    start.resize(C + prefix_.n_rules, 0.0);
    std::fill_n(start.begin() + C, n_held_, 1.0);
    // of a sample the penalties are measured there too, and all rows are looked at from where it leads
    const bool on_sample = sampled_ && !fixed_penalty && !used_.empty();
    (on_sample && n_held_ == 0 ? few_ : all_).start(start);
    if (n_held_ > 0) fit_intercepts(fitted);
    all_.hold(n_held_);
    fitted.losses.assign(grid.size(), 0.0);
    double steepest = 0.0, scale = measure(on_sample && n_held_ == 0 ? few_.total() : all_.total(), steepest);
    if (on_sample && n_held_ == 0 && scale == 0.0) {  // no row of the sample knows
      all_.start(start);
      scale = measure(all_.total(), steepest);
    }
    if (scale > 0.0) {
      fitted.penalty = fixed_penalty ? *fixed_penalty
                       : on_sample   ? choose_on_sample(grid, scale, fitted.losses)
                       : sampled_    ? grid.back() * scale
                                     : choose(grid, scale, fitted.losses);
      fitted.gradient_norm =
          sampled_ ? all_.template minimise<true>(fitted.penalty, steepest) : all_.minimise(fitted.penalty, steepest);
    }
    fitted.point = all_.point();
    return fitted;
  }

 private:
  // The largest curvature of a weight, which penalties are multiples of, and the steepest slope.
  double measure(const Quadratic& at, double& steepest) {
    const std::int64_t C = prefix_.n_scores;
    double scale = 0.0, curvature = 0.0;
    steepest = 0.0;
    const std::vector<double>& gram = step_.reduce(at, C);
    for (std::int64_t i = n_held_; i < prefix_.n_rules; ++i) {
      scale = std::max(scale, gram[i * prefix_.n_rules + i]);
      steepest = std::max(steepest, std::fabs(at.slope[C + i] / at.size));
    }
    // the slopes of rules that say nothing are rounding: what they are measured by does not vanish with them
    for (std::int64_t c = 0; c < C; ++c) curvature += at.curvature[c * at.n + c] / at.size;
    steepest = std::max(steepest, 1e-3 * std::sqrt(scale * curvature));
    return scale;
  }

  std::vector<std::int32_t> folds() const {
    std::vector<std::int32_t> all(n_folds_);
    for (std::int32_t f = 0; f < n_folds_; ++f) all[f] = f;
    return all;
  }

  // Sums over folds. A fold counts in the choice of the penalty if it has rows and the other folds have every class
  // (or a response that is not all zero): else their intercept has no minimum, at any penalty.
  void point_folds() {
    const std::int64_t C = prefix_.n_scores;
    std::vector<double> size(n_folds_), sum(n_folds_ * C);
    std::vector<std::int64_t> shown(n_folds_ * (C + 1));
    for (std::size_t cell = 0; cell < prefix_.weight.size(); ++cell) {
      const std::int32_t f = prefix_.fold[cell];
      double rest = prefix_.weight[cell];
      size[f] += rest;
      for (std::int64_t c = 0; c < C; ++c) {
        const double s = prefix_.sum[cell * C + c];
        sum[f * C + c] += s;
        shown[f * (C + 1) + c] += s != 0.0;
        rest -= s;
      }
      shown[f * (C + 1) + C] += rest != 0.0;
    }
    whole_sum_.assign(C, 0.0);
    std::vector<std::int64_t> shown_by_all(C + 1);
    for (std::int32_t f = 0; f < n_folds_; ++f) {
      whole_ += size[f];
      for (std::int64_t c = 0; c < C; ++c) whole_sum_[c] += sum[f * C + c];
      for (std::int64_t c = 0; c <= C; ++c) shown_by_all[c] += shown[f * (C + 1) + c];
    }
    for (std::int32_t f = 0; f < n_folds_; ++f) {
      std::vector<std::int64_t> others = shown_by_all;
      for (std::int64_t c = 0; c <= C; ++c) others[c] -= shown[f * (C + 1) + c];
      if (size[f] > 0.0 && problem_.family.has_minimum(others.data())) used_.push_back(f);
    }
  }

  // The weight of all rows and the sums of their responses, where only some of them are in folds.
  void add_up_rows(const Prefix& whole) {
    whole_ = 0.0;
    std::fill(whole_sum_.begin(), whole_sum_.end(), 0.0);
    for (std::size_t cell = 0; cell < whole.weight.size(); ++cell) {
      whole_ += whole.weight[cell];
      for (std::size_t c = 0; c < whole_sum_.size(); ++c) whole_sum_[c] += whole.sum[cell * whole_sum_.size() + c];
    }
  }

  // Walks down the penalties. Of one penalty there is nothing to choose, and its loss stays zero.
  double choose(const std::vector<double>& grid, double scale, std::vector<double>& losses) {
    std::vector<std::vector<double>> points;
    std::size_t best = 0;
    for (std::size_t p = 0; p < grid.size(); ++p) {
      const double penalty = grid[p] * scale;
      points.push_back(settle(all_, penalty));
      if (grid.size() == 1) break;
      losses[p] = held_out_loss(all_, penalty);
      if (losses[p] < losses[best]) best = p;
    }
    all_.start(points[best]);
    return grid[best] * scale;
  }

  // The same on a sample, up the penalties, since the best is among the smallest of them where there are many rows: the
  // walk ends when the loss has risen kRisen times. Penalties beyond are not looked at.
  double choose_on_sample(const std::vector<double>& grid, double scale, std::vector<double>& losses) {
    constexpr std::size_t kRisen = 3;
    std::vector<double> point;
    std::size_t best = grid.size() - 1;
    std::fill(losses.begin(), losses.end(), grid.size() > 1 ? std::numeric_limits<double>::infinity() : 0.0);
    if (n_held_ > 0) few_.start(all_.point());
    for (std::size_t p = grid.size(); p-- > 0 && best - p <= kRisen;) {
      const double penalty = grid[p] * scale;
      std::vector<double> own = settle(few_, penalty);
      if (grid.size() > 1) losses[p] = held_out_loss(few_, penalty);
      if (grid.size() > 1 && p + 1 < grid.size() && !(losses[p] < losses[best])) continue;
      best = p;
      point = std::move(own);
    }
    all_.start(std::move(point));
    return grid[best] * scale;
  }

  // Steps until the last changes no score by more than twice `tol`; where it leads.
  std::vector<double> settle(Descent<PatternLoss<Family>>& list, double penalty) {
    for (int step = 0; step < 100; ++step) {
      const double change = list.propose(penalty);
      if (change <= 2.0 * tol_) break;
      list.accept(penalty, change);
    }
    return list.proposed();
  }

  // From where the list of all folds would go each fold takes one step of its own, with the sums of its other folds,
  // which one pass gives for all of them. The list follows.
  double held_out_loss(Descent<PatternLoss<Family>>& list, double penalty) {
    by_fold_.start(list.proposed());
    list.follow(by_fold_);
    const std::int64_t C = prefix_.n_scores;
    fold_points_.resize(n_folds_);
    for (const std::int32_t f : used_) {
      rest_ = by_fold_.total();
      rest_.add(by_fold_.loss.model(f), -1.0);
      step_.take(rest_, C, penalty, list.point(), fold_points_[f], n_held_);
    }
    score_cells(used_);
    std::vector<std::int32_t> far;
    for (const std::int32_t f : used_)
      if (change_[f] > tol_) far.push_back(f);
    for (const std::int32_t f : far) refine(f, penalty, list.point());
    if (!far.empty()) score_cells(far);
    cell_values_.resize(prefix_.weight.size());
    problem_.family.values(prefix_, cell_eta_.data(), cell_values_.data());
    std::vector<double> loss(n_folds_);
    for (std::size_t cell = 0; cell < cell_values_.size(); ++cell) loss[prefix_.fold[cell]] += cell_values_[cell];
    double total = 0.0;
    for (const std::int32_t f : used_) total += loss[f];
    return total;
  }

  // Scores of the held-out cells of some folds, and how far they are from those of the whole list.
  void score_cells(const std::vector<std::int32_t>& which) {
    const std::int64_t C = prefix_.n_scores;
    fold_scores_.resize(n_folds_);
    change_.resize(n_folds_);
    std::vector<unsigned char> wanted(n_folds_);
    for (const std::int32_t f : which) {
      fold_scores_[f].set(prefix_, problem_.gap, fold_points_[f].data());
      wanted[f] = 1;
      change_[f] = 0.0;
    }
    cell_eta_.resize(prefix_.weight.size() * C);
    const std::vector<double>& eta = by_fold_.loss.scores();
    for (std::int64_t i = 0; i < prefix_.size(); ++i)
      for (std::int64_t cell = prefix_.first_cell[i]; cell < prefix_.first_cell[i + 1]; ++cell) {
        const std::int32_t f = prefix_.fold[cell];
        if (!wanted[f]) continue;
        for (std::int64_t c = 0; c < C; ++c) {
          const double score = cell_eta_[cell * C + c] = fold_scores_[f].of(prefix_, i, c);
          change_[f] = std::max(change_[f], std::fabs(score - eta[i * C + c]));
        }
      }
  }

  // A fold whose step was too long for one goes down by itself.
  void refine(std::int32_t fold, double penalty, const std::vector<double>& point) {
    std::vector<std::int32_t> others(n_folds_, 0);
    others[fold] = -1;
    Descent<PatternLoss<Family>> own({problem_, others, 1}, n_held_);
    own.start(change_[fold] > own.kLongest ? point : fold_points_[fold]);
    for (int step = 0; step < 100; ++step)
      if (own.advance(penalty) <= tol_) break;
    fold_points_[fold] = own.point();
  }

  // The constant beside what is held: it is where the penalty is measured, as elsewhere at the link of the mean.
  void fit_intercepts(Fitted& fitted) {
    all_.hold(prefix_.n_rules);
    double curvature = 0.0;
    for (std::int64_t c = 0; c < prefix_.n_scores; ++c)
      curvature += all_.total().curvature[c * all_.total().n + c] / all_.total().size;
    if (curvature > 0.0) fitted.gradient_norm = all_.minimise(0.0, curvature);
  }

  const Prefix& prefix_;
  Problem<Family> problem_;
  std::int32_t n_folds_, n_held_;
  bool sampled_;
  double tol_, whole_ = 0.0;
  std::vector<double> whole_sum_;
  std::vector<std::int32_t> used_;
  Descent<PatternLoss<Family>> all_, few_, by_fold_;
  NewtonStep step_;
  Quadratic rest_;
  std::vector<std::vector<double>> fold_points_;
  std::vector<Scores> fold_scores_;
  std::vector<double> change_, cell_eta_, cell_values_;
};

}  // namespace pysirus
