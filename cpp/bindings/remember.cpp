// What a model remembers of rows: marks of columns, sums by bin and by rule.
#include "bins/remember.hpp"

#include "bindings/arrays.hpp"
#include "bindings/rules.hpp"

namespace pysirus::python {

namespace {

nb::tuple mark_numbers(const AnyColumn& column, std::uint64_t first_row) {
  const ColumnView view = column_view(column, column.shape(0));
  ColumnMark found;
  {
    nb::gil_scoped_release release;
    pysirus::with_values(view, [&](auto values) {
      found = pysirus::mark_column(values, view.stride, static_cast<std::int64_t>(column.shape(0)), first_row);
    });
  }
  return nb::make_tuple(found.mark, found.low, found.high);
}

nb::tuple find_brackets(const AnyColumn& column, const std::vector<double>& numbers) {
  const ColumnView view = column_view(column, column.shape(0));
  require(std::is_sorted(numbers.begin(), numbers.end()) && numbers.size() < 65536, "numbers must rise");
  std::vector<double> below(numbers.size()), above(numbers.size());
  {
    nb::gil_scoped_release release;
    pysirus::with_values(view, [&](auto values) {
      pysirus::find_brackets(values, view.stride, static_cast<std::int64_t>(column.shape(0)), numbers.data(),
                             static_cast<std::int32_t>(numbers.size()), below.data(), above.data());
    });
  }
  return nb::make_tuple(below, above);
}

std::uint64_t mark_labels(Array<std::int32_t, 1> codes, Array<std::uint64_t, 1> numbers, std::uint64_t first_row) {
  const std::size_t n_rows = codes.shape(0), n_labels = numbers.shape(0);
  require(n_labels >= 1, "a number for each label, and for missing ones");
  nb::gil_scoped_release release;
  check_range("code", range_of(codes.data(), n_rows), std::numeric_limits<std::int32_t>::min(),
              static_cast<std::int64_t>(n_labels) - 2);
  return pysirus::mark_labels(codes.data(), static_cast<std::int64_t>(n_rows), numbers.data(),
                              static_cast<std::int64_t>(n_labels) - 1, first_row);
}

Beside beside_of(const Array<double, 2>& beside, const Array<std::uint8_t, 2>& bins) {
  require(beside.shape(0) == bins.shape(1), "numbers must have an entry per row");
  return {beside.data(), static_cast<std::int64_t>(beside.shape(1))};
}

Out<double> sum_bins(Array<std::uint8_t, 2> bins, const std::vector<std::int32_t>& n_bins, Array<double, 2> beside,
                     std::size_t n_used) {
  const Beside numbers = beside_of(beside, bins);
  const std::size_t n_rows = bins.shape(1);
  require(n_bins.size() <= bins.shape(0) && n_used <= beside.shape(1), "no such column");
  std::vector<std::int64_t> offset{0};
  std::vector<double> sums;
  {
    nb::gil_scoped_release release;
    for (std::size_t c = 0; c < n_bins.size(); ++c) {
      require(n_bins[c] >= 1 && n_bins[c] <= 256, "n_bins must be from 1 to 256");
      check_range("bin", range_of(bins.data() + c * n_rows, n_rows), 0, n_bins[c] - 1);
      offset.push_back(offset.back() + n_bins[c]);
    }
    sums.resize(product_of(static_cast<std::size_t>(offset.back()), n_used, sizeof(double)));
    pysirus::sum_bins(bins.data(), static_cast<std::int64_t>(n_rows), offset, numbers,
                      static_cast<std::int64_t>(n_used), sums.data());
  }
  return to_numpy(std::move(sums), {static_cast<std::size_t>(offset.back()), n_used});
}

nb::tuple sum_rules(Array<std::uint8_t, 2> bins, Array<std::int32_t, 1> features, Array<std::uint64_t, 3> tables,
                    int n_rules, Array<double, 2> beside) {
  const Beside numbers = beside_of(beside, bins);
  const RuleTables rules = rule_tables(bins, features, tables, n_rules);
  const std::size_t n = static_cast<std::size_t>(n_rules), width = beside.shape(1);
  std::vector<std::int64_t> rows(n);
  std::vector<double> sums(product_of(n, width, sizeof(double)));
  {
    nb::gil_scoped_release release;
    pysirus::sum_rules(rules, bins.data(), static_cast<std::int64_t>(bins.shape(1)), numbers, rows.data(), sums.data());
  }
  return nb::make_tuple(to_numpy(std::move(rows), {n}), to_numpy(std::move(sums), {n, width}));
}

}  // namespace

void bind_remember(nb::module_& m) {
  m.def("mark_numbers", &mark_numbers, "column"_a, "first_row"_a = 0,
        "A mark of the numbers of a column and of their places; the least and the greatest, infinite where none is "
        "known.");
  m.def("find_brackets", &find_brackets, "column"_a, "numbers"_a,
        "The greatest value of a column below each of some rising numbers, and the least at or above it.");
  m.def("mark_labels", &mark_labels, "codes"_a, "numbers"_a, "first_row"_a = 0,
        "The mark of labels by their codes: each has a number, missing ones the last.");
  m.def("sum_bins", &sum_bins, "bins"_a, "n_bins"_a, "beside"_a, "n_used"_a,
        "Sums of the first numbers beside the rows of each bin of each column.");
  m.def("sum_rules", &sum_rules, "bins"_a, "features"_a, "tables"_a, "n_rules"_a, "beside"_a,
        "The rows in which each rule holds, and sums of the numbers beside them.");
}

}  // namespace pysirus::python
