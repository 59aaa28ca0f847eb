// A small table and a recipe of any kind: every instruction set grows the trees of the reference, and so do the levels of
// trees whose rows lie in two places. Paths are counted as a map of sets counts them.
#include "forest/forest.hpp"
#include "check/parts.hpp"
#include "forest/reference.hpp"
#include "input.hpp"

namespace {

using namespace pysirus;
using fuzz::ensure;

struct Problem {
  std::vector<std::uint8_t> bins, has_missing, class_code, apart;
  std::vector<std::int32_t> n_bins, offset, value, weight;
  std::vector<std::uint64_t> groups;
  Table table;
  Recipe recipe;
};

void read_columns(fuzz::Input& input, Problem& p, std::int64_t n_rows, std::int32_t n_features) {
  p.offset = {0};
  for (std::int32_t f = 0; f < n_features; ++f) {
    const bool missing = input.yes();
    const auto n_bins = input.number<std::int32_t>(1 + missing, input.number<int>(0, 15) ? 8 : kMaxBins);
    const std::int32_t n_cuts = n_bins - missing - 1;
    p.has_missing.push_back(missing);
    p.n_bins.push_back(n_bins);
    p.offset.push_back(p.offset.back() + (missing ? 2 * n_cuts + 1 : n_cuts));
    const auto column =
        input.numbers<std::uint8_t>(static_cast<std::size_t>(n_rows), 0, static_cast<std::uint8_t>(n_bins - 1));
    p.bins.insert(p.bins.end(), column.begin(), column.end());
  }
}

void read_interactions(fuzz::Input& input, Problem& p, std::int32_t n_features) {
  const auto n = static_cast<std::size_t>(n_features);
  p.recipe.together.most = input.number<std::int32_t>(0, 4);
  if (input.yes()) {
    p.groups = input.numbers<std::uint64_t>(n, 0, 7);
    p.recipe.together.n_words = 1;
    p.recipe.together.groups = p.groups.data();
  }
  if (input.yes()) {
    p.apart = input.numbers<std::uint8_t>(n * n, 0, 1);
    p.recipe.together.apart = p.apart.data();
  }
}

void read_problem(fuzz::Input& input, Problem& p) {
  const auto n_rows = input.number<std::int64_t>(1, input.number<int>(0, 31) ? 120 : 4000);
  const auto n_features = input.number<std::int32_t>(1, 6);
  const auto n = static_cast<std::size_t>(n_rows);
  read_columns(input, p, n_rows, n_features);
  const bool classes = input.yes();
  const auto n_sums = input.number<std::int32_t>(1, 3);
  if (classes)
    p.class_code = input.numbers<std::uint8_t>(n, 0, static_cast<std::uint8_t>(n_sums - 1));
  else
    p.value = input.numbers<std::int32_t>(n * static_cast<std::size_t>(n_sums), -(1 << 20), 1 << 20);
  // rows of weight zero are left out before the core: the reference asks whether rows agree, the kernels whether sums do
  if (input.yes()) p.weight = input.numbers<std::int32_t>(n, 1, 1 << 20);
  p.table = {p.bins.data(),
             n_rows,
             input.number<std::uint64_t>(0, std::uint64_t{1} << 33),
             n_features,
             p.n_bins.data(),
             p.has_missing.data(),
             classes ? nullptr : p.value.data(),
             classes ? p.class_code.data() : nullptr,
             n_sums,
             p.weight.empty() ? nullptr : p.weight.data()};
  auto thresholds = input.numbers<std::uint32_t>(input.number<std::size_t>(1, kMaxThresholds), 0, ~0u);
  std::sort(thresholds.begin(), thresholds.end());
  p.recipe = {input.number<std::uint64_t>(0, ~std::uint64_t{0}),
              input.number<std::int32_t>(1, kMaxDepth),
              input.number<std::int32_t>(1, n_features),
              input.number<std::int32_t>(0, 12),
              static_cast<std::int32_t>(thresholds.size()),
              {},
              p.offset.data()};
  std::copy(thresholds.begin(), thresholds.end(), p.recipe.thresholds);
  if (input.yes()) read_interactions(input, p, n_features);
}

bool never() { return false; }

// Sums of the rows before and after `part`, added up.
std::vector<std::int64_t> sums_of_parts(const Problem& p, const Level& level, std::int64_t part,
                                        const std::string& set) {
  std::vector<std::int64_t> total(static_cast<std::size_t>(level.n_sums()));
  for (const auto& [first, last] : {std::pair{std::int64_t{0}, part}, std::pair{part, p.table.n_rows}}) {
    const auto cut = [&, first = first, last = last](const auto& rows, std::int64_t n_columns) {
      std::remove_cvref_t<decltype(rows)> kept;
      for (std::int64_t c = 0; c < n_columns; ++c)
        kept.insert(kept.end(), rows.begin() + c * p.table.n_rows + first, rows.begin() + c * p.table.n_rows + last);
      return kept;
    };
    const auto bins = cut(p.bins, p.table.n_features);
    const auto value = cut(p.value, p.value.empty() ? 0 : p.table.n_sums);
    const auto class_code = cut(p.class_code, p.class_code.empty() ? 0 : 1);
    const auto weight = cut(p.weight, p.weight.empty() ? 0 : 1);
    Table table = p.table;
    table.bins = bins.data();
    table.n_rows = last - first;
    table.first_row = p.table.first_row + static_cast<std::uint64_t>(first);
    if (table.value) table.value = value.data();
    if (table.class_code) table.class_code = class_code.data();
    if (table.weight) table.weight = weight.data();
    if (table.n_rows == 0) continue;
    std::vector<std::int64_t> sums(total.size());
    add_level(table, p.recipe, level, 1, set, never, sums.data());
    for (std::size_t i = 0; i < sums.size(); ++i) total[i] += sums[i];
  }
  return total;
}

// Grows the trees level by level, as holders of parts do.
std::vector<std::int32_t> grow_by_levels(const Problem& p, std::int64_t n_trees, std::int64_t part,
                                         const std::string& set) {
  std::vector<std::int32_t> above;
  for (int depth = 0; depth < p.recipe.max_depth; ++depth) {
    const Level level(p.table, p.recipe, 0, n_trees, depth, above.data());
    const auto sums = sums_of_parts(p, level, part, set);
    std::vector<std::int32_t> found(static_cast<std::size_t>(n_trees * level.n_nodes()));
    const auto nodes = search_level(p.table, p.recipe, level, sums.data(), found.data());
    for (std::size_t at = 0; at < nodes.size(); at += static_cast<std::size_t>(2 + p.table.n_sums))
      if (count_other_values(p.table, p.recipe, level, nodes.data() + at) == 0)
        found[static_cast<std::size_t>(nodes[at] * level.n_nodes() + nodes[at + 1] - level.n_nodes() + 1)] = kNoSplit;
    std::vector<std::int32_t> both;
    const std::int64_t n_above = level.n_nodes() - 1;
    for (std::int64_t tree = 0; tree < n_trees; ++tree) {
      both.insert(both.end(), above.begin() + tree * n_above, above.begin() + (tree + 1) * n_above);
      both.insert(both.end(), found.begin() + tree * level.n_nodes(), found.begin() + (tree + 1) * level.n_nodes());
    }
    above = std::move(both);
  }
  return above;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  Problem p;
  read_problem(input, p);
  const auto n_trees = input.number<std::int64_t>(1, input.number<int>(0, 7) ? 6 : 70);
  const int n_threads = input.number<int>(1, 3);
  const auto part = input.number<std::int64_t>(0, p.table.n_rows);
  std::vector<std::int32_t> expected;
  for (std::int64_t tree = 0; tree < n_trees; ++tree) {
    const auto more = reference::grow_tree(p.table, p.recipe, static_cast<std::uint64_t>(tree));
    expected.insert(expected.end(), more.begin(), more.end());
  }
  for (const auto& set : instruction_sets()) {
    std::vector<std::int32_t> splits(expected.size());
    ensure(grow_forest(p.table, p.recipe, 0, n_trees, n_threads, set, never, splits.data()), "a forest was given up");
    ensure(splits == expected, "a kernel grows other trees than the reference");
  }
  ensure(grow_by_levels(p, n_trees, part, instruction_sets()[0]) == expected, "levels grow other trees");
  ensure(check::paths(expected, n_trees, p.recipe.max_depth) == 0, "paths are counted wrongly");
  return 0;
}
