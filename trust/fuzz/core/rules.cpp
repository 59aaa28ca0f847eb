// Lists of rules on rows: sums of outputs, moments and patterns, each against one row and one rule at a time.
#include <cmath>
#include <map>
#include <tuple>

#include "evaluate/evaluate.hpp"
#include "forest/forest.hpp"
#include "input.hpp"
#include "weights/independent.hpp"
#include "weights/patterns.hpp"

namespace {

using namespace pysirus;
using fuzz::ensure;

// ---------------------------------------------------------------------------------------------------------- evaluate

struct Columns {
  std::int64_t n_rows;
  std::vector<double> reals;         // [row]
  std::vector<float> small;          // [row]
  std::vector<std::int32_t> codes;   // [row], levels: -2, -1, 0, ...
  std::vector<std::uint8_t> counts;  // [2 * row]: every second one is read

  std::vector<ColumnView> views() const {
    return {{reals.data(), 1, NumberType::f64},
            {small.data(), 1, NumberType::f32},
            {codes.data(), 1, NumberType::i32},
            {counts.data(), 2, NumberType::u8}};
  }
  double at(std::int32_t column, std::int64_t row) const {
    const auto i = static_cast<std::size_t>(row);
    if (column == 0) return reals[i];
    return column == 1 ? static_cast<double>(small[i]) : column == 2 ? codes[i] : counts[2 * i];
  }
};

Columns read_columns(fuzz::Input& input) {
  Columns columns;
  columns.n_rows = input.number<std::int64_t>(0, input.number<int>(0, 7) ? 20 : 300);
  const auto n = static_cast<std::size_t>(columns.n_rows);
  columns.reals = input.reals(n, true);
  const auto more = input.reals(n, true);
  for (const double x : more) columns.small.push_back(static_cast<float>(x / 1e280));
  columns.codes = input.numbers<std::int32_t>(n, -2, 5);
  columns.counts = input.numbers<std::uint8_t>(2 * n, 0, 255);
  return columns;
}

void add_conditions(fuzz::Input& input, RuleList& rules) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (auto left = input.number<int>(0, 8); left > 0; --left) {
    if (input.yes()) {
      const auto answers = input.numbers<std::uint8_t>(input.number<std::size_t>(2, 6), 0, 1);
      const auto first = static_cast<std::int32_t>(rules.answers.size());
      rules.answers.insert(rules.answers.end(), answers.begin(), answers.end());
      rules.conditions.push_back({2, 0.0, 0.0, false, first, static_cast<std::int32_t>(answers.size()) - 2});
    } else {
      const std::int32_t columns[] = {0, 1, 3};
      const double lower = input.yes() ? -infinity : input.real(false),
                   upper = input.yes() ? infinity : input.real(false);
      rules.conditions.push_back({columns[input.number<int>(0, 2)], lower, upper, input.yes()});
    }
  }
}

RuleList read_rules(fuzz::Input& input) {
  RuleList rules;
  rules.columns = {0, 1, 2, 3};
  rules.start = input.reals(input.number<std::size_t>(1, 3), false);
  add_conditions(input, rules);
  const auto n_conditions = static_cast<std::int32_t>(rules.conditions.size());
  for (auto left = input.number<int>(0, 9); left > 0; --left) {
    for (auto parts = n_conditions ? input.number<int>(0, 4) : 0; parts > 0; --parts)
      rules.parts.push_back(input.number<std::int32_t>(0, n_conditions - 1));
    rules.first_part.push_back(static_cast<std::int32_t>(rules.parts.size()));
    for (std::size_t k = 0; k < rules.start.size(); ++k) {
      rules.inside.push_back(input.real(false));
      rules.outside.push_back(input.real(false));
    }
  }
  if (input.yes()) {
    rules.terms.push_back({input.yes() ? 0 : 3, -5.0, 5.0, input.real(false), input.real(false)});
    for (std::size_t k = 0; k < rules.start.size(); ++k) rules.slopes.push_back(input.real(false));
  }
  return rules;
}

bool holds(const RuleList& rules, const Condition& condition, double x) {
  if (condition.first_answer < 0)
    return std::isnan(x) ? condition.missing : condition.lower <= x && x < condition.upper;
  const int code = static_cast<int>(x);
  return rules.answers[static_cast<std::size_t>(condition.first_answer +
                                                (code >= -1 && code < condition.n_levels ? code + 2 : 0))];
}

