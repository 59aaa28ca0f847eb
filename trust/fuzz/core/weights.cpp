// Weights of rules: ridge at its minimum, likelihoods and Cox's partial likelihood finite, non-negative and at rest,
// concordance as a loop over pairs counts it.
#include <cmath>

#include "evaluate/concordance.hpp"
#include "input.hpp"
#include "weights/cox_fit.hpp"
#include "weights/likelihood.hpp"
#include "weights/ridge.hpp"

namespace {

using namespace pysirus;
using fuzz::ensure;

const std::vector<double> kGrid{100.0, 1.0, 0.01};

// Gram matrices are those of outputs on rows: nothing else reaches the ridge.
void check_ridge(fuzz::Input& input) {
  const auto n = input.number<int>(1, 8), n_rows = input.number<int>(1, 20);
  const auto outputs = input.numbers<std::int32_t>(static_cast<std::size_t>(n * n_rows), -9, 9);
  const auto y = input.numbers<std::int32_t>(static_cast<std::size_t>(n_rows), -99, 99);
  std::vector<double> gram(static_cast<std::size_t>(n * n)), cross(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i)
    for (int r = 0; r < n_rows; ++r) {
      cross[i] += static_cast<double>(outputs[i * n_rows + r] * y[r]) / n_rows;
      for (int j = 0; j < n; ++j)
        gram[i * n + j] += static_cast<double>(outputs[i * n_rows + r] * outputs[j * n_rows + r]) / n_rows;
    }
  const double penalty = static_cast<double>(input.number<int>(1, 1000)) / 100.0;
  Ridge ridge(gram.data(), n, cross.data(), penalty);
  for (int size = 1; size <= n; ++size) {
    ridge.grow();
    std::vector<double> weight(static_cast<std::size_t>(n));
    for (const int rule : ridge.positive()) weight[rule] = ridge.weight(rule);
    for (int i = 0; i < size; ++i) {
      double slope = penalty * weight[i] - cross[i], scale = 1.0 + std::fabs(cross[i]) + penalty * weight[i];
      for (int j = 0; j < size; ++j) {
        slope += gram[i * n + j] * weight[j];
        scale += std::fabs(gram[i * n + j] * weight[j]);
      }
      ensure(weight[i] >= 0.0, "a ridge weight is negative");
      ensure(slope >= -1e-7 * scale && (weight[i] == 0.0 || slope <= 1e-7 * scale), "a ridge is not at its minimum");
    }
  }
}

void check_fitted(const Fitted& fitted, std::size_t n_scores) {
  ensure(std::isfinite(fitted.penalty) && !std::isnan(fitted.gradient_norm), "a penalty or a slope is no number");
  for (std::size_t i = 0; i < fitted.point.size(); ++i) {
    ensure(std::isfinite(fitted.point[i]), "a weight is not finite");
    ensure(i < n_scores || fitted.point[i] >= 0.0, "a weight is negative");
  }
}

template <class Family>
void check_family(const Patterns& rows, const Reading& reading, std::int32_t n_rules, std::int32_t n_folds,
                  const std::vector<double>& gap, const Family& family) {
  const Patterns patterns = in_order(rows);
  const PrefixMaker maker(patterns, reading, n_folds);
  const Prefix prefix = maker.make(n_rules, true), whole = maker.make(n_rules, false);
  Fit<Family> fit(prefix, whole, gap, family, n_folds, 0.25);
  check_fitted(fit.run(kGrid, nullptr), static_cast<std::size_t>(family.n_scores()));
}

void check_likelihood(fuzz::Input& input) {
  const auto n = input.number<std::size_t>(3, 40);
  const auto n_rules = input.number<std::int32_t>(0, 10), n_folds = input.number<std::int32_t>(1, 5);
  const auto loss = input.number<int>(0, 4);
  const std::int32_t n_scores = loss == 4 ? 3 : 1;
  const bool classes = loss == 0 || loss == 4;
  const std::uint64_t all = (std::uint64_t{1} << n_rules) - 1;
  Patterns rows{1, input.numbers<std::uint64_t>(n, 0, all), {}, {}, {}, {}};
  rows.bits[0] = 0, rows.bits[1] = all;  // no rule holds in all rows or in none: its weight would have no minimum
  rows.fold = input.numbers<std::uint8_t>(n, 0, static_cast<std::uint8_t>(n_folds - 1));
  rows.class_code = input.numbers<std::uint8_t>(n, 0, static_cast<std::uint8_t>(loss == 4 ? 2 : classes));
  for (std::size_t i = 0; classes && i < n && i < 3; ++i)  // no class is without rows: it would have no finite score
    rows.class_code[i] = static_cast<std::uint8_t>(i % (loss == 4 ? 3 : 2));
  rows.weight = input.numbers<std::int64_t>(n, 1, std::int64_t{1} << 20);
  const auto values = input.numbers<std::int64_t>(n, loss == 2 ? 1 : 0, 1000);  // amounts are positive, counts may be 0
  for (std::size_t i = 0; i < n; ++i) rows.sum.push_back(wide_product(rows.weight[i], values[i]));
  const Reading reading{classes, n_scores, 3, 0.0};
  std::vector<double> gap;
  for (const std::int32_t g : input.numbers<std::int32_t>(static_cast<std::size_t>(n_rules * n_scores), -40, 40))
    gap.push_back(static_cast<double>(g) / 32.0);
  if (loss == 4)  // differences of shares of classes sum to zero: what a rule adds to all classes alike has no minimum
    for (std::size_t i = 0; i < gap.size(); i += 3) gap[i + 2] = -(gap[i] + gap[i + 1]);
  if (loss == 0) check_family(rows, reading, n_rules, n_folds, gap, OneScore<Logistic>{});
  if (loss == 1) check_family(rows, reading, n_rules, n_folds, gap, OneScore<Poisson>{});
  if (loss == 2) check_family(rows, reading, n_rules, n_folds, gap, OneScore<Gamma>{});
  if (loss == 3) check_family(rows, reading, n_rules, n_folds, gap, OneScore<Squared>{});
  if (loss == 4) check_family(rows, reading, n_rules, n_folds, gap, Softmax{3});
}

void check_cox(fuzz::Input& input) {
  const auto n = input.number<std::size_t>(0, 40);
  const auto n_times = input.number<std::int32_t>(1, 12), n_folds = input.number<std::int32_t>(1, 5);
  const auto n_rules = input.number<std::int32_t>(0, 10);
  const auto bits = input.numbers<std::uint64_t>(n, 0, (std::uint64_t{1} << n_rules) - 1);
  auto span = input.numbers<std::int32_t>(n, 0, n_times);
  auto event = input.numbers<std::uint8_t>(n, 0, 1);
  const auto fold = input.numbers<std::uint8_t>(n, 0, static_cast<std::uint8_t>(n_folds - 1));
  const auto weight = input.numbers<std::int64_t>(n, 1, 1000);
  for (std::size_t i = 0; i < n; ++i) event[i] = event[i] && span[i] > 0;
  const CoxRows rows{
      static_cast<std::int64_t>(n), n_times, n_folds, span.data(), event.data(), fold.data(), weight.data()};
  const CoxTable table(rows, n_rules, 1, bits);
  std::vector<double> gap;
  for (const std::int32_t g : input.numbers<std::int32_t>(static_cast<std::size_t>(n_rules), -40, 40))
    gap.push_back(static_cast<double>(g) / 32.0);
  check_fitted(CoxFit(table, n_rules, gap, 0.25).run(kGrid, nullptr), 0);
}

void check_pairs(fuzz::Input& input) {
  const auto n = input.number<std::size_t>(0, 50);
  const auto time = input.reals(n, false), score = input.reals(n, false);
  const auto event = input.numbers<std::uint8_t>(n, 0, 1);
  const PairSums found = concordance(static_cast<std::int64_t>(n), time.data(), event.data(), score.data(), nullptr);
  PairSums sums;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k) {
      if (!event[i] || !(time[k] > time[i] || (time[k] == time[i] && !event[k]))) continue;
      sums.all += 1.0;
      sums.right += score[i] > score[k];
      sums.tied += score[i] == score[k];
    }
  ensure(found.all == sums.all && found.right == sums.right && found.tied == sums.tied, "pairs are counted wrongly");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  switch (input.number<int>(0, 3)) {
    case 0: check_ridge(input); break;
    case 1: check_likelihood(input); break;
    case 2: check_cox(input); break;
    default: check_pairs(input);
  }
  return 0;
}
