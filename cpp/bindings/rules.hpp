// What the bindings of moments and of patterns share: tables of rules in, wide sums out.
#pragma once

#include <algorithm>
#include <limits>

#include "bindings/arrays.hpp"
#include "weights/moments.hpp"

namespace pysirus::python {

inline RuleTables rule_tables(const Array<std::uint8_t, 2>& bins, const Array<std::int32_t, 1>& features,
                              const Array<std::uint64_t, 3>& tables, int n_rules) {
  require(features.shape(0) == tables.shape(0) && tables.shape(1) == 256, "tables must be [used features][256][words]");
  require(
      tables.shape(2) <= std::numeric_limits<std::int32_t>::max() / (256 * std::max<std::size_t>(1, tables.shape(0))),
      "too many rules for the tables of so many features");
  require(n_rules >= 0 && static_cast<std::size_t>(n_rules) <= 64 * tables.shape(2), "too few words for the rules");
  for (std::size_t u = 0; u < features.shape(0); ++u)
    require(features.data()[u] >= 0 && static_cast<std::size_t>(features.data()[u]) < bins.shape(0), "no such feature");
  return {n_rules, static_cast<std::int32_t>(tables.shape(2)), static_cast<std::int32_t>(features.shape(0)),
          features.data(), tables.data()};
}

// The columns of lines, two rows of the bins each.
inline LineColumns line_columns(const Array<std::uint8_t, 2>& bins, const Array<std::int32_t, 1>& rows,
                                const Array<std::int32_t, 1>& centres) {
  require(rows.shape(0) == centres.shape(0), "a centre for each line");
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    require(rows.data()[i] >= 0 && static_cast<std::size_t>(rows.data()[i]) + 1 < bins.shape(0), "no such line");
    require(centres.data()[i] >= 0 && centres.data()[i] <= kNoPlace, "centres must be places");
  }
  return {static_cast<std::int32_t>(rows.shape(0)), rows.data(), centres.data()};
}

// Which terms are lines: their places rise.
inline void check_line_terms(const std::vector<std::int32_t>& terms, std::size_t n_lines, std::size_t n_words) {
  require(terms.size() == n_lines, "a place for each line");
  for (std::size_t l = 0; l < n_lines; ++l)
    require(terms[l] >= 0 && static_cast<std::size_t>(terms[l]) < 64 * n_words && (l == 0 || terms[l - 1] < terms[l]),
            "places of lines must rise");
}

// A wide number as high * 2^48 + low: both halves of several parts can be added up.
inline std::vector<std::int64_t> halves(const std::vector<Wide>& wide) {
  std::vector<std::int64_t> result;
  result.reserve(2 * wide.size());
  for (const Wide& number : wide) {
    result.push_back(upper_half(number));
    result.push_back(lower_half(number));
  }
  return result;
}

}  // namespace pysirus::python
