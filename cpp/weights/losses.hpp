// A score in, loss, slope and curvature out. The loss of rows that share a score eta is linear in their weight W and
// their weighted sum of responses S: W a(eta) + S b(eta). A loss is the two functions, their first and second
// derivatives, the score of a mean and back, and the same told by the mean. Several classes have a score each:
// families.hpp. All that any part of the program knows of a loss stands here.
#pragma once

#include <concepts>

#include "weights/exp_log.hpp"
#include "weights/kernel.hpp"

namespace pysirus::PYSIRUS_ISA {

struct Curve {
  double a, a1, a2;  // of the weight
  double b, b1, b2;  // of the sum of the response
};

struct Slopes {
  double slope, curvature;  // in the score
};

template <class L>
concept Loss = requires(const L& loss, double x) {
  { loss.curve(x) } -> std::same_as<Curve>;                // everything at a score
  { loss.value(x, x, x) } -> std::same_as<double>;         // the loss alone, given W and S
  { loss.link(x) } -> std::same_as<double>;                // the score of a mean response
  { loss.mean(x) } -> std::same_as<double>;                // the mean response of a score
  { loss.least(x) } -> std::same_as<double>;               // the loss of a row whose score knows its response
  { loss.half_deviance(x, x) } -> std::same_as<double>;    // loss less the least, given a mean and a response
  { loss.at_mean(x, x, x) } -> std::same_as<Slopes>;       // given a mean, W and S
  { loss.has_minimum(true, true) } -> std::same_as<bool>;  // given whether any response is above 0, and any not 1
  { L::kName } -> std::convertible_to<LossName>;
  { L::kQuadratic } -> std::convertible_to<bool>;  // whether one Newton step is the last, however long
};

// Shares of zero and one have no finite score: where all rows answer the same they count as within a millionth of it.
constexpr double kSmallestShare = 0x1p-20;
constexpr double kSmallestMean = 0x1p-1000;  // the same for means without a natural unit
constexpr double kSmallestCount = 1e-15;     // a predicted mean of counts, so that one certain mistake is not infinite

// y log(y), which is 0 at 0.
inline double times_log(double y) { return y * own_log(y > 0.0 ? y : 1.0); }

inline double log_of_mean(double mean) { return own_log(mean < kSmallestMean ? kSmallestMean : mean); }

struct Logistic {
  static constexpr LossName kName = LossName::logistic;
  static constexpr bool kQuadratic = false;
  static double softplus(double eta) {
    const double t = own_exp(eta < 0.0 ? eta : -eta);
    return (eta < 0.0 ? 0.0 : eta) + own_log1p(t);
  }
  static Curve curve(double eta) {
    const double t = own_exp(eta < 0.0 ? eta : -eta), big = 1.0 / (1.0 + t), small = t * big;
    return {(eta < 0.0 ? 0.0 : eta) + own_log1p(t), eta < 0.0 ? small : big, small * big, -eta, -1.0, 0.0};
  }
  static double value(double eta, double weight, double sum) { return weight * softplus(eta) - sum * eta; }
  static double link(double mean) {
    const double least = mean < kSmallestShare ? kSmallestShare : mean;
    const double share = least > 1.0 - kSmallestShare ? 1.0 - kSmallestShare : least;
    return own_log(share) - own_log(1.0 - share);
  }
  static double mean(double eta) { return curve(eta).a1; }
  static double least(double y) { return -(times_log(y) + times_log(1.0 - y)); }
  static double half_deviance(double mean, double y) {
    return y * own_log((y > 0.0 ? y : 1.0) / (y > 0.0 ? mean : 1.0)) +
           (1.0 - y) * own_log((y < 1.0 ? 1.0 - y : 1.0) / (y < 1.0 ? 1.0 - mean : 1.0));
  }
  static Slopes at_mean(double mean, double weight, double sum) {
    return {weight * (mean - sum / weight), weight * (mean * (1.0 - mean))};
  }
  static bool has_minimum(bool some, bool rest) { return some && rest; }
};

struct Poisson {
  static constexpr LossName kName = LossName::poisson;
  static constexpr bool kQuadratic = false;
  static Curve curve(double eta) {
    const double mu = own_exp(eta);
    return {mu, mu, mu, -eta, -1.0, 0.0};
  }
  static double value(double eta, double weight, double sum) { return weight * own_exp(eta) - sum * eta; }
  static double link(double mean) { return log_of_mean(mean); }
  static double mean(double eta) { return own_exp(eta); }
  static double least(double y) { return y - times_log(y); }
  static double half_deviance(double mean, double y) {
    const double mu = mean < kSmallestCount ? kSmallestCount : mean;
    return y * own_log((y > 0.0 ? y : mu) / mu) - y + mu;
  }
  static Slopes at_mean(double mean, double weight, double sum) { return {weight * mean - sum, weight * mean}; }
  static bool has_minimum(bool some, bool) { return some; }
};

struct Gamma {
  static constexpr LossName kName = LossName::gamma;
  static constexpr bool kQuadratic = false;
  static Curve curve(double eta) {
    const double inverse = own_exp(-eta);
    return {eta, 1.0, 0.0, inverse, -inverse, inverse};
  }
  static double value(double eta, double weight, double sum) { return weight * eta + sum * own_exp(-eta); }
  static double link(double mean) { return log_of_mean(mean); }
  static double mean(double eta) { return own_exp(eta); }
  static double least(double y) { return 1.0 + own_log(y); }
  static double half_deviance(double mean, double y) {
    const double ratio = y / mean;
    return ratio - own_log(ratio) - 1.0;
  }
  static Slopes at_mean(double mean, double weight, double sum) { return {weight - sum / mean, sum / mean}; }
  static bool has_minimum(bool some, bool) { return some; }
};

// Between the two: the variance is the mean to the power p, 1 < p < 2, and a response may be exactly 0.
struct Tweedie {
  static constexpr LossName kName = LossName::tweedie;
  static constexpr bool kQuadratic = false;
  double power;
  Curve curve(double eta) const {
    const double p = power, first = own_exp((1.0 - p) * eta), second = own_exp((2.0 - p) * eta);
    return {second / (2.0 - p), second, (2.0 - p) * second, first / (p - 1.0), -first, (p - 1.0) * first};
  }
  double value(double eta, double weight, double sum) const {
    const Curve c = curve(eta);
    return weight * c.a + sum * c.b;
  }
  static double link(double mean) { return log_of_mean(mean); }
  static double mean(double eta) { return own_exp(eta); }
  double least(double y) const { return y > 0.0 ? raised(y, 2.0 - power) / ((2.0 - power) * (power - 1.0)) : 0.0; }
  double half_deviance(double mean, double y) const {
    const double mu = mean < kSmallestMean ? kSmallestMean : mean, ratio = y / mu;
    return raised(mu, 2.0 - power) * (1.0 / (2.0 - power) + ratio / (power - 1.0) - least(ratio));
  }
  Slopes at_mean(double mean, double weight, double sum) const {
    const double first = raised(mean, 1.0 - power), second = first * mean;
    return {weight * second - sum * first, (2.0 - power) * weight * second + (power - 1.0) * sum * first};
  }
  static bool has_minimum(bool some, bool) { return some; }

 private:
  static double raised(double x, double exponent) { return own_exp(exponent * own_log(x)); }
};

// Half of the squared error, less what no score changes.
struct Squared {
  static constexpr LossName kName = LossName::squared;
  static constexpr bool kQuadratic = true;
  static Curve curve(double eta) { return {0.5 * eta * eta, eta, 1.0, -eta, -1.0, 0.0}; }
  static double value(double eta, double weight, double sum) { return eta * (0.5 * weight * eta - sum); }
  static double link(double mean) { return mean; }
  static double mean(double eta) { return eta; }
  static double least(double y) { return -(y * y) / 2.0; }
  static double half_deviance(double mean, double y) { return 0.5 * ((y - mean) * (y - mean)); }
  static Slopes at_mean(double mean, double weight, double sum) { return {weight * mean - sum, weight}; }
  static bool has_minimum(bool, bool) { return true; }
};

}  // namespace pysirus::PYSIRUS_ISA
