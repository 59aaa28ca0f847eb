// Cells of rules and scores of patterns in, Cox's partial likelihood with its slopes and curvatures out.
//
// A pass goes from the last time to the first and carries what is at risk: the sum of weight * e^score, and the same
// for the rows of each rule. With m the mean of the rules' indicators over who is at risk, the curvature is a sum of
// x x' over rows, each times its risk and the hazard it has lived through, less the sum of m m' over events. The first
// is gathered by pattern; the second is most of the work.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "weights/cox_cells.hpp"
#include "weights/efron.hpp"
#include "weights/nonnegative.hpp"

namespace pysirus {

// Adds up v v' of vectors, lower triangle; four at a time, so that the sums are read and written once for four.
class OuterProducts {
 public:
  void clear(std::int64_t n) {
    n_ = n;
    waiting_ = 0;
    vectors_.resize(4 * n);
    sum_.assign(n * n, 0.0);
  }
  double* next() { return vectors_.data() + waiting_ * n_; }
  void keep() {
    if (++waiting_ == 4) add();
  }
  const std::vector<double>& total() {
    std::fill(vectors_.begin() + waiting_ * n_, vectors_.end(), 0.0);
    if (waiting_ > 0) add();
    return sum_;
  }

 private:
  void add() {
    const double *a = vectors_.data(), *b = a + n_, *c = b + n_, *d = c + n_;
    for (std::int64_t i = 0; i < n_; ++i) {
      double* row = sum_.data() + i * n_;
      const double ai = a[i], bi = b[i], ci = c[i], di = d[i];
      for (std::int64_t j = 0; j <= i; ++j) row[j] += (ai * a[j] + bi * b[j]) + (ci * c[j] + di * d[j]);
    }
    waiting_ = 0;
  }
  std::int64_t n_ = 0, waiting_ = 0;
  std::vector<double> vectors_, sum_;
};

// Sums over the rules that hold, from a number a pattern: through tables of each eight rules.
class RuleSums {
 public:
  void clear(const Prefix& patterns) {
    table_.assign(std::size_t(patterns.n_bytes) * 256, 0.0);
    lines_.assign(patterns.lines.size(), 0.0);
  }
  void add(const Prefix& patterns, std::int64_t pattern, double value) {
    const std::uint8_t* bytes = patterns.bytes.data() + pattern * patterns.n_bytes;
    for (std::int32_t b = 0; b < patterns.n_bytes; ++b) table_[b * 256 + bytes[b]] += value;
    for (std::size_t l = 0; l < lines_.size(); ++l) lines_[l] += value * patterns.values[pattern * lines_.size() + l];
  }
  // The sum of each rule. Most of the 256 entries are zero, and adding them would change no bit.
  void give(const Prefix& patterns, std::vector<double>& sums) const {
    const std::int32_t n_rules = patterns.n_rules;
    sums.assign((n_rules + 7) / 8 * 8, 0.0);
    for (std::int32_t first = 0; first < n_rules; first += 8) {
      const double* table = table_.data() + first / 8 * 256;
      for (unsigned v = 0; v < 256; ++v)
        if (table[v] != 0.0)
          for (unsigned left = v; left; left &= left - 1) sums[first + std::countr_zero(left)] += table[v];
    }
    sums.resize(n_rules);
    for (std::size_t l = 0; l < lines_.size(); ++l) sums[patterns.lines[l]] = lines_[l];
  }

 private:
  std::vector<double> table_, lines_;
};

// The rows of all folds but one (`without`; n_folds for all of them).
class CoxLikelihood {
 public:
  CoxLikelihood(const CoxPrefix& prefix, const CoxTable& table, const std::vector<double>& gap, std::int32_t without)
      : prefix_(prefix), table_(table), gap_(gap), without_(without), events_(prefix.size()), all_(prefix.size()) {
    for (std::size_t cell = 0; cell < prefix.fold.size(); ++cell) {
      all_[prefix.pattern[cell]] += prefix.event[cell];
      if (prefix.fold[cell] == without) continue;
      events_[prefix.pattern[cell]] += prefix.event[cell];
      size_ += prefix.event[cell];
    }
  }

  double size() const { return size_; }  // the weight of events

