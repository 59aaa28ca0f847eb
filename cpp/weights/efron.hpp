// One time at which rows have an event, in; its part of the partial likelihood, out. Tied rows leave the risk set in
// equal shares, as Efron has it: with n of them, of whole weight W, the loss is
//
//   W / n * sum over r < n of log(z_r) less the weighted scores of the tied rows,      z_r = rest + (1 - r / n) * tied,
//
// where `tied` is the sum of weight * e^score of the tied rows and `rest` that of the others at risk. With unequal
// weights this is what R's survival does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "weights/exp_log.hpp"

namespace pysirus {

// Weights of the first and second moments of who is at risk: the sums over r of W / n / z, times (1 - r / n) for the
// tied rows. Those of second moments are in units of 1 / z_0^2, which may be too large for a number.
struct EfronTime {
  double rest = 0.0, tied = 0.0;                          // first moments
  double both_rest = 0.0, across = 0.0, both_tied = 0.0;  // second moments
};

inline EfronTime efron_time(double weight, double rest, double tied, std::int32_t n) {
  const double whole = rest + tied, inverse = 1.0 / whole;
  const double first = weight * inverse;
  EfronTime sums{first, first, weight, weight, weight};
  if (n <= 1) return sums;
  const double share = weight / n, out = tied * inverse / n;
  sums = {};
  for (std::int32_t r = 0; r < n; ++r) {
    const double left = static_cast<double>(n - r) / n, relative = 1.0 / (rest * inverse + out * (n - r));
    const double once = share * relative, twice = once * relative;
    sums.rest += once;
    sums.tied += once * left;
    sums.both_rest += twice;
    sums.across += twice * left;
    sums.both_tied += twice * left * left;
  }
  sums.rest *= inverse;
  sums.tied *= inverse;
  return sums;
}

// e^(score - largest) of each score, and the largest. Nothing is smaller than e^-600: sums over it stay above zero, and
// so do their squares' inverses in units of them.
inline double relative_risks(const double* eta, std::int64_t n, std::vector<double>& risk) {
  risk.resize(n);
  if (n == 0) return 0.0;
  const double top = *std::max_element(eta, eta + n);
  double* to = risk.data();
  for (std::int64_t i = 0; i < n; ++i) to[i] = own_exp(std::max(eta[i] - top, -600.0));
  return top;
}

// Sums of factor * log(z), of the many z of all times: logarithms first, so that they turn into vector code.
class LogSum {
 public:
  void clear() {
    z_.clear();
    factor_.clear();
  }
  void add_time(double weight, double rest, double tied, std::int32_t n) {
    if (n <= 1) return add(weight, rest + tied);
    for (std::int32_t r = 0; r < n; ++r) add(weight / n, rest + tied * (static_cast<double>(n - r) / n));
  }
  double total() {
    for (double& z : z_) z = series::log_of<false>(z);
    double sum = 0.0;
    for (std::size_t i = 0; i < z_.size(); ++i) sum += factor_[i] * z_[i];
    return sum;
  }

 private:
  void add(double factor, double z) {
    factor_.push_back(factor);
    z_.push_back(z);
  }
  std::vector<double> z_, factor_;
};

// What rows make of their own scores.
struct CoxOfRows {
  double loss = 0.0;  // minus the partial log-likelihood
  std::vector<double>
      residual;  // [row] martingale residuals: the slope of the log-likelihood in the row's score, by weight
  std::vector<double> hazard;  // [time] by how much the cumulative hazard at score 0 rises, as Breslow has it
};

// `span` and `event` as in CoxRows.
inline CoxOfRows cox_of_rows(std::int64_t n_rows, std::int32_t n_times, const std::int32_t* span,
                             const std::uint8_t* event, const double* weight, const double* eta) {
  CoxOfRows result;
  std::vector<double> risk, rest(n_times + 1), tied(n_times), size(n_times);
  std::vector<std::int32_t> n_events(n_times);
  const double top = relative_risks(eta, n_rows, risk);
  for (std::int64_t i = 0; i < n_rows; ++i) {
    const double w = weight ? weight[i] : 1.0;
    if (!event[i]) {
      if (span[i] > 0) rest[span[i] - 1] += w * risk[i];
      continue;
    }
    tied[span[i] - 1] += w * risk[i];
    size[span[i] - 1] += w;
    ++n_events[span[i] - 1];
    result.loss -= w * (eta[i] - top);
  }
  // from the last time to the first: who is at risk later is at risk now
  LogSum logs;
  std::vector<EfronTime> sums(n_times);
  for (std::int32_t t = n_times; t-- > 0;) {
    if (t + 1 < n_times) rest[t] += rest[t + 1] + tied[t + 1];
    if (size[t] <= 0.0) continue;
    logs.add_time(size[t], rest[t], tied[t], n_events[t]);
    sums[t] = efron_time(size[t], rest[t], tied[t], n_events[t]);
  }
  result.loss += logs.total();
  std::vector<double> cumulative(n_times + 1);
  for (std::int32_t t = 0; t < n_times; ++t) cumulative[t + 1] = cumulative[t] + sums[t].rest;
  result.residual.resize(n_rows);
  for (std::int64_t i = 0; i < n_rows; ++i)
    result.residual[i] = event[i] ? 1.0 - risk[i] * (cumulative[span[i] - 1] + sums[span[i] - 1].tied)
                                  : 0.0 - risk[i] * cumulative[span[i]];
  // events over who is at risk, so that as many are expected of all rows at this time as were observed
  const double unit = own_exp(-top);
  for (std::int32_t t = 0; t < n_times; ++t)
    result.hazard.push_back(size[t] > 0.0 ? size[t] / (rest[t] + tied[t]) * unit : 0.0);
  return result;
}

}  // namespace pysirus
