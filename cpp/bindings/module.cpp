// What Python calls, but for the forest (bindings/forest.cpp): arrays in, arrays out, the GIL released in between.
#include "bindings/rules.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "bins/encode.hpp"
#include "bins/quantiles.hpp"
#include "evaluate/evaluate.hpp"
#include "folds/deal.hpp"
#include "forest/forest.hpp"
#include "weights/independent.hpp"
#include "weights/moments.hpp"
#include "weights/ridge.hpp"

using namespace pysirus::python;

namespace {

template <class T>
void encode(nb::ndarray<const T, nb::ndim<1>, nb::device::cpu> values, Array<double, 1> cuts, int missing_bin,
            nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> bins) {
  require(bins.shape(0) == values.shape(0), "bins and values must have an entry per row");
  require(cuts.shape(0) < 256 && missing_bin >= 0 && missing_bin < 256, "at most 255 cuts");
  nb::gil_scoped_release release;
  pysirus::encode_column(values.data(), static_cast<std::int64_t>(values.shape(0)), values.stride(0), cuts.data(),
                         static_cast<std::int32_t>(cuts.shape(0)), static_cast<std::uint8_t>(missing_bin), bins.data());
}

void recode(Array<std::uint8_t, 2> grid, Array<std::int64_t, 1> rows, Array<std::uint8_t, 2> tables,
            nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> bins) {
  const std::size_t n_rows = rows.shape(0), n_features = grid.shape(0);
  require(tables.shape(0) == n_features && tables.shape(1) == 256, "a table of 256 bins for each column of the grid");
  require(bins.shape(0) >= n_features && bins.shape(1) == n_rows, "bins must have an entry per column and row");
  nb::gil_scoped_release release;
  check_range("rows", range_of(rows.data(), n_rows), 0, static_cast<std::int64_t>(grid.shape(1)) - 1);
  for (std::size_t column = 0; column < n_features; ++column)
    pysirus::recode_column(grid.data() + column * grid.shape(1), rows.data(), static_cast<std::int64_t>(n_rows),
                           tables.data() + column * 256, bins.data() + column * n_rows);
}

Out<std::int64_t> count_bins(Array<std::uint8_t, 1> bins) {
  std::array<std::int64_t, 256> counts;
  {
    nb::gil_scoped_release release;
    counts = pysirus::count_bins(bins.data(), static_cast<std::int64_t>(bins.shape(0)));
  }
  return to_numpy(std::vector<std::int64_t>(counts.begin(), counts.end()), {256});
}

template <class T>
Out<double> order_statistics(nb::ndarray<const T, nb::ndim<1>, nb::device::cpu> values,
                             const std::vector<std::int64_t>& ranks) {
  std::vector<double> found;
  {
    nb::gil_scoped_release release;
    std::vector<T> known;
    known.reserve(values.shape(0));
    for (std::size_t i = 0; i < values.shape(0); ++i) {
      const T x = values.data()[static_cast<std::int64_t>(i) * values.stride(0)];
      if (x == x) known.push_back(x);
    }
    for (std::size_t i = 0; i < ranks.size(); ++i)
      require(ranks[i] >= 0 && static_cast<std::size_t>(ranks[i]) < known.size() && (i == 0 || ranks[i] > ranks[i - 1]),
              "ranks must rise and stay below the number of known values");
    const auto statistics = pysirus::order_statistics(known, ranks);
    found.assign(statistics.begin(), statistics.end());
  }
  const std::size_t n = found.size();
  return to_numpy(std::move(found), {n});
}

// Calls a function template for each of some types.
template <class... Types, class Call>
void for_each_type(Call call) {
  (call.template operator()<Types>(), ...);
}

void check_response(std::size_t n_rows, const std::optional<AnyArray<std::int64_t>>& value,
                    const std::optional<Array<std::uint8_t, 1>>& class_code, int n_outputs,
                    const std::optional<Array<std::int64_t, 1>>& weight, int n_folds) {
  const std::size_t columns = value ? n_columns(*value) : 1;
  require(!value || !class_code, "give value for numbers or class_code for classes, not both");
  require(has_rows(value, n_rows) && (!class_code || class_code->shape(0) == n_rows) &&
              (!weight || weight->shape(0) == n_rows),
          "value, class_code and weight must have an entry per row");
  require(n_folds >= 1 && n_folds <= kMaxFolds, "n_folds must be from 1 to 1000");
  require(n_outputs >= 1 && n_outputs <= pysirus::kMaxBins &&
              (class_code || static_cast<std::size_t>(n_outputs) == columns),
          "n_outputs must be from 1 to 256, and the number of columns of value");
  check_range("class_code", range_of(class_code), 0, n_outputs - 1);
  check_range("value", range_of(value), -kMaxMomentValue, kMaxMomentValue);
  check_range("weight", range_of(weight), 0, kMaxMomentWeight);
}

nb::dict rule_moments(Array<std::uint8_t, 2> bins, Array<std::int32_t, 1> features, Array<std::uint64_t, 3> tables,
                      int n_rules, std::optional<AnyArray<std::int64_t>> value,
                      std::optional<Array<std::uint8_t, 1>> class_code, int n_outputs,
                      std::optional<Array<std::int64_t, 1>> weight, std::uint64_t seed, int n_folds,
                      std::uint64_t first_row) {
  const auto rules = rule_tables(bins, features, tables, n_rules);
  const std::size_t n_rows = bins.shape(1);
  require(n_rules <= kMaxRidgeRules, "too many rules for moments of their pairs");
  check_response(n_rows, value, class_code, n_outputs, weight, n_folds);
  const pysirus::Response response{pointer(value), pointer(class_code), n_outputs, pointer(weight)};
  pysirus::Moments m;
  {
    nb::gil_scoped_release release;
    m = pysirus::rule_moments(rules, bins.data(), static_cast<std::int64_t>(n_rows), response, seed, first_row,
                              n_folds);
  }
  const std::size_t r = static_cast<std::size_t>(n_rules), f = static_cast<std::size_t>(n_folds),
                    s = static_cast<std::size_t>(n_outputs);
  nb::dict result;
  result["rows"] = to_numpy(std::move(m.rows), {r});
  result["size"] = to_numpy(std::move(m.size), {f});
  result["pair"] = to_numpy(std::move(m.pair), {f, r, r});
  result["sum"] = to_numpy(halves(m.sum), {f, s, 2});
  result["rule_sum"] = to_numpy(halves(m.rule_sum), {f, r, s, 2});
  result["square"] = to_numpy(halves(m.square), {f, 3, 2});
  return result;
}

nb::dict line_moments(Array<std::uint8_t, 2> bins, Array<std::int32_t, 1> features, Array<std::uint64_t, 3> tables,
                      int n_rules, Array<std::int32_t, 1> line_rows, Array<std::int32_t, 1> centres,
                      std::optional<AnyArray<std::int64_t>> value, std::optional<Array<std::uint8_t, 1>> class_code,
                      int n_outputs, std::optional<Array<std::int64_t, 1>> weight, std::uint64_t seed, int n_folds,
                      std::uint64_t first_row) {
  const auto rules = rule_tables(bins, features, tables, n_rules);
  const auto lines = line_columns(bins, line_rows, centres);
  check_response(bins.shape(1), value, class_code, n_outputs, weight, n_folds);
  const pysirus::Response response{pointer(value), pointer(class_code), n_outputs, pointer(weight)};
  pysirus::LineMoments m;
  {
    nb::gil_scoped_release release;
    m = pysirus::line_moments(rules, lines, bins.data(), static_cast<std::int64_t>(bins.shape(1)), response, seed,
                              first_row, n_folds);
  }
  const std::size_t r = static_cast<std::size_t>(n_rules), f = static_cast<std::size_t>(n_folds),
                    s = static_cast<std::size_t>(n_outputs), l = line_rows.shape(0);
  nb::dict result;
  result["rows"] = to_numpy(std::move(m.rows), {l});
  result["sum"] = to_numpy(halves(m.sum), {f, l, 2});
  result["pair"] = to_numpy(halves(m.pair), {f, l, l, 2});
  result["rule"] = to_numpy(halves(m.rule), {f, l, r, 2});
  result["value_sum"] = to_numpy(halves(m.value_sum), {f, l, s, 2, 2});
  return result;
}

Out<double> ridge_errors(Array<double, 3> train_gram, Array<double, 2> train_cross, Array<double, 3> test_gram,
                         Array<double, 2> test_cross, Array<double, 1> test_square, Array<double, 2> penalties) {
  const std::size_t n_folds = train_gram.shape(0), n_rules = train_gram.shape(1);
  require(train_gram.shape(2) == n_rules && test_gram.shape(0) == n_folds && test_gram.shape(1) == n_rules &&
              test_gram.shape(2) == n_rules && train_cross.shape(0) == n_folds && train_cross.shape(1) == n_rules &&
              test_cross.shape(0) == n_folds && test_cross.shape(1) == n_rules && test_square.shape(0) == n_folds &&
              penalties.shape(0) == n_rules,
          "the shapes of the Gram matrices do not agree");
  require(n_rules <= kMaxRidgeRules, "too many rules for a ridge");
  const pysirus::RidgeFolds folds{static_cast<std::int32_t>(n_rules),
                                  static_cast<std::int32_t>(n_folds),
                                  train_gram.data(),
                                  train_cross.data(),
                                  test_gram.data(),
                                  test_cross.data(),
                                  test_square.data()};
  std::vector<double> errors(n_rules * penalties.shape(1));
  if (n_rules > 0) {
    nb::gil_scoped_release release;
    pysirus::ridge_errors(folds, penalties.data(), static_cast<int>(penalties.shape(1)), errors.data());
  }
  return to_numpy(std::move(errors), {n_rules, penalties.shape(1)});
}

Out<double> ridge_weights(Array<double, 2> gram, Array<double, 1> cross, Array<double, 1> penalties) {
  const std::size_t n_rules = gram.shape(0);
  require(gram.shape(1) == n_rules && cross.shape(0) == n_rules && penalties.shape(0) == n_rules,
          "the shapes of the Gram matrices do not agree");
  require(n_rules <= kMaxRidgeRules, "too many rules for a ridge");
  std::vector<double> weights(n_rules * n_rules);
  {
    nb::gil_scoped_release release;
    if (n_rules > 0) {
      pysirus::Ridge ridge(gram.data(), static_cast<int>(n_rules), cross.data(), penalties.data()[0]);
      for (std::size_t size = 1; size <= n_rules; ++size) {
        ridge.set_penalty(penalties.data()[size - 1]);
        ridge.grow();
        for (int rule : ridge.positive()) weights[(size - 1) * n_rules + rule] = ridge.weight(rule);
      }
    }
  }
  return to_numpy(std::move(weights), {n_rules, n_rules});
}

nb::tuple independent_columns(Array<std::int64_t, 2> gram) {
  const std::size_t n = gram.shape(0);
  require(gram.shape(1) == n && n < 65536, "a Gram matrix is square, of fewer than 65,536 columns");
  for (std::size_t i = 0; i < n * n; ++i) require(gram.data()[i] >= 0, "the entries of a Gram matrix are not negative");
  pysirus::Independent found;
  {
    nb::gil_scoped_release release;
    found = pysirus::independent_columns(gram.data(), static_cast<int>(n));
  }
  return nb::make_tuple(to_numpy(std::move(found.kept), {n}), to_numpy(std::move(found.coefficients), {n, n}));
}

// The one that is named, if this machine has it, or the best.
const std::string& instruction_set_of(const std::optional<std::string>& named) {
  static const std::vector<std::string> here = pysirus::instruction_sets();
  if (!named) return here[0];
  check_instruction_set(*named, here);
  return *named;
}

std::int32_t add_condition(pysirus::RuleList& rules, const pysirus::Condition& condition) {
  require(condition.column >= 0 && static_cast<std::size_t>(condition.column) < rules.columns.size(), "no such column");
  rules.conditions.push_back(condition);
  return static_cast<std::int32_t>(rules.conditions.size()) - 1;
}

void add_rule(pysirus::RuleList& rules, const std::vector<std::int32_t>& conditions, const std::vector<double>& inside,
              const std::vector<double>& outside) {
  require(inside.size() == rules.start.size() && outside.size() == rules.start.size(), "a number for each output");
  for (const std::int32_t c : conditions)
    require(c >= 0 && static_cast<std::size_t>(c) < rules.conditions.size(), "no such condition");
  rules.parts.insert(rules.parts.end(), conditions.begin(), conditions.end());
  rules.first_part.push_back(static_cast<std::int32_t>(rules.parts.size()));
  rules.inside.insert(rules.inside.end(), inside.begin(), inside.end());
  rules.outside.insert(rules.outside.end(), outside.begin(), outside.end());
}

// Sums that are written before they are read.
struct Sums {
  std::unique_ptr<double[]> data;
  std::size_t n_rows, n_outputs;
  Sums(std::size_t rows, std::size_t outputs)
      : data(new double[std::max<std::size_t>(1, product_of(rows, outputs, sizeof(double)))]), n_rows(rows),
        n_outputs(outputs) {}
  Out<double> to_numpy() {
    double* owned = data.release();
    nb::capsule owner(owned, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return Out<double>(owned, {n_rows, n_outputs}, owner);
  }
};

Out<double> evaluate(const pysirus::RuleList& rules, const std::vector<AnyColumn>& columns, std::size_t n_rows,
                     const std::optional<std::string>& instruction_set) {
  require(columns.size() == rules.columns.size(), "an array for each column in use");
  std::vector<pysirus::ColumnView> views;
  for (const AnyColumn& column : columns) views.push_back(column_view(column, n_rows));
  const std::string& set = instruction_set_of(instruction_set);
  Sums sums(n_rows, rules.start.size());
  {
    nb::gil_scoped_release release;
    pysirus::evaluate(rules, views.data(), static_cast<std::int64_t>(n_rows), set, sums.data.get());
  }
  return sums.to_numpy();
}

std::optional<Out<double>> evaluate_matrix(const pysirus::RuleList& rules, const AnyColumn& matrix,
                                           const std::optional<std::string>& instruction_set) {
  require(matrix.ndim() == 2, "a matrix has two dimensions");
  for (const std::int32_t column : rules.columns)
    require(column >= 0 && static_cast<std::size_t>(column) < matrix.shape(1), "the matrix has too few columns");
  const pysirus::MatrixView view{matrix.data(),
                                 static_cast<std::int64_t>(matrix.shape(0)),
                                 static_cast<std::int64_t>(matrix.shape(1)),
                                 matrix.stride(0),
                                 matrix.stride(1),
                                 number_type(matrix.dtype())};
  const std::string& set = instruction_set_of(instruction_set);
  Sums sums(matrix.shape(0), rules.start.size());
  bool finite;
  {
    nb::gil_scoped_release release;
    finite = pysirus::evaluate_matrix(rules, view, set, sums.data.get());
  }
  if (!finite) return std::nullopt;
  return sums.to_numpy();
}

void bind_rule_list(nb::module_& m) {
  using pysirus::RuleList;
  nb::class_<RuleList>(m, "RuleList", "Rules and linear terms in a form that evaluates fast.")
      .def(
          "__init__",
          [](RuleList* list, std::vector<std::int32_t> columns, std::vector<double> start) {
            require(!start.empty(), "at least one output");
            new (list) RuleList();
            list->columns = std::move(columns);
            list->start = std::move(start);
          },
          "columns"_a, "start"_a)
      .def(
          "add_interval",
          [](RuleList& rules, int column, double lower, double upper, bool missing) {
            return add_condition(rules, {column, lower, upper, missing});
          },
          "column"_a, "lower"_a, "upper"_a, "missing"_a, "A condition lower <= x < upper; its number.")
      .def(
          "add_levels",
          [](RuleList& rules, int column, const std::vector<bool>& answers) {
            require(answers.size() >= 2, "answers begin with that for a level never seen and that for missing");
            const auto first = static_cast<std::int32_t>(rules.answers.size());
            rules.answers.insert(rules.answers.end(), answers.begin(), answers.end());
            return add_condition(rules,
                                 {column, 0.0, 0.0, false, first, static_cast<std::int32_t>(answers.size()) - 2});
          },
          "column"_a, "answers"_a, "A condition on codes -2, -1, 0, 1, ...; its number.")
      .def("add_rule", &add_rule, "conditions"_a, "inside"_a, "outside"_a)
      .def(
          "add_term",
          [](RuleList& rules, int column, const std::vector<double>& slopes, double lower, double upper, double missing,
             double centre) {
            require(column >= 0 && static_cast<std::size_t>(column) < rules.columns.size(), "no such column");
            require(slopes.size() == rules.start.size(), "a slope for each output");
            rules.terms.push_back({column, lower, upper, missing, centre});
            rules.slopes.insert(rules.slopes.end(), slopes.begin(), slopes.end());
          },
          "column"_a, "slopes"_a, "lower"_a, "upper"_a, "missing"_a, "centre"_a,
          "A column within limits, less its centre, times a slope for each output.")
      .def("evaluate", &evaluate, "columns"_a, "n_rows"_a, "instruction_set"_a.none() = nb::none(),
           "Sums [row, output] over arrays of the columns in use.")
      .def("evaluate_matrix", &evaluate_matrix, "matrix"_a, "instruction_set"_a.none() = nb::none(),
           "The same over the columns of a matrix; None if it holds an infinite number, in whatever column.");
}

Out<std::uint32_t> folds_of(std::uint64_t seed, std::int64_t n_rows, std::uint32_t n_folds) {
  require(n_rows >= 0 && n_folds >= 1, "n_rows must not be negative, n_folds must be at least 1");
  std::vector<std::uint32_t> folds(static_cast<std::size_t>(n_rows));
  for (std::size_t row = 0; row < folds.size(); ++row) folds[row] = pysirus::fold_of_row(seed, row, n_folds);
  const std::size_t n = folds.size();
  return to_numpy(std::move(folds), {n});
}

Out<std::uint32_t> deal(std::int64_t n_rows, std::optional<Array<std::uint8_t, 1>> stratum,
                        const std::vector<std::int64_t>& size, const std::vector<std::int64_t>& rank,
                        std::uint64_t seed, std::uint32_t n_folds) {
  require(n_rows >= 0 && n_folds >= 1, "n_rows must not be negative, n_folds must be at least 1");
  require(!stratum || stratum->shape(0) == static_cast<std::size_t>(n_rows), "stratum must have an entry per row");
  require(!size.empty() && rank.size() == size.size(), "a size and a rank for each stratum");
  check_range("stratum", range_of(stratum), 0, static_cast<std::int64_t>(size.size()) - 1);
  std::vector<std::uint32_t> folds(static_cast<std::size_t>(n_rows));
  {
    nb::gil_scoped_release release;
    std::vector<std::int64_t> here(size.size());
    if (stratum)
      for (std::int64_t row = 0; row < n_rows; ++row) ++here[stratum->data()[row]];
    else
      here[0] = n_rows;
    for (std::size_t s = 0; s < size.size(); ++s)
      require(rank[s] >= 0 && size[s] >= rank[s] && here[s] <= size[s] - rank[s],
              "more rows in a stratum than its size");
    pysirus::deal(pointer(stratum), n_rows, {size.begin(), size.end()}, {rank.begin(), rank.end()}, seed, n_folds,
                  folds.data());
  }
  const std::size_t n = folds.size();
  return to_numpy(std::move(folds), {n});
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The compiled core: binned columns in, splits, path counts, moments of rules and ridge weights out.";
  bind_forest(m);
  bind_likelihood(m);
  bind_cox(m);
  bind_remember(m);
  constexpr const char* encode_doc = "Write the bin of each value: the number of cuts at or below it, or missing_bin.";
  for_each_type<double, float, std::int64_t, std::int32_t, std::int16_t, std::int8_t, std::uint64_t, std::uint32_t,
                std::uint16_t, std::uint8_t>([&]<class T>() {
    m.def("encode", &encode<T>, "values"_a.noconvert(), "cuts"_a, "missing_bin"_a, "bins"_a, encode_doc);
    m.def("order_statistics", &order_statistics<T>, "values"_a.noconvert(), "ranks"_a,
          "The known values of these ranks (0 is the least), by selection.");
  });
  m.def("recode", &recode, "grid"_a, "rows"_a, "tables"_a, "bins"_a,
        "Write what the table of each column makes of the bins of some rows.");
  m.def("count_bins", &count_bins, "bins"_a, "How many rows are in each of 256 bins.");
  m.def("rule_moments", &rule_moments, "bins"_a, "features"_a, "tables"_a, "n_rules"_a, "value"_a.none(),
        "class_code"_a.none(), "n_outputs"_a, "weight"_a.none(), "seed"_a, "n_folds"_a, "first_row"_a = 0,
        "Sizes, pair sizes and response sums of rules in each fold; the last as halves, high * 2**48 + low.");
  m.def("line_moments", &line_moments, "bins"_a, "features"_a, "tables"_a, "n_rules"_a, "line_rows"_a, "centres"_a,
        "value"_a.none(), "class_code"_a.none(), "n_outputs"_a, "weight"_a.none(), "seed"_a, "n_folds"_a,
        "first_row"_a = 0, "Moments of lines, with each other, with rules and with the response.");
  m.def("ridge_errors", &ridge_errors, "train_gram"_a, "train_cross"_a, "test_gram"_a, "test_cross"_a, "test_square"_a,
        "penalties"_a, "Cross-validated squared error of the first 1, 2, ... rules at each of their penalties.");
  m.def("ridge_weights", &ridge_weights, "gram"_a, "cross"_a, "penalties"_a,
        "Non-negative ridge weights of the first 1, 2, ... rules, each at its penalty.");
  m.def("independent_columns", &independent_columns, "gram"_a,
        "Which columns of a Gram matrix are no combinations of earlier ones, and the coefficients of the others modulo "
        "2**61 - 1.");
  bind_rule_list(m);
  m.def("deal", &deal, "n_rows"_a, "stratum"_a.none(), "size"_a, "rank"_a, "seed"_a, "n_folds"_a,
        "The fold that holds out each row: of strata of these sizes, from these ranks on.");
  m.def("folds_of", &folds_of, "seed"_a, "n_rows"_a, "n_folds"_a, "The fold of each row.");
}
