// What Python calls of weights by Cox's partial likelihood: arrays in, arrays out, the GIL released in between.
#include <cmath>

#include "bindings/rules.hpp"
#include "evaluate/concordance.hpp"
#include "forest/pool.hpp"
#include "weights/cox_fit.hpp"

namespace pysirus::python {

namespace {

using Bytes = Array<std::uint8_t, 1>;
using Numbers = Array<std::int64_t, 1>;

constexpr int kMaxCoxFolds = 255;  // one more than there are folds still has to be a byte

// Which rules hold in each row [row][word].
Out<std::uint64_t> row_bits(Array<std::uint8_t, 2> bins, Array<std::int32_t, 1> features,
                            Array<std::uint64_t, 3> tables, int n_rules) {
  const RuleTables rules = rule_tables(bins, features, tables, n_rules);
  const std::size_t n_rows = bins.shape(1), n_words = tables.shape(2);
  std::vector<std::uint64_t> bits(product_of(n_rows, n_words, sizeof(std::uint64_t)));
  {
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < n_rows; ++i)
      clean_bits(rules, bins.data(), static_cast<std::int64_t>(n_rows), static_cast<std::int64_t>(i),
                 bits.data() + i * n_words);
  }
  return to_numpy(std::move(bits), {n_rows, n_words});
}

void check_rows(const Array<std::int32_t, 1>& span, const Bytes& event, int n_times) {
  require(n_times >= 0, "n_times must not be negative");
  require(event.shape(0) == span.shape(0), "event must have an entry per row");
  check_range("span", range_of(span.data(), span.shape(0)), 0, n_times);
  check_range("event", range_of(event.data(), event.shape(0)), 0, 1);
  for (std::size_t i = 0; i < span.shape(0); ++i)
    require(!event.data()[i] || span.data()[i] > 0, "a row with an event must have a span above 0");
}

std::vector<Fitted> fit_sizes(const CoxTable& table, const std::vector<std::int32_t>& sizes,
                              const std::vector<double>& gap, const std::vector<double>& grid, const double* penalties,
                              double tol, int n_threads, std::int32_t n_held) {
  std::vector<Fitted> fitted(sizes.size());
  // the longest first: threads end together
  const auto fit_one = [&](std::int64_t piece, const auto&) {
    const std::size_t i = sizes.size() - 1 - static_cast<std::size_t>(piece);
    fitted[i] = CoxFit(table, sizes[i], gap, tol, n_held).run(grid, penalties ? penalties + i : nullptr);
  };
  const auto n = static_cast<std::int64_t>(sizes.size());
  if (n_threads <= 1)
    for (std::int64_t piece = 0; piece < n; ++piece) fit_one(piece, 0);
  else
    run_pieces(n, n_threads, [] { return false; }, [&] { return fit_one; });
  return fitted;
}

nb::dict cox_weights(Array<std::uint64_t, 2> bits, Array<std::int32_t, 1> span, Bytes event, Bytes fold,
                     std::optional<Numbers> weight, int n_times, std::vector<double> gap,
                     std::vector<std::int32_t> sizes, std::vector<double> grid,
                     std::optional<Array<double, 1>> penalties, int n_folds, double tol, int n_threads, int n_held,
                     Array<std::int32_t, 2> values, const std::vector<std::int32_t>& line_terms) {
  require(values.shape(0) == bits.shape(0), "values must have an entry per row");
  check_line_terms(line_terms, values.shape(1), bits.shape(1));
  const std::size_t n_rows = bits.shape(0), n_words = bits.shape(1), n_rules = gap.size(), n_sizes = sizes.size();
  check_rows(span, event, n_times);
  require(n_words >= 1 && n_rules <= 64 * n_words, "too few words for the rules");
  require(n_rules <= kMaxRidgeRules, "too many rules");
  for (const double g : gap) require(std::isfinite(g), "outputs of rules must be finite");
  require(span.shape(0) == n_rows && fold.shape(0) == n_rows && (!weight || weight->shape(0) == n_rows),
          "span, fold and weight must have an entry per row");
  require(n_folds >= 1 && n_folds <= kMaxCoxFolds, "n_folds must be from 1 to 255");
  check_range("fold", range_of(fold.data(), n_rows), 0, n_folds - 1);
  check_range("weight", range_of(weight), 1, kMaxMomentWeight);
  for (const std::int32_t size : sizes)
    require(size >= 0 && static_cast<std::size_t>(size) <= n_rules, "sizes must be 0 to the number of rules");
  require(n_held >= 0 && static_cast<std::size_t>(n_held) <= n_rules, "n_held must be 0 to the number of rules");
  require(!penalties || penalties->shape(0) == n_sizes, "a penalty for each size");
  require(penalties || !grid.empty(), "the grid of penalties is empty");
  std::vector<Fitted> fitted;
  {
    nb::gil_scoped_release release;
    const CoxRows rows{static_cast<std::int64_t>(n_rows),
                       n_times,
                       n_folds,
                       span.data(),
                       event.data(),
                       fold.data(),
                       pointer(weight),
                       {line_terms, {values.data(), values.data() + n_rows * values.shape(1)}}};
    const CoxTable table(rows, static_cast<std::int32_t>(n_rules), static_cast<std::int32_t>(n_words),
                         {bits.data(), bits.data() + n_rows * n_words});
    for (std::size_t r = 0; r < n_rules; ++r)
      if (table.turned[r]) gap[r] = -gap[r];
    fitted = fit_sizes(table, sizes, gap, grid, pointer(penalties), tol, n_threads, n_held);
  }
  std::vector<double> points(n_sizes * n_rules), losses, chosen, gradient_norm;
  for (std::size_t i = 0; i < n_sizes; ++i) {
    std::copy(fitted[i].point.begin(), fitted[i].point.end(), points.begin() + i * n_rules);
    losses.insert(losses.end(), fitted[i].losses.begin(), fitted[i].losses.end());
    chosen.push_back(fitted[i].penalty);
    gradient_norm.push_back(fitted[i].gradient_norm);
  }
  nb::dict result;
  result["points"] = to_numpy(std::move(points), {n_sizes, n_rules});
  result["losses"] = to_numpy(std::move(losses), {n_sizes, grid.size()});
  result["penalties"] = to_numpy(std::move(chosen), {n_sizes});
  result["gradient_norm"] = to_numpy(std::move(gradient_norm), {n_sizes});
  return result;
}

nb::tuple cox_rows(Array<std::int32_t, 1> span, Bytes event, std::optional<Array<double, 1>> weight, int n_times,
                   Array<double, 1> eta) {
  const std::size_t n = span.shape(0);
  check_rows(span, event, n_times);
  require((!weight || weight->shape(0) == n) && eta.shape(0) == n, "weight and eta must have an entry per row");
  for (std::size_t i = 0; i < n; ++i) {
    require(std::isfinite(eta.data()[i]), "scores must be finite");
    require(!weight || (weight->data()[i] > 0.0 && std::isfinite(weight->data()[i])), "weights must be above 0");
  }
  CoxOfRows found;
  {
    nb::gil_scoped_release release;
    found = cox_of_rows(static_cast<std::int64_t>(n), n_times, span.data(), event.data(), pointer(weight), eta.data());
  }
  return nb::make_tuple(found.loss, to_numpy(std::move(found.residual), {n}),
                        to_numpy(std::move(found.hazard), {static_cast<std::size_t>(n_times)}));
}

nb::tuple concordance_of(Array<double, 1> time, Bytes event, Array<double, 1> score,
                         std::optional<Array<double, 1>> weight) {
  const std::size_t n = time.shape(0);
  require(event.shape(0) == n && score.shape(0) == n && (!weight || weight->shape(0) == n),
          "event, score and weight must have an entry per row");
  check_range("event", range_of(event.data(), n), 0, 1);
  for (std::size_t i = 0; i < n; ++i)
    require(!std::isnan(time.data()[i]) && !std::isnan(score.data()[i]), "times and scores must be numbers");
  PairSums sums;
  {
    nb::gil_scoped_release release;
    sums = concordance(static_cast<std::int64_t>(n), time.data(), event.data(), score.data(), pointer(weight));
  }
  return nb::make_tuple(sums.right, sums.tied, sums.all);
}

}  // namespace

void bind_cox(nb::module_& m) {
  m.def("row_bits", &row_bits, "bins"_a, "features"_a, "tables"_a, "n_rules"_a,
        "Which rules hold in each row [row, word].");
  m.def("cox_weights", &cox_weights, "bits"_a, "span"_a, "event"_a, "fold"_a, "weight"_a.none(), "n_times"_a, "gap"_a,
        "sizes"_a, "grid"_a, "penalties"_a.none(), "n_folds"_a, "tol"_a, "n_threads"_a, "n_held"_a, "values"_a,
        "line_terms"_a, "Weights [size, rule] by Cox's penalised partial likelihood.");
  m.def("cox_rows", &cox_rows, "span"_a, "event"_a, "weight"_a.none(), "n_times"_a, "eta"_a,
        "Minus the partial log-likelihood, martingale residuals [row] and rises of the cumulative hazard [time].");
  m.def("concordance", &concordance_of, "time"_a, "event"_a, "score"_a, "weight"_a.none(),
        "Weights of pairs in the right order, of pairs with equal scores, and of all that can be compared.");
}

}  // namespace pysirus::python
