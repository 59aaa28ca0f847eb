// Weights by likelihood without Python: lists of every size on made-up patterns, with every loss, end at a minimum, and
// parts of the rows in another order give the same bits.
#include "weights/likelihood.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "forest/random.hpp"

namespace {

using namespace pysirus;

constexpr std::int32_t kRules = 70, kFolds = 10, kClasses = 3, kRows = 400;

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "likelihood: %s\n", what);
  std::exit(1);
}

std::int64_t number(std::uint64_t i, std::uint64_t bound) { return static_cast<std::int64_t>(below(11, i, bound)); }

// Rows in steps through the table: the order does not matter.
Patterns make_patterns(std::int32_t n_classes, std::int64_t step) {
  Patterns rows{2, {}, {}, {}, {}, {}};
  for (std::int64_t at = 0; at < kRows; ++at) {
    const std::int64_t i = at * step % kRows;
    const std::uint64_t bits = mix64(static_cast<std::uint64_t>(i % 150));
    rows.bits.push_back(bits);
    rows.bits.push_back(mix64(bits) & 63);
    rows.fold.push_back(static_cast<std::uint8_t>(number(i, kFolds)));
    const std::int64_t value = (number(1000 + i, 100) + (bits & 1 ? 60 : 0)) * n_classes / 160;
    rows.class_code.push_back(static_cast<std::uint8_t>(n_classes > 1 ? value : 0));
    rows.weight.push_back(1 + number(2000 + i, 5));
    rows.sum.push_back(wide_product(rows.weight.back(), number(3000 + i, 100) + (bits & 1 ? 60 : 0)));
  }
  return in_order(rows);
}

template <class Family>
std::vector<double> fit_all(const Patterns& patterns, const Reading& reading, const Family& family) {
  const PrefixMaker maker(patterns, reading, kFolds);
  std::vector<double> gap, points;
  for (std::int32_t i = 0; i < kRules * family.n_scores(); ++i) {
    const double size = 0.1 + 0.01 * static_cast<double>(number(4000 + i, 20));
    gap.push_back(i % 2 == 0 ? size : -size);
  }
  for (const std::int32_t size : {0, 1, 7, 8, 9, 64, 65, kRules}) {
    const Prefix prefix = maker.make(size, true), whole = maker.make(size, false);
    Fit<Family> fit(prefix, whole, gap, family, kFolds, 0.25);
    const Fitted fitted = fit.run({100.0, 10.0, 1.0, 0.1, 0.01, 0.001}, nullptr);
    check(fitted.gradient_norm <= 1e-10, "a slope is left to follow");
    for (std::size_t i = 0; i < fitted.point.size(); ++i) {
      check(std::isfinite(fitted.point[i]), "a weight is not finite");
      check(i < static_cast<std::size_t>(family.n_scores()) || fitted.point[i] >= 0.0, "a weight is negative");
    }
    points.insert(points.end(), fitted.point.begin(), fitted.point.end());
  }
  return points;
}

template <class Family>
void check_family(const Reading& reading, std::int32_t n_classes, const Family& family) {
  const std::vector<double> one = fit_all(make_patterns(n_classes, 1), reading, family);
  const std::vector<double> other = fit_all(make_patterns(n_classes, 7), reading, family);
  check(one == other, "the order of the rows changes the weights");
}

void check_functions() {
  for (int i = -7000; i <= 7000; ++i) {
    const double x = 0.1 * i, e = own_exp(x);
    check(std::fabs(e - std::exp(x)) <= 4e-16 * std::exp(x), "the exponential is wrong");
    check(std::fabs(own_log(e) - x) <= 4e-16 * (1.0 + std::fabs(x)), "the logarithm is wrong");
  }
}

// What a kernel answers for a loss at some scores and for a block of rows.
std::vector<double> answers(const WeightKernel& kernel, LossName name, double power) {
  constexpr std::int64_t kScores = 203, kTerms = 21, kStride = 24, kBlock = 19;
  std::vector<double> eta, found, value(kScores), weight, sum, rows(kBlock * kStride), slope, curvature;
  for (std::int64_t i = 0; i < kScores; ++i) {
    eta.push_back(0.01 * static_cast<double>(number(5000 + i, 4000)) - 20.0);
    weight.push_back(1.0 + static_cast<double>(number(6000 + i, 9)));
    sum.push_back(0.1 * static_cast<double>(number(7000 + i, 90)));
  }
  Curves curves;
  kernel.curves(name, power, eta.data(), kScores, curves);
  for (const double* own : {curves.a, curves.a1, curves.a2, curves.b, curves.b1, curves.b2})
    found.insert(found.end(), own, own + kScores);
  kernel.values(name, power, eta.data(), weight.data(), sum.data(), kScores, value.data());
  found.insert(found.end(), value.begin(), value.end());
  for (std::int64_t row = 0; row < kBlock; ++row) {
    slope.push_back(eta[row]);
    curvature.push_back(0.3 * weight[row]);
    for (std::int64_t i = 0; i < kTerms; ++i) rows[row * kStride + i] = sum[(7 * row + i) % kScores];
  }
  std::vector<double> products(kStride * kStride, 0.1), sums(kStride, 0.1), scratch(rows.size());
  kernel.add_products({kBlock, kTerms, kStride, rows.data(), slope.data(), curvature.data(), scratch.data()},
                      products.data(), sums.data());
  for (std::int64_t i = 0; i < kTerms; ++i) {
    found.insert(found.end(), products.data() + i * kStride, products.data() + i * kStride + i + 1);
    found.push_back(sums[i]);
    double product = 0.1;  // the same one after the other
    for (std::int64_t row = 0; row < kBlock; ++row)
      product += curvature[row] * rows[row * kStride + i] * rows[row * kStride];
    check(product == products[i * kStride], "a kernel adds up other products");
  }
  return found;
}

void check_kernels() {
  for (const LossName name :
       {LossName::logistic, LossName::poisson, LossName::gamma, LossName::tweedie, LossName::squared}) {
    const std::vector<double> plain = answers(pysirus::plain::weight_kernel, name, 1.5);
    for (const std::string& set : instruction_sets())
      check(answers(weight_kernel_of(set), name, 1.5) == plain, "instruction sets give other bits");
  }
}

}  // namespace

int main() {
  check_kernels();
  check_functions();
  const Reading numbers{false, 1, 6, 2.0}, two{true, 1, 0, 0.0}, several{true, kClasses, 0, 0.0};
  check_family(numbers, 1, OneScore<Poisson>{});
  check_family(numbers, 1, OneScore<Gamma>{});
  check_family(numbers, 1, OneScore<Tweedie>{{1.5}});
  check_family(numbers, 1, OneScore<Squared>{});
  check_family(two, 2, OneScore<Logistic>{});
  check_family(several, kClasses, Softmax{kClasses});
  std::printf("likelihood: six losses end at a minimum, whatever the order of the rows\n");
}
