// A score in, loss, slope and curvature out. The loss of rows that share a score eta is linear in their weight W and
// their weighted sum of responses S: W a(eta) + S b(eta). A loss is the two functions, their first and second
// derivatives, and the score of a constant. Several classes have a score each: families.hpp.
#pragma once

#include <concepts>

#include "weights/exp_log.hpp"

namespace pysirus {

struct Curve {
  double a, a1, a2;  // of the weight
  double b, b1, b2;  // of the sum of the response
};

template <class L>
concept Loss = requires(double x) {
  { L::curve(x) } -> std::same_as<Curve>;                // everything at a score
  { L::value(x, x, x) } -> std::same_as<double>;         // the loss alone, given W and S
  { L::link(x) } -> std::same_as<double>;                // the score of a mean response
  { L::has_minimum(true, true) } -> std::same_as<bool>;  // given whether any response is above 0, and any not 1
  { L::kQuadratic } -> std::convertible_to<bool>;        // whether one Newton step is the last, however long
};

// Shares of zero and one have no finite score: where all rows answer the same they count as within a millionth of it.
constexpr double kSmallestShare = 0x1p-20;
constexpr double kSmallestMean = 0x1p-1000;  // the same for means without a natural unit

struct Logistic {
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
  static bool has_minimum(bool some, bool rest) { return some && rest; }
};

struct Poisson {
  static constexpr bool kQuadratic = false;
  static Curve curve(double eta) {
    const double mu = own_exp(eta);
    return {mu, mu, mu, -eta, -1.0, 0.0};
  }
  static double value(double eta, double weight, double sum) { return weight * own_exp(eta) - sum * eta; }
  static double link(double mean) { return own_log(mean < kSmallestMean ? kSmallestMean : mean); }
  static bool has_minimum(bool some, bool) { return some; }
};

struct Gamma {
  static constexpr bool kQuadratic = false;
  static Curve curve(double eta) {
    const double inverse = own_exp(-eta);
    return {eta, 1.0, 0.0, inverse, -inverse, inverse};
  }
  static double value(double eta, double weight, double sum) { return weight * eta + sum * own_exp(-eta); }
  static double link(double mean) { return own_log(mean < kSmallestMean ? kSmallestMean : mean); }
  static bool has_minimum(bool some, bool) { return some; }
};

// Half of the squared error, less what no score changes.
struct Squared {
  static constexpr bool kQuadratic = true;
  static Curve curve(double eta) { return {0.5 * eta * eta, eta, 1.0, -eta, -1.0, 0.0}; }
  static double value(double eta, double weight, double sum) { return eta * (0.5 * weight * eta - sum); }
  static double link(double mean) { return mean; }
  static bool has_minimum(bool, bool) { return true; }
};

}  // namespace pysirus