  // Minus the log-likelihood of all rows at scores [pattern], less that of the rows here.
  double held_out_loss(const double* eta) {
    const double top = relative_risks(eta, prefix_.size(), risk_);
    double rest = 0.0, rest_of_all = 0.0;
    logs_.clear();
    logs_of_all_.clear();
    for (std::int32_t t = table_.n_times; t-- > 0;) {
      double tied = 0.0, weight = 0.0, tied_of_all = 0.0, weight_of_all = 0.0;
      for (std::int64_t cell = first(t); cell < first(t - 1); ++cell) {
        const double risk = risk_[prefix_.pattern[cell]], event = prefix_.event[cell];
        const double stay = (prefix_.weight[cell] - event) * risk, go = event * risk;
        rest_of_all += stay;
        tied_of_all += go;
        weight_of_all += event;
        rest += if_here(cell, stay);
        tied += if_here(cell, go);
        weight += if_here(cell, event);
      }
      if (weight > 0.0) logs_.add_time(weight, rest, tied, n_events(t, without_));
      if (weight_of_all > 0.0)
        logs_of_all_.add_time(weight_of_all, rest_of_all, tied_of_all, n_events(t, table_.n_folds));
      rest += tied;
      rest_of_all += tied_of_all;
    }
    double scores = 0.0;
    for (std::int64_t p = 0; p < prefix_.size(); ++p) scores += (all_[p] - events_[p]) * (eta[p] - top);
    return logs_of_all_.total() - logs_.total() - scores;
  }

  // The slopes of minus the log-likelihood in the weights of the rules.
  void slopes(const double* eta, std::vector<double>& slope) {
    relative_risks(eta, prefix_.size(), risk_);
    go_back(false);
    go_forward();
    add_slopes(slope);
  }

  // The same with minus the log-likelihood itself, and curvatures.
  void add_up(const double* eta, Quadratic& model) {
    const std::int64_t n = prefix_.n_rules();
    model.reset(n);
    model.size = size_;
    const double top = relative_risks(eta, prefix_.size(), risk_);
    go_back(true);
    model.value = logs_.total();
    for (std::int64_t p = 0; p < prefix_.size(); ++p) model.value -= events_[p] * (eta[p] - top);
    go_forward();
    add_slopes(model.slope);
    for (std::int64_t p = 0; p < prefix_.size(); ++p) add_pairs(p, model);
    const std::vector<double>& products = sum_means();
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j)
        model.curvature[i * n + j] = (model.curvature[i * n + j] - products[i * n + j]) * (gap_[i] * gap_[j]);
  }

 private:
  // The cells whose rows are at risk up to time t; those of time t - 1 follow.
  std::int64_t first(std::int32_t t) const { return prefix_.first_cell[table_.n_times - 1 - t]; }
  std::int32_t n_events(std::int32_t t, std::int32_t without) const {
    return table_.n_events[t * (table_.n_folds + 1) + without];
  }