double plain_sum(const RuleList& rules, const Columns& columns, std::int64_t row, std::int32_t output) {
  double total = rules.start[static_cast<std::size_t>(output)];
  for (std::int32_t r = 0; r < rules.n_rules(); ++r) {
    bool all = true;
    for (std::int32_t i = rules.first_part[r]; i < rules.first_part[r + 1]; ++i) {
      const Condition& condition = rules.conditions[rules.parts[i]];
      all &= holds(rules, condition, columns.at(condition.column, row));
    }
    total += (all ? rules.inside : rules.outside)[r * rules.n_outputs() + output];
  }
  for (std::size_t t = 0; t < rules.terms.size(); ++t) {
    const Term& term = rules.terms[t];
    const double x = columns.at(term.column, row);
    const double value = std::isnan(x) ? term.missing : std::clamp(x, term.lower, term.upper);
    total += rules.slopes[t * rules.start.size() + static_cast<std::size_t>(output)] * (value - term.centre);
  }
  return total;
}

void check_evaluate(fuzz::Input& input) {
  const RuleList rules = read_rules(input);
  const Columns columns = read_columns(input);
  const auto views = columns.views();
  std::vector<double> sums(static_cast<std::size_t>(columns.n_rows * rules.n_outputs()));
  for (const auto& set : instruction_sets()) {
    evaluate(rules, views.data(), columns.n_rows, set, sums.data());
    for (std::int64_t row = 0; row < columns.n_rows; ++row)
      for (std::int32_t k = 0; k < rules.n_outputs(); ++k) {
        const double found = sums[row * rules.n_outputs() + k], expected = plain_sum(rules, columns, row, k);
        ensure(found == expected || (std::isnan(found) && std::isnan(expected)), "a sum of outputs is wrong");
      }
  }
}

// ---------------------------------------------------------------------------------------------- moments and patterns

struct Counted {
  std::vector<std::uint8_t> bins, class_code;
  std::vector<std::int32_t> features;
  std::vector<std::uint64_t> tables;
  std::vector<std::int64_t> value, weight;
  std::int64_t n_rows;
  std::int32_t n_folds;
  std::uint64_t seed, first_row;
  RuleTables rules;
  Response response;
};

void read_counted(fuzz::Input& input, Counted& c) {
  c.n_rows = input.number<std::int64_t>(0, input.number<int>(0, 7) ? 20 : 150);
  const auto n = static_cast<std::size_t>(c.n_rows);
  const auto n_features = input.number<std::int32_t>(1, 3);
  const auto n_used = input.number<std::int32_t>(0, 3), n_words = input.number<std::int32_t>(1, 2);
  c.bins = input.numbers<std::uint8_t>(n * static_cast<std::size_t>(n_features), 0, 255);
  c.features = input.numbers<std::int32_t>(static_cast<std::size_t>(n_used), 0, n_features - 1);
  c.tables = input.numbers<std::uint64_t>(static_cast<std::size_t>(256 * n_used * n_words), 0, ~std::uint64_t{0});
  c.rules = {input.number<std::int32_t>(0, input.yes() ? 6 : 64 * n_words), n_words, n_used, c.features.data(),
             c.tables.data()};
  const bool classes = input.yes();
  const auto n_sums = input.number<std::int32_t>(1, 3);
  const std::int64_t most = std::int64_t{1} << 44;
  if (classes)
    c.class_code = input.numbers<std::uint8_t>(n, 0, static_cast<std::uint8_t>(n_sums - 1));
  else
    c.value = input.numbers<std::int64_t>(n * static_cast<std::size_t>(n_sums), -most, most);
  if (input.yes()) c.weight = input.numbers<std::int64_t>(n, 0, std::int64_t{1} << 40);
  c.response = {classes ? nullptr : c.value.data(), classes ? c.class_code.data() : nullptr, n_sums,
                c.weight.empty() ? nullptr : c.weight.data()};
  c.n_folds = input.number<std::int32_t>(1, 12);
  c.seed = input.number<std::uint64_t>(0, ~std::uint64_t{0});
  c.first_row = input.number<std::uint64_t>(0, std::uint64_t{1} << 40);
}

bool holds(const Counted& c, std::int64_t row, std::int32_t rule) {
  std::vector<std::uint64_t> bits(static_cast<std::size_t>(c.rules.n_words));
  rule_bits(c.rules, c.bins.data(), c.n_rows, row, bits.data());
  return bits[static_cast<std::size_t>(rule / 64)] >> (rule % 64) & 1;
}

