// Checks of the parts around the forest, each against the plainest way to say the same: used by the driver alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bins/encode.hpp"
#include "bins/quantiles.hpp"
#include "check/problem.hpp"
#include "evaluate/evaluate.hpp"
#include "folds/deal.hpp"
#include "forest/forest.hpp"
#include "forest/paths.hpp"
#include "forest/reference.hpp"
#include "weights/moments.hpp"
#include "weights/ridge.hpp"

namespace pysirus::check {

// What a level needs to know of the rows, tree after tree and row after row.
inline std::vector<std::int64_t> level_sums(const Table& table, const Recipe& recipe, const Level& level) {
  std::vector<std::int64_t> sums(level.n_sums());
  const std::int64_t n_above = level.n_nodes() - 1;
  for (std::int64_t tree = 0; tree < level.n_trees; ++tree) {
    const std::int32_t* splits = level.splits + tree * n_above;
    const std::uint64_t key = tree_key(recipe.seed, level.first_tree + static_cast<std::uint64_t>(tree));
    for (const auto& [row, count, root] : reference::draw_rows(table, recipe, key)) {
      std::int64_t node = root;
      while (node < n_above && splits[node] != kNoSplit)
        node = 2 * node + (reference::row_goes_left(table, recipe, splits[node], row) ? 1 : 2);
      if (node < n_above) continue;
      const std::int64_t at = tree * level.n_nodes() + node - n_above;
      std::int64_t* cells = sums.data() + level.offset[at];
      *cells++ += count;
      for (std::int32_t k = 0; k < recipe.max_features; ++k) {
        const std::int32_t feature = level.candidates[at * recipe.max_features + k];
        if (feature < 0) break;
        const std::int32_t bin = table.bins[feature * table.n_rows + row];
        reference::add_row(table, row, count, cells + bin * (1 + table.n_sums));
        cells += table.n_bins[feature] * (1 + table.n_sums);
      }
    }
  }
  return sums;
}

inline std::vector<double> numbers(std::size_t n, std::uint64_t key, bool missing) {
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = missing && number(key + 3 * i, 9) == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                       : number(key + i, 1000) / 10.0 - 50.0;
  return values;
}

// Counts of paths, against sets in a map.
inline int paths(const std::vector<std::int32_t>& splits, std::int64_t n_trees, int depth) {
  std::map<std::multiset<std::int32_t>, std::int64_t> expected;
  const std::int64_t n_nodes = (std::int64_t{1} << depth) - 1;
  for (std::int64_t tree = 0; tree < n_trees; ++tree)
    for (std::int64_t leaf = 1; leaf < 2 * n_nodes + 1; ++leaf) {
      std::multiset<std::int32_t> path;
      bool exists = true;
      for (std::int64_t node = leaf; node > 0; node = (node - 1) / 2) {
        const std::int32_t split = splits[tree * n_nodes + (node - 1) / 2];
        exists &= split != kNoSplit;
        path.insert(2 * split + (node % 2 == 0));
      }
      if (exists) ++expected[path];
    }
  PathCounts counts;
  counts.add_forest(splits.data(), n_trees / 2, depth);
  counts.add_forest(splits.data() + n_trees / 2 * n_nodes, n_trees - n_trees / 2, depth);
  int n_different = 0;
  for (const auto& found : counts.sorted()) {
    std::multiset<std::int32_t> path;
    for (const auto code : found.path)
      if (code >= 0) path.insert(code);
    n_different += expected[path] != found.count;
    expected.erase(path);
  }
  return n_different + static_cast<int>(expected.size());
}

inline int encode() {
  const auto values = numbers(1001, 1, true);
  int n_different = 0;
  for (const std::int32_t n_cuts : {0, 1, 9, 16, 17, 254}) {
    std::vector<double> cuts;
    for (std::int32_t k = 0; k < n_cuts; ++k) cuts.push_back(k / 3.0 - 40.0);
    std::vector<std::uint8_t> bins(500);
    encode_column(values.data() + 1, 500, 2, cuts.data(), n_cuts, std::uint8_t{255}, bins.data());
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const double x = values[1 + 2 * i];
      const auto bin = std::count_if(cuts.begin(), cuts.end(), [x](double cut) { return cut <= x; });
      n_different += bins[i] != (std::isnan(x) ? 255 : bin);
    }
  }
  return n_different;
}

inline int recode() {
  std::vector<std::uint8_t> grid(1000), table(256), bins(300);
  std::vector<std::int64_t> rows(300);
  for (std::size_t i = 0; i < grid.size(); ++i) grid[i] = static_cast<std::uint8_t>(number(i, 256));
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(number(i + 7777, 10));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(3 * i + number(i, 3));
  recode_column(grid.data(), rows.data(), 300, table.data(), bins.data());
  int n_different = 0;
  for (std::size_t i = 0; i < bins.size(); ++i)
    n_different += bins[i] != table[grid[static_cast<std::size_t>(rows[i])]];
  return n_different;
}