  // A number of a cell, or zero if its fold is left out: sums over all cells are faster than a choice that no processor
  // foresees, and adding zero changes no bit.
  double if_here(std::int64_t cell, double value) const {
    const std::uint64_t mask = std::uint64_t{0} - std::uint64_t{prefix_.fold[cell] != without_};
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & mask);
  }

  // Who is at risk, from the last time to the first.
  void go_back(bool logs) {
    double rest = 0.0;
    logs_.clear();
    times_.resize(table_.n_times);
    whole_.resize(table_.n_times);
    for (std::int32_t t = table_.n_times; t-- > 0;) {
      double tied = 0.0, weight = 0.0;
      for (std::int64_t cell = first(t); cell < first(t - 1); ++cell) {
        const double risk = risk_[prefix_.pattern[cell]], event = prefix_.event[cell];
        rest += if_here(cell, (prefix_.weight[cell] - event) * risk);
        tied += if_here(cell, event * risk);
        weight += if_here(cell, event);
      }
      if (weight <= 0.0) {
        times_[t] = {};
        whole_[t] = 0.0;
        continue;
      }
      if (logs) logs_.add_time(weight, rest, tied, n_events(t, without_));
      times_[t] = efron_time(weight, rest, tied, n_events(t, without_));
      rest += tied;
      whole_[t] = rest;
    }
  }

  // The hazard that rows live through, by pattern.
  void go_forward() {
    lived_.assign(prefix_.size(), 0.0);
    double before = 0.0;
    for (std::int32_t t = 0; t < table_.n_times; ++t) {
      const double after = before + times_[t].rest, tied = before + times_[t].tied;
      for (std::int64_t cell = first(t); cell < first(t - 1); ++cell) {
        const double event = prefix_.event[cell];
        lived_[prefix_.pattern[cell]] += if_here(cell, (prefix_.weight[cell] - event) * after + event * tied);
      }
      before = after;
    }
  }

  // Expected events less those observed.
  void add_slopes(std::vector<double>& slope) {
    sums_.clear(prefix_.patterns);
    for (std::int64_t p = 0; p < prefix_.size(); ++p) sums_.add(prefix_.patterns, p, lived_[p] * risk_[p] - events_[p]);
    sums_.give(prefix_.patterns, slope);
    for (std::int32_t i = 0; i < prefix_.n_rules(); ++i) slope[i] *= gap_[i];
  }

  void add_pairs(std::int64_t pattern, Quadratic& model) const {
    const double value = lived_[pattern] * risk_[pattern];
    const std::int32_t begin = prefix_.first_rule[pattern], end = prefix_.first_rule[pattern + 1];
    for (std::int32_t i = begin; i < end; ++i) {
      const double along = value * prefix_.values[i];
      double* row = model.curvature.data() + prefix_.rules[i] * model.n;
      for (std::int32_t j = begin; j <= i; ++j) row[prefix_.rules[j]] += along * prefix_.values[j];
    }
  }

  // The sum of m m' over events, from the last to the first.
  const std::vector<double>& sum_means() {
    const std::int64_t n = prefix_.n_rules();
    rest_.assign(n, 0.0);
    tied_.assign(n, 0.0);
    means_.clear(n);
    for (std::int32_t t = table_.n_times; t-- > 0;) {
      const bool ties = n_events(t, without_) > 1;
      for (std::int64_t cell = first(t); cell < first(t - 1); ++cell) {
        if (prefix_.fold[cell] == without_) continue;
        const std::int32_t p = prefix_.pattern[cell];
        const double event = ties ? prefix_.event[cell] : 0.0, stay = prefix_.weight[cell] - event;
        if (stay > 0.0) add_rules(p, stay * risk_[p], rest_);
        if (event > 0.0) add_rules(p, event * risk_[p], tied_);
      }
      if (whole_[t] <= 0.0) continue;
      add_means(times_[t], 1.0 / whole_[t], ties);
    }
    return means_.total();
  }

  void add_rules(std::int32_t pattern, double value, std::vector<double>& sum) const {
    for (std::int32_t at = prefix_.first_rule[pattern]; at < prefix_.first_rule[pattern + 1]; ++at)
      sum[prefix_.rules[at]] += value * prefix_.values[at];
  }

  // One event has one mean. The means of tied ones are (rest + (1 - r / n) tied) by z_r: their products add up to those
  // of two vectors.
  void add_means(const EfronTime& time, double inverse, bool ties) {
    const std::int64_t n = prefix_.n_rules();
    const double first = std::sqrt(time.both_rest), other = time.across / first;
    double* v = means_.next();
    for (std::int64_t i = 0; i < n; ++i) v[i] = (first * inverse) * rest_[i];
    if (ties)
      for (std::int64_t i = 0; i < n; ++i) v[i] += (other * inverse) * tied_[i];
    means_.keep();
    if (!ties) return;
    const double second = std::sqrt(std::max(time.both_tied - other * other, 0.0)) * inverse;
    v = means_.next();
    for (std::int64_t i = 0; i < n; ++i) {
      v[i] = second * tied_[i];
      rest_[i] += tied_[i];
      tied_[i] = 0.0;
    }
    means_.keep();
  }

  const CoxPrefix& prefix_;
  const CoxTable& table_;
  const std::vector<double>& gap_;
  std::int32_t without_;
  double size_ = 0.0;
  std::vector<double> events_, all_;  // [pattern] weight of events, here and of all rows
  std::vector<double> risk_, lived_;  // [pattern]
  std::vector<EfronTime> times_;      // [time]
  std::vector<double> whole_;         // [time] weight * e^score at risk
  std::vector<double> rest_, tied_;   // [rule] the same where the rule holds
  OuterProducts means_;
  RuleSums sums_;
  LogSum logs_, logs_of_all_;
};

}  // namespace pysirus
