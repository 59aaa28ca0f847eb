// Cox's partial likelihood without Python: slopes are differences of the loss, lists of every size end at a minimum,
// another order of the rows gives the same bits, and concordance is that of a loop over pairs.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "evaluate/concordance.hpp"
#include "forest/random.hpp"
#include "weights/cox_fit.hpp"

namespace {

using namespace pysirus;

constexpr std::int32_t kRules = 70, kFolds = 10, kWords = 2;
constexpr std::int64_t kRows = 300;

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "cox: %s\n", what);
  std::exit(1);
}

std::int64_t number(std::uint64_t i, std::uint64_t bound) { return static_cast<std::int64_t>(below(13, i, bound)); }

struct Table {
  std::vector<std::uint64_t> bits;
  std::vector<std::int32_t> span;
  std::vector<std::uint8_t> event, fold;
  std::vector<std::int64_t> weight;
  std::int32_t n_times;
  CoxRows rows() const { return {kRows, n_times, kFolds, span.data(), event.data(), fold.data(), weight.data()}; }
};

// Rows in steps through the table: the order does not matter. Every time has an event.
Table make_table(std::int32_t n_times, std::int64_t step) {
  Table table;
  table.n_times = n_times;
  for (std::int64_t at = 0; at < kRows; ++at) {
    const std::int64_t i = at * step % kRows;
    const std::uint64_t bits = mix64(static_cast<std::uint64_t>(i % 120));
    table.bits.push_back(bits);
    table.bits.push_back(mix64(bits) & 63);
    const bool event = i < n_times || number(1000 + i, 2) == 1;
    table.event.push_back(event);
    table.span.push_back(static_cast<std::int32_t>(i < n_times ? i + 1 : (event ? 1 : 0) + number(2000 + i, n_times)));
    table.fold.push_back(static_cast<std::uint8_t>(number(3000 + i, kFolds)));
    table.weight.push_back(1 + number(4000 + i, 5));
  }
  return table;
}

std::vector<double> gaps(const CoxTable& table) {
  std::vector<double> gap;
  for (std::int32_t r = 0; r < kRules; ++r) {
    const double size = 0.1 + 0.01 * static_cast<double>(number(5000 + r, 20));
    gap.push_back((r % 2 == 0) == (table.turned[r] != 0) ? -size : size);
  }
  return gap;
}

std::vector<double> fit_all(const Table& rows) {
  const CoxTable table(rows.rows(), kRules, kWords, rows.bits);
  const std::vector<double> gap = gaps(table);
  std::vector<double> points;
  for (const std::int32_t size : {0, 1, 7, 8, 9, 64, 65, kRules}) {
    const Fitted fitted = CoxFit(table, size, gap, 0.25).run({100.0, 10.0, 1.0, 0.1, 0.01, 0.001}, nullptr);
    check(fitted.gradient_norm <= 1e-10, "a slope is left to follow");
    for (const double weight : fitted.point) check(std::isfinite(weight) && weight >= 0.0, "a weight is wrong");
    points.insert(points.end(), fitted.point.begin(), fitted.point.end());
    points.insert(points.end(), fitted.losses.begin(), fitted.losses.end());
  }
  return points;
}

// Slopes of the loss, and curvatures of the slopes, with and without a fold.
void check_differences(const Table& rows) {
  const CoxTable table(rows.rows(), kRules, kWords, rows.bits);
  const std::vector<double> gap = gaps(table);
  const CoxPrefix prefix = table.make(9, true);
  const double step = 1e-5;
  for (const std::int32_t without : {kFolds, 3}) {
    Descent<CoxLoss> here({prefix, table, gap, without}), up = here, down = here;
    std::vector<double> point;
    for (std::int32_t r = 0; r < 9; ++r) point.push_back(0.1 * r);
    here.start(point);
    const Quadratic& model = here.total();
    for (std::int32_t r = 0; r < 9; ++r) {
      std::vector<double> moved = point;
      moved[r] = point[r] + step;
      up.start(moved);
      moved[r] = point[r] - step;
      down.start(moved);
      const double slope = (up.total().value - down.total().value) / (2.0 * step);
      check(std::fabs(slope - model.slope[r]) <= 1e-8, "a slope is not that of the loss");
      for (std::int32_t j = 0; j <= r; ++j) {
        const double curvature = (up.total().slope[j] - down.total().slope[j]) / (2.0 * step);
        check(std::fabs(curvature - model.curvature[r * 9 + j]) <= 1e-8, "a curvature is not that of the slopes");
      }
    }
  }
}

void check_pairs() {
  std::vector<double> time, score, weight;
  std::vector<std::uint8_t> event;
  for (std::int64_t i = 0; i < kRows; ++i) {
    time.push_back(static_cast<double>(number(6000 + i, 20)));
    score.push_back(static_cast<double>(number(7000 + i, 15)));
    weight.push_back(static_cast<double>(1 + number(8000 + i, 3)));
    event.push_back(static_cast<std::uint8_t>(number(9000 + i, 2)));
  }
  const PairSums found = concordance(kRows, time.data(), event.data(), score.data(), weight.data());
  PairSums sums;
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t k = 0; k < kRows; ++k) {
      if (!event[i] || !(time[k] > time[i] || (time[k] == time[i] && !event[k]))) continue;
      const double product = weight[i] * weight[k];
      sums.all += product;
      if (score[i] > score[k]) sums.right += product;
      if (score[i] == score[k]) sums.tied += product;
    }
  check(found.right == sums.right && found.tied == sums.tied && found.all == sums.all, "pairs are counted wrongly");
}

}  // namespace

int main() {
  for (const std::int32_t n_times : {1, 12, 150}) {
    check_differences(make_table(n_times, 1));
    check(fit_all(make_table(n_times, 1)) == fit_all(make_table(n_times, 7)),
          "the order of the rows changes the weights");
  }
  check_pairs();
  std::printf("cox: few and many ties end at a minimum, whatever the order of the rows\n");
}