// Every place is dealt once, in any number of pieces.
inline int deal() {
  int n_wrong = 0;
  for (const std::uint64_t n : {1u, 2u, 5u, 256u, 257u, 1000u}) {
    std::vector<bool> taken(n);
    const Permutation permutation(n, n);
    for (std::uint64_t i = 0; i < n; ++i) taken[permutation(i)] = true;
    n_wrong += static_cast<int>(std::count(taken.begin(), taken.end(), false));
  }
  std::vector<std::uint8_t> stratum(1000);
  std::vector<std::uint64_t> size(3), rank(3);
  for (std::size_t i = 0; i < stratum.size(); ++i) ++size[stratum[i] = static_cast<std::uint8_t>(number(i, 3))];
  std::vector<std::uint32_t> whole(1000), pieces(1000);
  pysirus::deal(stratum.data(), 1000, size, rank, 7, 10, whole.data());
  for (std::size_t first = 0, end = 137; first < 1000; first = end, end = std::min<std::size_t>(1000, end + 137)) {
    pysirus::deal(&stratum[first], static_cast<std::int64_t>(end - first), size, rank, 7, 10, &pieces[first]);
    for (std::size_t i = first; i < end; ++i) ++rank[stratum[i]];
  }
  std::vector<std::uint64_t> each(10);
  for (const std::uint32_t fold : whole) ++each[fold];
  for (const std::uint64_t n : each) n_wrong += n != 100;
  return n_wrong + (whole != pieces);
}

inline int quantiles() {
  int n_different = 0;
  for (const std::size_t n : {std::size_t{1}, std::size_t{10}, std::size_t{5000}, std::size_t{30000}}) {
    auto values = numbers(n, n, false), sorted = values;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::int64_t> ranks;
    for (std::size_t i = 0; i < n; i += 1 + n / 19) ranks.push_back(static_cast<std::int64_t>(i));
    const auto found = order_statistics(values, ranks);
    for (std::size_t i = 0; i < ranks.size(); ++i)
      n_different += found[i] != sorted[static_cast<std::size_t>(ranks[i])];
  }
  return n_different;
}

// Moments of rules, against one row at a time; so many rules that the table of signatures overflows.
inline int moments() {
  constexpr std::int64_t n_rows = 3000, n_rules = 70, n_words = 2, n_folds = 10;
  std::vector<std::uint8_t> bins(3 * n_rows), slot(n_rows);
  std::vector<std::int64_t> value(n_rows), weight(n_rows);
  for (std::size_t i = 0; i < bins.size(); ++i) bins[i] = static_cast<std::uint8_t>(number(i, 256));
  for (std::size_t i = 0; i < slot.size(); ++i) {
    slot[i] = static_cast<std::uint8_t>(number(~i, 3));
    value[i] = static_cast<std::int64_t>(number(i * i, 1u << 31)) - (1 << 30);
    weight[i] = 1 + number(i + 99, 1000);
  }
  const std::int32_t features[2] = {0, 2};
  std::vector<std::uint64_t> tables(2 * 256 * n_words);
  for (std::size_t i = 0; i < tables.size(); ++i) tables[i] = mix64(i) | mix64(~i);
  const RuleTables rules{n_rules, n_words, 2, features, tables.data()};
  int n_different = 0;
  for (const bool classes : {false, true}) {
    const Response response{classes ? nullptr : value.data(), classes ? slot.data() : nullptr, classes ? 3 : 1,
                            classes ? nullptr : weight.data()};
    const Moments found = rule_moments(rules, bins.data(), n_rows, response, 5, 0, n_folds);
    std::vector<std::int64_t> pair(n_folds * n_rules * n_rules);
    std::vector<Wide> rule_sum(n_folds * n_rules * response.n_sums);
    for (std::int64_t row = 0; row < n_rows; ++row) {
      std::uint64_t bits[n_words];
      rule_bits(rules, bins.data(), n_rows, row, bits);
      const std::int64_t fold = fold_of_row(5, static_cast<std::uint64_t>(row), n_folds);
      const std::int64_t w = classes ? 1 : weight[row], v = classes ? 1 : value[row], s = classes ? slot[row] : 0;
      const auto holds = [&](std::int64_t r) { return bits[r / 64] >> (r % 64) & 1; };
      for (std::int64_t a = 0; a < n_rules; ++a) {
        if (!holds(a)) continue;
        rule_sum[(fold * n_rules + a) * response.n_sums + s] += wide_product(w, v);
        for (std::int64_t b = 0; b <= a; ++b) pair[(fold * n_rules + a) * n_rules + b] += holds(b) ? w : 0;
      }
    }
    n_different += (found.pair != pair) + (found.rule_sum != rule_sum);
  }
  return n_different;
}