void check_moments(const Counted& c) {
  const Moments found = rule_moments(c.rules, c.bins.data(), c.n_rows, c.response, c.seed, c.first_row, c.n_folds);
  const std::int64_t R = c.rules.n_rules, S = c.response.n_sums;
  std::vector<std::int64_t> rows(R), size(c.n_folds), pair(c.n_folds * R * R);
  std::vector<Wide> sum(c.n_folds * S), rule_sum(c.n_folds * R * S);
  for (std::int64_t row = 0; row < c.n_rows; ++row) {
    const std::int64_t fold = fold_of_row(c.seed, c.first_row + static_cast<std::uint64_t>(row), c.n_folds);
    const std::int64_t w = c.response.weight ? c.weight[row] : 1;
    std::vector<std::int32_t> held;
    for (std::int32_t r = 0; r < R; ++r)
      if (holds(c, row, r)) held.push_back(r);
    size[fold] += w;
    for (std::int64_t s = 0; s < S; ++s) {
      const std::int64_t v = c.response.value ? c.value[s * c.n_rows + row] : c.class_code[row] == s;
      sum[fold * S + s] += wide_product(w, v);
      for (const std::int32_t r : held) rule_sum[(fold * R + r) * S + s] += wide_product(w, v);
    }
    for (const std::int32_t a : held) {
      ++rows[a];
      for (const std::int32_t b : held)
        if (b <= a) pair[(fold * R + a) * R + b] += w;
    }
  }
  ensure(found.rows == rows && found.size == size && found.pair == pair, "sizes of rules are wrong");
  ensure(found.sum == sum && found.rule_sum == rule_sum, "sums of rules are wrong");
}

void check_patterns(const Counted& c) {
  if (c.response.value && c.response.n_sums > 1) return;
  using Key = std::tuple<std::vector<bool>, std::int64_t, int>;
  std::map<Key, std::pair<std::int64_t, Wide>> expected;
  for (std::int64_t row = 0; row < c.n_rows; ++row) {
    std::vector<bool> held;
    for (std::int32_t r = 0; r < c.rules.n_rules; ++r) held.push_back(holds(c, row, r));
    const std::int64_t fold = fold_of_row(c.seed, c.first_row + static_cast<std::uint64_t>(row), c.n_folds);
    const std::int64_t w = c.response.weight ? c.weight[row] : 1;
    auto& entry = expected[{held, fold, c.response.class_code ? c.class_code[row] : 0}];
    entry.first += w;
    entry.second += wide_product(w, c.response.value ? c.value[row] : 1);
  }
  const Patterns found = rule_patterns(c.rules, c.bins.data(), c.n_rows, c.response, c.seed, c.first_row, c.n_folds);
  ensure(static_cast<std::size_t>(found.size()) == expected.size(), "there are other patterns");
  std::size_t at = 0;
  for (const auto& [key, entry] : expected) {  // a map of bits has the promised order: without the rule first
    const auto& [held, fold, code] = key;
    for (std::size_t r = 0; r < held.size(); ++r)
      ensure((found.bits[at * c.rules.n_words + r / 64] >> (r % 64) & 1) == held[r], "a pattern is out of order");
    ensure(found.fold[at] == fold && found.class_code[at] == code, "a pattern is in another fold or class");
    ensure(found.weight[at] == entry.first && found.sum[at] == entry.second, "a pattern has other sums");
    ++at;
  }
}

// Columns of ones and zeros: what the elimination keeps is what exact elimination over small integers keeps.
void check_independent(fuzz::Input& input) {
  const auto n = input.number<int>(0, 6);
  const auto n_rows = input.number<std::size_t>(1, 12);
  const auto ones = input.numbers<std::uint8_t>(n_rows * static_cast<std::size_t>(n), 0, 1);
  std::vector<std::int64_t> gram(static_cast<std::size_t>(n * n));
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (std::size_t row = 0; row < n_rows; ++row) gram[i * n + j] += ones[row * n + i] * ones[row * n + j];
  const Independent found = independent_columns(gram.data(), n);
  std::vector<std::vector<double>> kept;  // orthogonal, by Gram and Schmidt
  for (int i = 0; i < n; ++i) {
    std::vector<double> rest(n_rows);
    for (std::size_t row = 0; row < n_rows; ++row) rest[row] = ones[row * n + i];
    for (const auto& other : kept) {
      double product = 0.0, size = 0.0;
      for (std::size_t row = 0; row < n_rows; ++row) product += other[row] * rest[row], size += other[row] * other[row];
      for (std::size_t row = 0; row < n_rows; ++row) rest[row] -= product / size * other[row];
    }
    double left = 0.0;
    for (const double x : rest) left += x * x;
    ensure(found.kept[i] == (left > 1e-9), "a column is taken for a combination of others, or is not");
    if (left > 1e-9) kept.push_back(rest);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const int which = input.number<int>(0, 3);
  if (which == 0) {
    check_independent(input);
  } else if (which == 1) {
    check_evaluate(input);
  } else {
    Counted counted;
    read_counted(input, counted);
    check_moments(counted);
    check_patterns(counted);
  }
  return 0;
}
