// What Python calls of weights by likelihood: arrays in, arrays out, the GIL released in between.
#include "weights/likelihood.hpp"

#include <string>

#include "bindings/rules.hpp"
#include "forest/pool.hpp"

namespace pysirus::python {

namespace {

nb::dict to_dict(Patterns&& table) {
  const auto n = static_cast<std::size_t>(table.size());
  nb::dict result;
  result["bits"] = to_numpy(std::move(table.bits), {n, static_cast<std::size_t>(table.n_words)});
  result["fold"] = to_numpy(std::move(table.fold), {n});
  result["class_code"] = to_numpy(std::move(table.class_code), {n});
  result["weight"] = to_numpy(std::move(table.weight), {n});
  result["sum"] = to_numpy(halves(table.sum), {n, 2});
  const auto n_lines = static_cast<std::size_t>(table.lines.size());
  result["values"] = to_numpy(std::move(table.lines.values), {n, n_lines});
  return result;
}

using Bits = Array<std::uint64_t, 2>;
using Bytes = Array<std::uint8_t, 1>;

constexpr int kMaxPatternFolds = 256;  // a byte

using Values = Array<std::int32_t, 2>;

Patterns from_arrays(const Bits& bits, const Bytes& fold, const Bytes& class_code, const Array<std::int64_t, 1>& weight,
                     const Array<std::int64_t, 2>& sum, const Values& values,
                     const std::vector<std::int32_t>& line_terms) {
  const std::size_t n = bits.shape(0);
  require(
      fold.shape(0) == n && class_code.shape(0) == n && weight.shape(0) == n && sum.shape(0) == n && sum.shape(1) == 2,
      "patterns must have a fold, a class code, a weight and both halves of a sum each");
  require(values.shape(0) == n, "patterns must have the values of their lines");
  check_line_terms(line_terms, values.shape(1), bits.shape(1));
  Patterns table{static_cast<std::int32_t>(bits.shape(1)), {}, {}, {}, {}, {}, {line_terms, {}}};
  table.lines.values.assign(values.data(), values.data() + n * values.shape(1));
  table.bits.assign(bits.data(), bits.data() + n * bits.shape(1));
  table.fold.assign(fold.data(), fold.data() + n);
  table.class_code.assign(class_code.data(), class_code.data() + n);
  table.weight.assign(weight.data(), weight.data() + n);
  for (std::size_t i = 0; i < n; ++i) {
    table.sum.push_back(wide_product(sum.data()[2 * i], std::int64_t{1} << 48));
    table.sum.back() += wide_product(sum.data()[2 * i + 1], 1);
  }
  return table;
}

nb::dict rule_patterns_of(Array<std::uint8_t, 2> bins, Array<std::int32_t, 1> features, Array<std::uint64_t, 3> tables,
                          int n_rules, std::optional<Array<std::int64_t, 1>> value, std::optional<Bytes> class_code,
                          std::optional<Array<std::int64_t, 1>> weight, std::uint64_t seed, int n_folds,
                          std::uint64_t first_row, Array<std::int32_t, 1> line_rows, Array<std::int32_t, 1> centres,
                          const std::vector<std::int32_t>& line_terms, std::uint64_t most_sampled) {
  const RuleTables rules = rule_tables(bins, features, tables, n_rules);
  const LineColumns lines = line_columns(bins, line_rows, centres);
  check_line_terms(line_terms, line_rows.shape(0), tables.shape(2));
  const std::size_t n_rows = bins.shape(1);
  require((!value || value->shape(0) == n_rows) && (!class_code || class_code->shape(0) == n_rows) &&
              (!weight || weight->shape(0) == n_rows),
          "value, class_code and weight must have an entry per row");
  require(n_folds >= 1 && n_folds < kMaxPatternFolds, "n_folds must be from 1 to 255");
  check_range("value", range_of(value), -kMaxMomentValue, kMaxMomentValue);
  check_range("weight", range_of(weight), 0, kMaxMomentWeight);
  Patterns table;
  {
    nb::gil_scoped_release release;
    const Response response{pointer(value), pointer(class_code), 1, pointer(weight)};
    table = rule_patterns(rules, bins.data(), static_cast<std::int64_t>(n_rows), response, seed, first_row, n_folds,
                          lines, line_terms, most_sampled);
  }
  return to_dict(std::move(table));
}

nb::dict merge_patterns(Bits bits, Bytes fold, Bytes class_code, Array<std::int64_t, 1> weight,
                        Array<std::int64_t, 2> sum, Values values, const std::vector<std::int32_t>& line_terms) {
  Patterns table = from_arrays(bits, fold, class_code, weight, sum, values, line_terms);
  {
    nb::gil_scoped_release release;
    table = in_order(table);
  }
  return to_dict(std::move(table));
}

// Calls with the family that a name stands for.
template <class Call>
auto with_family(const std::string& loss, double power, std::int32_t n_scores, const Call& call) {
  if (loss == "softmax") {
    require(n_scores >= 2, "one output a rule; for softmax one a class");
    return call(Softmax{n_scores});
  }
  require(n_scores == 1, "one output a rule; for softmax one a class");
  require(loss != "tweedie" || (power > 1.0 && power < 2.0), "power must be between 1 and 2");
  if (loss == "logistic") return call(OneScore<Logistic>{});
  if (loss == "poisson") return call(OneScore<Poisson>{});
  if (loss == "gamma") return call(OneScore<Gamma>{});
  if (loss == "tweedie") return call(OneScore<Tweedie>{{power}});
  require(loss == "squared", "loss must be the name of one in losses.hpp");
  return call(OneScore<Squared>{});
}

struct Wanted {
  std::vector<std::int32_t> sizes;
  std::vector<double> gap, grid;
  const double* penalties;  // [size]; null to choose them from the grid
  std::int32_t n_folds;
  double tol;
  int n_threads;
  std::int32_t n_held;
};

template <class Family>
std::vector<Fitted> fit_sizes(const Patterns& table, const Reading& reading, const Wanted& wanted,
                              const Family& family) {
  const PrefixMaker maker(table, reading, wanted.n_folds);
  std::vector<Fitted> fitted(wanted.sizes.size());
  // the longest first: threads end together
  const auto fit_one = [&](std::int64_t piece, const auto&) {
    const std::size_t i = wanted.sizes.size() - 1 - static_cast<std::size_t>(piece);
    const Prefix prefix = maker.make(wanted.sizes[i], true), whole = maker.make(wanted.sizes[i], false);
    Fit<Family> fit(prefix, whole, wanted.gap, family, wanted.n_folds, wanted.tol, wanted.n_held, !maker.all_sampled());
    fitted[i] = fit.run(wanted.grid, wanted.penalties ? wanted.penalties + i : nullptr);
  };
  if (wanted.n_threads <= 1)
    for (std::size_t piece = 0; piece < wanted.sizes.size(); ++piece) fit_one(static_cast<std::int64_t>(piece), 0);
  else
    run_pieces(
        static_cast<std::int64_t>(wanted.sizes.size()), wanted.n_threads, [] { return false; },
        [&] { return fit_one; });
  return fitted;
}

nb::dict likelihood_weights(Bits bits, Bytes fold, Bytes class_code, Array<std::int64_t, 1> weight,
                            Array<std::int64_t, 2> sum, Values values, const std::vector<std::int32_t>& line_terms,
                            const std::string& loss, bool classes, double centre, int exponent, Array<double, 2> gap,
                            std::vector<std::int32_t> sizes, std::vector<double> grid,
                            std::optional<Array<double, 1>> penalties, int n_folds, double tol, int n_threads,
                            int n_held, double power) {
  const Patterns table = from_arrays(bits, fold, class_code, weight, sum, values, line_terms);
  const std::size_t n_rules = gap.shape(0), n_scores = gap.shape(1), n_sizes = sizes.size();
  require(table.size() > 0, "no rows");
  require(n_folds >= 1 && n_folds < kMaxPatternFolds, "n_folds must be from 1 to 255");
  require(n_rules <= kMaxRidgeRules, "too many rules");
  check_range("weight", range_of(weight.data(), weight.shape(0)), 1, std::numeric_limits<std::int64_t>::max());
  require(n_rules <= 64 * bits.shape(1), "too few words for the rules");
  for (const std::int32_t size : sizes)
    require(size >= 0 && static_cast<std::size_t>(size) <= n_rules, "sizes must be 0 to the number of rules");
  for (const std::uint8_t f : table.fold) require(f <= n_folds, "no such fold");
  for (const std::uint8_t s : table.class_code) require(s < std::max<std::size_t>(2, n_scores), "no such class");
  require(n_held >= 0 && static_cast<std::size_t>(n_held) <= n_rules, "n_held must be 0 to the number of rules");
  require(!penalties || penalties->shape(0) == n_sizes, "a penalty for each size");
  require(penalties || !grid.empty(), "the grid of penalties is empty");
  std::vector<Fitted> fitted;
  const std::size_t n_penalties = grid.size();
  {
    nb::gil_scoped_release release;
    const Reading reading{classes, static_cast<std::int32_t>(n_scores), exponent, centre};
    const Wanted wanted{std::move(sizes), {gap.data(), gap.data() + n_rules * n_scores},
                        std::move(grid),  pointer(penalties),
                        n_folds,          tol,
                        n_threads,        n_held};
    fitted = with_family(loss, power, static_cast<std::int32_t>(n_scores),
                         [&](const auto& family) { return fit_sizes(table, reading, wanted, family); });
  }
  std::vector<double> points(n_sizes * (n_scores + n_rules)), losses, chosen, gradient_norm;
  for (std::size_t i = 0; i < n_sizes; ++i) {
    std::copy(fitted[i].point.begin(), fitted[i].point.end(), points.begin() + i * (n_scores + n_rules));
    losses.insert(losses.end(), fitted[i].losses.begin(), fitted[i].losses.end());
    chosen.push_back(fitted[i].penalty);
    gradient_norm.push_back(fitted[i].gradient_norm);
  }
  nb::dict result;
  result["points"] = to_numpy(std::move(points), {n_sizes, n_scores + n_rules});
  result["losses"] = to_numpy(std::move(losses), {n_sizes, n_penalties});
  result["penalties"] = to_numpy(std::move(chosen), {n_sizes});
  result["gradient_norm"] = to_numpy(std::move(gradient_norm), {n_sizes});
  return result;
}

// The scores of rows, from the rules that hold.
Out<double> rule_scores(Array<std::uint8_t, 2> bins, Array<std::int32_t, 1> features, Array<std::uint64_t, 3> tables,
                        Array<double, 2> gap, std::vector<double> point, Array<std::int32_t, 1> line_rows,
                        Array<std::int32_t, 1> centres, const std::vector<std::int32_t>& line_terms) {
  const std::size_t n_rows = bins.shape(1), n_rules = gap.shape(0), n_scores = gap.shape(1);
  const RuleTables rules = rule_tables(bins, features, tables, static_cast<int>(n_rules));
  const LineColumns lines = line_columns(bins, line_rows, centres);
  check_line_terms(line_terms, line_rows.shape(0), tables.shape(2));
  for (const std::int32_t term : line_terms) require(static_cast<std::size_t>(term) < n_rules, "no such term");
  require(point.size() == n_scores + n_rules, "an intercept for each score, then a weight for each rule");
  std::vector<double> scores(n_rows * n_scores);
  {
    nb::gil_scoped_release release;
    const std::vector<double> gaps(gap.data(), gap.data() + n_rules * n_scores);
    const auto k = static_cast<std::int32_t>(n_rules);
    Prefix row{k, (k + 7) / 8, static_cast<std::int32_t>(n_scores), {}, {}, {}, {}, {}, line_terms};
    row.bytes.resize(row.n_bytes);
    row.values.resize(line_terms.size());
    Scores sums;
    sums.set(row, gaps, point.data());
    std::vector<std::uint64_t> bits(rules.n_words);
    for (std::size_t i = 0; i < n_rows; ++i) {
      clean_bits(rules, bins.data(), static_cast<std::int64_t>(n_rows), static_cast<std::int64_t>(i), bits.data());
      for (std::int32_t l = 0; l < lines.n_lines; ++l) {
        bits[line_terms[l] / 64] &= ~(std::uint64_t{1} << (line_terms[l] % 64));
        row.values[l] =
            line_value(lines, bins.data(), static_cast<std::int64_t>(n_rows), static_cast<std::int64_t>(i), l);
      }
      for (std::int32_t b = 0; b < row.n_bytes; ++b)
        row.bytes[b] = static_cast<std::uint8_t>(bits[b / 8] >> (8 * (b % 8)));
      for (std::size_t c = 0; c < n_scores; ++c)
        scores[i * n_scores + c] = sums.of(row, 0, static_cast<std::int64_t>(c));
    }
  }
  return to_numpy(std::move(scores), {n_rows, n_scores});
}

// Slope and loss of rows of weight 1 with a score; y is [row] or, for softmax, one-hot [row][class].
template <Loss L>
void row_losses(const OneScore<L>& family, const double* eta, const double* y, std::size_t n, double* value,
                double* slope) {
  Curves curves;
  for (std::size_t start = 0; start < n; start += Curves::kMost) {
    const std::size_t end = std::min(n, start + Curves::kMost);
    family.curves(eta + start, static_cast<std::int64_t>(end - start), curves);
    for (std::size_t i = start; i < end; ++i) {
      const std::size_t k = i - start;
      value[i] = curves.a[k] + y[i] * curves.b[k];
      slope[i] = curves.a1[k] + y[i] * curves.b1[k];
    }
  }
}

void row_losses(const Softmax& family, const double* eta, const double* y, std::size_t n, double* value,
                double* slope) {
  const auto C = static_cast<std::size_t>(family.n_classes);
  for (std::size_t i = 0; i < n; ++i) {
    value[i] = family.shares(eta + i * C, slope + i * C);
    for (std::size_t c = 0; c < C; ++c) {
      value[i] -= y[i * C + c] * eta[i * C + c];
      slope[i * C + c] -= y[i * C + c];
    }
  }
}

template <Loss L>
double least_loss(const OneScore<L>& family, const double* y) {
  return family.loss.least(*y);
}

double least_loss(const Softmax& family, const double* y) {
  double sum = 0.0;
  for (std::int32_t c = 0; c < family.n_classes; ++c) sum += times_log(y[c]);
  return -sum;
}

void check_rows(const Array<double, 2>& eta, const Array<double, 2>& y) {
  require(y.shape(0) == eta.shape(0) && y.shape(1) == eta.shape(1), "scores and responses must have the same shape");
}

nb::tuple loss_of_rows(const std::string& loss, Array<double, 2> eta, Array<double, 2> y, double power) {
  const std::size_t n = eta.shape(0), n_scores = eta.shape(1);
  check_rows(eta, y);
  std::vector<double> value(n), slope(n * n_scores);
  {
    nb::gil_scoped_release release;
    with_family(loss, power, static_cast<std::int32_t>(n_scores),
                [&](const auto& family) { row_losses(family, eta.data(), y.data(), n, value.data(), slope.data()); });
  }
  return nb::make_tuple(to_numpy(std::move(value), {n}), to_numpy(std::move(slope), {n, n_scores}));
}

// Twice the loss of each row, less that of a score that knows its response.
Out<double> deviance_of_rows(const std::string& loss, Array<double, 2> eta, Array<double, 2> y, double power) {
  const std::size_t n = eta.shape(0), n_scores = eta.shape(1);
  check_rows(eta, y);
  std::vector<double> value(n), slope(n * n_scores);
  {
    nb::gil_scoped_release release;
    with_family(loss, power, static_cast<std::int32_t>(n_scores), [&](const auto& family) {
      row_losses(family, eta.data(), y.data(), n, value.data(), slope.data());
      for (std::size_t i = 0; i < n; ++i) value[i] = 2.0 * (value[i] - least_loss(family, y.data() + i * n_scores));
    });
  }
  return to_numpy(std::move(value), {n});
}

// Calls with the loss that a name stands for, which has one score.
template <class Call>
void with_loss(const std::string& loss, double power, const Call& call) {
  require(loss != "softmax", "a loss of one score");
  with_family(loss, power, 1, [&](const auto& family) {
    if constexpr (requires { family.loss; }) call(family.loss);
  });
}

// The mean responses that scores stand for.
Out<double> mean_of_scores(const std::string& loss, Array<double, 1> eta, double power) {
  const std::size_t n = eta.shape(0);
  std::vector<double> mean(n);
  with_loss(loss, power, [&](const auto& own) {
    for (std::size_t i = 0; i < n; ++i) mean[i] = own.mean(eta.data()[i]);
  });
  return to_numpy(std::move(mean), {n});
}

// The deviance of each row, told by its mean.
Out<double> deviance_of_means(const std::string& loss, Array<double, 1> mean, Array<double, 1> y, double power) {
  const std::size_t n = mean.shape(0);
  require(y.shape(0) == n, "a response for each mean");
  std::vector<double> deviance(n);
  with_loss(loss, power, [&](const auto& own) {
    for (std::size_t i = 0; i < n; ++i) deviance[i] = 2.0 * own.half_deviance(mean.data()[i], y.data()[i]);
  });
  return to_numpy(std::move(deviance), {n});
}

// Slope and curvature in the score, of rows that share a mean: their weight and their weighted sum of responses.
nb::tuple slopes_at_means(const std::string& loss, Array<double, 1> mean, Array<double, 1> weight, Array<double, 1> sum,
                          double power) {
  const std::size_t n = mean.shape(0);
  require(weight.shape(0) == n && sum.shape(0) == n, "a weight and a sum for each mean");
  std::vector<double> slope(n), curvature(n);
  with_loss(loss, power, [&](const auto& own) {
    for (std::size_t i = 0; i < n; ++i) {
      const Slopes found = own.at_mean(mean.data()[i], weight.data()[i], sum.data()[i]);
      slope[i] = found.slope;
      curvature[i] = found.curvature;
    }
  });
  return nb::make_tuple(to_numpy(std::move(slope), {n}), to_numpy(std::move(curvature), {n}));
}

template <double (*function)(double)>
Out<double> of_each(Array<double, 1> x) {
  std::vector<double> result(x.shape(0));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = function(x.data()[i]);
  const std::size_t n = result.size();
  return to_numpy(std::move(result), {n});
}

}  // namespace

void bind_likelihood(nb::module_& m) {
  m.def("rule_patterns", &rule_patterns_of, "bins"_a, "features"_a, "tables"_a, "n_rules"_a, "value"_a.none(),
        "class_code"_a.none(), "weight"_a.none(), "seed"_a, "n_folds"_a, "first_row"_a, "line_rows"_a, "centres"_a,
        "line_terms"_a, "most_sampled"_a,
        "Which rules hold together, in which fold and with which response: exact sums, in the order of the patterns.");
  m.def("merge_patterns", &merge_patterns, "bits"_a, "fold"_a, "class_code"_a, "weight"_a, "sum"_a, "values"_a,
        "line_terms"_a, "Patterns in order, equal ones added up.");
  m.def("likelihood_weights", &likelihood_weights, "bits"_a, "fold"_a, "class_code"_a, "weight"_a, "sum"_a, "values"_a,
        "line_terms"_a, "loss"_a, "classes"_a, "centre"_a, "exponent"_a, "gap"_a, "sizes"_a, "grid"_a,
        "penalties"_a.none(), "n_folds"_a, "tol"_a, "n_threads"_a, "n_held"_a = 0, "power"_a = 0.0,
        "Intercepts and weights [size, score + rule] by penalised likelihood.");
  m.def("rule_scores", &rule_scores, "bins"_a, "features"_a, "tables"_a, "gap"_a, "point"_a, "line_rows"_a, "centres"_a,
        "line_terms"_a, "Scores [row, score] from intercepts and weights.");
  m.def("loss_of_rows", &loss_of_rows, "loss"_a, "eta"_a, "y"_a, "power"_a = 0.0,
        "Loss [row] and its slope [row, score].");
  m.def("deviance_of_rows", &deviance_of_rows, "loss"_a, "eta"_a, "y"_a, "power"_a = 0.0, "Deviance [row] of scores.");
  m.def("mean_of_scores", &mean_of_scores, "loss"_a, "eta"_a, "power"_a = 0.0, "The means that scores stand for.");
  m.def("deviance_of_means", &deviance_of_means, "loss"_a, "mean"_a, "y"_a, "power"_a = 0.0, "Deviance of each row.");
  m.def("slopes_at_means", &slopes_at_means, "loss"_a, "mean"_a, "weight"_a, "sum"_a, "power"_a = 0.0,
        "Slope and curvature in the score of rows that share a mean.");
  m.def("exp", &of_each<own_exp>, "x"_a, "The same on every machine.");
  m.def("log", &of_each<own_log>, "x"_a, "The same on every machine.");
  m.def("log1p", &of_each<own_log1p>, "x"_a, "log(1 + x) for x in [0, 1], the same on every machine.");
}

}  // namespace pysirus::python