// Ridge weights by what defines them: no slope where positive, no downward slope at zero.
inline int ridge() {
  constexpr int n = 12, n_rows = 40;
  std::vector<double> outputs = numbers(n * n_rows, 17, false), y = numbers(n_rows, 23, false);
  std::vector<double> gram(n * n), cross(n);
  for (int i = 0; i < n; ++i)
    for (int r = 0; r < n_rows; ++r) {
      cross[i] += outputs[i * n_rows + r] * y[r] / n_rows;
      for (int j = 0; j < n; ++j) gram[i * n + j] += outputs[i * n_rows + r] * outputs[j * n_rows + r] / n_rows;
    }
  const double penalty = 100.0;
  Ridge ridge(gram.data(), n, cross.data(), penalty);
  int n_wrong = 0;
  for (int size = 1; size <= n; ++size) {
    ridge.grow();
    std::vector<double> weight(n);
    for (const int rule : ridge.positive()) weight[rule] = ridge.weight(rule);
    for (int i = 0; i < size; ++i) {
      double slope = penalty * weight[i] - cross[i];
      for (int j = 0; j < size; ++j) slope += gram[i * n + j] * weight[j];
      n_wrong += weight[i] < 0.0 || slope < -1e-8 || (weight[i] > 0.0 && slope > 1e-8);
    }
  }
  const RidgeFolds folds{n, 1, gram.data(), cross.data(), gram.data(), cross.data(), y.data()};
  std::vector<double> penalties(2 * n, penalty), errors(2 * n);
  ridge_errors(folds, penalties.data(), 2, errors.data());
  for (int size = 0; size < n; ++size) n_wrong += !(errors[2 * size] == errors[2 * size + 1]);
  return n_wrong;
}

inline RuleList some_rules() {
  const double infinity = std::numeric_limits<double>::infinity();
  RuleList rules;
  rules.columns = {0, 2};
  rules.start = {0.5};
  rules.conditions = {
      {0, -infinity, 3.0, false}, {0, -10.0, infinity, true}, {1, -20.0, 20.0, false}, {1, infinity, infinity, true}};
  const std::vector<std::vector<std::int32_t>> parts = {{0}, {0, 2}, {1, 2, 3}, {3}, {}};
  for (std::size_t r = 0; r < parts.size(); ++r) {
    rules.parts.insert(rules.parts.end(), parts[r].begin(), parts[r].end());
    rules.first_part.push_back(static_cast<std::int32_t>(rules.parts.size()));
    rules.inside.push_back(0.1 * static_cast<double>(r + 1));
    rules.outside.push_back(-0.3 * static_cast<double>(r));
  }
  rules.terms = {{1, -5.0, 5.0, 0.25, 1.5}};
  rules.slopes = {0.7};
  return rules;
}

// What a row adds up to, in the order that is promised.
inline double plain_sum(const RuleList& rules, const double* row) {
  double total = rules.start[0];
  for (std::int32_t r = 0; r < rules.n_rules(); ++r) {
    bool holds = true;
    for (std::int32_t i = rules.first_part[r]; i < rules.first_part[r + 1]; ++i) {
      const Condition& c = rules.conditions[rules.parts[i]];
      const double x = row[rules.columns[c.column]];
      holds &= std::isnan(x) ? c.missing : c.lower <= x && x < c.upper;
    }
    total += holds ? rules.inside[r] : rules.outside[r];
  }
  for (std::size_t t = 0; t < rules.terms.size(); ++t) {
    const Term& term = rules.terms[t];
    const double x = row[rules.columns[term.column]];
    total += rules.slopes[t] * ((std::isnan(x) ? term.missing : std::clamp(x, term.lower, term.upper)) - term.centre);
  }
  return total;
}

inline int evaluate() {
  const RuleList rules = some_rules();
  int n_different = 0;
  for (const std::int64_t n_rows : {1, 128, 300}) {
    const auto values = numbers(3 * n_rows, 31, true);
    const MatrixView matrix{values.data(), n_rows, 3, 3, 1, NumberType::f64};
    for (const auto& set : instruction_sets()) {
      std::vector<double> sums(n_rows);
      n_different += !evaluate_matrix(rules, matrix, set, sums.data());
      for (std::int64_t row = 0; row < n_rows; ++row)
        n_different += sums[row] != plain_sum(rules, values.data() + 3 * row);
      auto infinite = values;
      infinite[3 * n_rows - 2] = -std::numeric_limits<double>::infinity();  // in a column that no rule reads
      const MatrixView bad{infinite.data(), n_rows, 3, 3, 1, NumberType::f64};
      n_different += evaluate_matrix(rules, bad, set, sums.data());
    }
  }
  return n_different;
}

}  // namespace pysirus::check
