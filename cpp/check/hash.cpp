// One line for each part of the core: a hash of what it answers on made-up tables. Lines are the same on every processor,
// whichever end of a number comes first in memory, with every compiler: `make core-cross` compares them.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "check/parts.hpp"
#include "forest/forest.hpp"
#include "forest/paths.hpp"
#include "weights/cox_fit.hpp"
#include "weights/likelihood.hpp"

namespace {

using namespace pysirus;
using check::number;

class Hash {
 public:
  template <class T>
  void add(const std::vector<T>& numbers) {
    for (const T x : numbers) {
      std::uint64_t bits = 0;
      if constexpr (std::is_floating_point_v<T>)
        std::memcpy(&bits, &x, sizeof x);
      else
        bits = static_cast<std::uint64_t>(x);
      value_ = mix64(value_ ^ bits) + kGolden64;
    }
  }
  void print(const char* what) const { std::printf("%s %016llx\n", what, static_cast<unsigned long long>(value_)); }

 private:
  std::uint64_t value_ = 0;
};

template <class T>
std::vector<T> numbers_below(std::size_t n, std::uint64_t key, std::uint32_t bound, std::int64_t shift = 0) {
  std::vector<T> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<T>(number(key + i, bound) + shift);
  return all;
}

// Forests of numbers, columns of numbers and classes, with and without weights and missing values, of every depth: their
// splits, and in how many trees each path stands.
void hash_forests() {
  constexpr std::int64_t n_rows = 500, n_trees = 70;
  constexpr std::int32_t n_features = 5;
  Hash splits_hash, paths_hash;
  for (int kind = 0; kind < 12; ++kind) {
    const bool missing = kind % 2, weighted = kind / 2 % 2;
    const int response = kind / 4, depth = 1 + kind % 4;  // 0: numbers, 1: three columns, 2: classes
    std::vector<std::int32_t> n_bins, offset{0};
    std::vector<std::uint8_t> bins, has_missing(n_features, missing);
    for (std::int32_t f = 0; f < n_features; ++f) {
      n_bins.push_back(9 + f);
      offset.push_back(offset.back() + (missing ? 2 * (7 + f) + 1 : 8 + f));
      const auto column = numbers_below<std::uint8_t>(n_rows, 1000 * f + kind, static_cast<std::uint32_t>(9 + f));
      bins.insert(bins.end(), column.begin(), column.end());
    }
    const auto value = numbers_below<std::int32_t>(3 * n_rows, 77, 2 << 20, -(1 << 20));
    const auto code = numbers_below<std::uint8_t>(n_rows, 99, 3);
    const auto weight = numbers_below<std::int32_t>(n_rows, 55, 1 << 20);
    const Table table{bins.data(),
                      n_rows,
                      7,
                      n_features,
                      n_bins.data(),
                      has_missing.data(),
                      response < 2 ? value.data() : nullptr,
                      response == 2 ? code.data() : nullptr,
                      response ? 3 : 1,
                      weighted ? weight.data() : nullptr};
    const Recipe recipe{42, depth, 2, 5, 3, {1580030168u, 3160060337u, 3950075421u}, offset.data()};
    std::vector<std::int32_t> splits(static_cast<std::size_t>(n_trees * ((1 << depth) - 1)));
    for (const auto& set : instruction_sets()) {
      grow_forest(table, recipe, 3, n_trees, 2, set, [] { return false; }, splits.data());
      if (set == instruction_sets()[0]) splits_hash.add(splits);  // the driver has compared the sets of this machine
    }
    PathCounts counts;
    counts.add_forest(splits.data(), n_trees, depth);
    for (const auto& [path, count] : counts.sorted()) {
      paths_hash.add(std::vector<std::int32_t>(path.begin(), path.end()));
      paths_hash.add(std::vector<std::int64_t>{count});
    }
  }
  splits_hash.print("splits");
  paths_hash.print("paths");
}

void hash_bins() {
  auto values = check::numbers(9000, 5, false);
  const auto cuts = order_statistics(values, {100, 900, 3000, 7000, 8999});
  const auto column = check::numbers(500, 9, true);
  std::vector<std::uint8_t> bins(column.size());
  encode_column(column.data(), 500, 1, cuts.data(), 5, std::uint8_t{6}, bins.data());
  Hash hash;
  hash.add(cuts);
  hash.add(bins);
  hash.print("bins");
}

void hash_folds() {
  const auto stratum = numbers_below<std::uint8_t>(900, 8, 4);
  std::vector<std::uint64_t> size(4);
  for (const std::uint8_t own : stratum) ++size[own];
  std::vector<std::uint32_t> folds(900);
  deal(stratum.data(), 900, size, std::vector<std::uint64_t>(4), 11, 10, folds.data());
  Hash hash;
  hash.add(folds);
  hash.print("folds");
}

void hash_sums() {
  const RuleList rules = check::some_rules();
  const auto values = check::numbers(900, 31, true);
  const MatrixView matrix{values.data(), 300, 3, 3, 1, NumberType::f64};
  std::vector<double> sums(300);
  evaluate_matrix(rules, matrix, instruction_sets()[0], sums.data());
  Hash hash;
  hash.add(sums);
  hash.print("sums");
}

void hash_moments() {
  constexpr std::int64_t n_rows = 400;
  const auto bins = numbers_below<std::uint8_t>(n_rows, 3, 256);
  const auto value = numbers_below<std::int64_t>(n_rows, 4, 1u << 31, -(1 << 30));
  std::vector<std::uint64_t> tables(256);
  for (std::size_t i = 0; i < tables.size(); ++i) tables[i] = mix64(i) | mix64(~i);
  const std::int32_t feature = 0;
  const RuleTables rules{40, 1, 1, &feature, tables.data()};
  const Response response{value.data(), nullptr, 1, nullptr};
  const Moments found = rule_moments(rules, bins.data(), n_rows, response, 5, 0, 7);
  Hash hash;
  hash.add(found.rows);
  hash.add(found.pair);
  std::vector<std::int64_t> halves;
  for (const Wide& sum : found.rule_sum) halves.insert(halves.end(), {upper_half(sum), lower_half(sum)});
  hash.add(halves);
  hash.print("moments");
}

std::vector<double> gaps(std::int32_t n) {
  std::vector<double> gap;
  for (std::int32_t i = 0; i < n; ++i) gap.push_back((i % 2 ? -1 : 1) * (0.1 + 0.01 * number(4000 + i, 20)));
  return gap;
}

template <class Family>
void add_fit(const Patterns& patterns, const Reading& reading, const Family& family, Hash& hash) {
  const PrefixMaker maker(patterns, reading, 5);
  const Prefix prefix = maker.make(12, true), whole = maker.make(12, false);
  const std::vector<double> gap = gaps(12 * family.n_scores());
  Fit<Family> fit(prefix, whole, gap, family, 5, 0.25);
  const Fitted fitted = fit.run({100.0, 1.0, 0.01}, nullptr);
  hash.add(fitted.point);
  hash.add(fitted.losses);
}

void hash_likelihood() {
  constexpr std::size_t n = 300;
  Patterns rows{1, {}, {}, {}, {}, {}};
  for (std::size_t i = 0; i < n; ++i) rows.bits.push_back(mix64(i % 90) & 4095);
  rows.fold = numbers_below<std::uint8_t>(n, 21, 5);
  rows.class_code = numbers_below<std::uint8_t>(n, 22, 2);
  rows.weight = numbers_below<std::int64_t>(n, 23, 5, 1);
  for (std::size_t i = 0; i < n; ++i) rows.sum.push_back(wide_product(rows.weight[i], 1 + number(600 + i, 90)));
  const Patterns patterns = in_order(rows);
  Hash hash;
  add_fit(patterns, {true, 1, 0, 0.0}, OneScore<Logistic>{}, hash);
  add_fit(patterns, {false, 1, 6, 2.0}, OneScore<Poisson>{}, hash);
  add_fit(patterns, {false, 1, 6, 2.0}, OneScore<Gamma>{}, hash);
  add_fit(patterns, {true, 3, 0, 0.0}, Softmax{3}, hash);
  hash.print("likelihood");
}

void hash_cox() {
  constexpr std::size_t n = 200;
  std::vector<std::uint64_t> bits;
  std::vector<std::int32_t> span;
  std::vector<std::uint8_t> event;
  for (std::size_t i = 0; i < n; ++i) {
    bits.push_back(mix64(i % 70) & 4095);
    event.push_back(i < 12 || number(900 + i, 2) == 1);
    span.push_back(static_cast<std::int32_t>(i < 12 ? i + 1 : event.back() + number(950 + i, 12)));
  }
  const auto fold = numbers_below<std::uint8_t>(n, 24, 5);
  const CoxRows rows{n, 12, 5, span.data(), event.data(), fold.data(), nullptr};
  const CoxTable table(rows, 12, 1, bits);
  const std::vector<double> gap = gaps(12);
  const Fitted fitted = CoxFit(table, 12, gap, 0.25).run({100.0, 1.0, 0.01}, nullptr);
  Hash hash;
  hash.add(fitted.point);
  hash.add(fitted.losses);
  hash.print("cox");
}

}  // namespace

int main() {
  hash_forests();
  hash_bins();
  hash_folds();
  hash_sums();
  hash_moments();
  hash_likelihood();
  hash_cox();
}
