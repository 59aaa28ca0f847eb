// The forest as Python calls it: whole tables, or the parts of a table that lies in several places.
#include <algorithm>
#include <atomic>
#include <memory>

#include "bindings/arrays.hpp"
#include "forest/forest.hpp"
#include "forest/level.hpp"
#include "forest/paths.hpp"
#include "forest/pool.hpp"

namespace pysirus::python {
namespace {

// Set by one thread to make the forests that other threads grow stop early.
struct StopFlag {
  std::atomic<bool> set{false};
};

// The rows that a tree draws are counted in 32 bits.
constexpr std::size_t kMaxRows = 2'000'000'000;
constexpr std::size_t kMaxGroupWords = 1 << 20;
constexpr std::size_t kMaxBlockThresholds = 1024;

bool signalled() {
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

void check_finished(bool finished) {
  if (finished) return;
  if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
  throw nb::python_error();
}

// The shape of the columns and the recipe of the trees: all that there is to know but for the rows.
struct Plan {
  std::vector<std::int32_t> n_bins, split_offset;
  std::vector<std::uint8_t> has_missing, apart;
  std::vector<std::uint64_t> groups;
  std::vector<std::uint32_t> block_thresholds;
  std::vector<std::int32_t> first_of_line;
  std::vector<std::int16_t> line_numbers;
  std::int32_t n_outputs;
  bool classes;
  Recipe recipe;

  Plan(std::vector<std::int32_t> bins, std::vector<std::uint8_t> missing, std::vector<std::int32_t> offset,
       std::int32_t outputs, bool classes, const std::vector<std::uint32_t>& thresholds, std::uint64_t seed,
       std::int32_t max_depth, std::int32_t max_features, std::int32_t min_node_size, std::int32_t most_together,
       std::vector<std::uint64_t> groups, std::vector<std::uint8_t> apart, std::vector<std::uint32_t> of_blocks,
       const std::vector<std::vector<std::int16_t>>& lines)
      : n_bins(std::move(bins)), split_offset(std::move(offset)), has_missing(std::move(missing)),
        apart(std::move(apart)), groups(std::move(groups)), block_thresholds(std::move(of_blocks)), n_outputs(outputs),
        classes(classes),
        recipe{seed, max_depth,          max_features, min_node_size, static_cast<std::int32_t>(thresholds.size()),
               {},   split_offset.data()} {
    require(!n_bins.empty() && has_missing.size() == n_bins.size() && split_offset.size() == n_bins.size() + 1,
            "n_bins, has_missing and split_offset must have an entry per feature");
    require(max_depth >= 1 && max_depth <= kMaxDepth, "max_depth must be from 1 to 4");
    require(max_features >= 1 && static_cast<std::size_t>(max_features) <= n_bins.size(),
            "max_features is out of range");
    require(!thresholds.empty() && thresholds.size() <= kMaxThresholds &&
                std::is_sorted(thresholds.begin(), thresholds.end()),
            "1 to 16 thresholds, none below the one before");
    require(n_outputs >= 1 && n_outputs <= kMaxBins, "n_outputs must be from 1 to 256");
    require(min_node_size >= 0, "min_node_size must not be negative");
    check_columns(n_bins, has_missing, split_offset);
    require(most_together >= 0, "most_together must not be negative");
    require(this->groups.size() % n_bins.size() == 0 && this->groups.size() / n_bins.size() <= kMaxGroupWords,
            "groups must have as many words for each feature, at most 2**20");
    require(this->apart.empty() || this->apart.size() == n_bins.size() * n_bins.size(),
            "apart must have an entry per pair of features");
    recipe.together.most = most_together;
    recipe.together.n_words = static_cast<std::int32_t>(this->groups.size() / n_bins.size());
    recipe.together.groups = this->groups.data();
    recipe.together.apart = this->apart.empty() ? nullptr : this->apart.data();
    std::copy(thresholds.begin(), thresholds.end(), recipe.thresholds);
    require(block_thresholds.size() <= kMaxBlockThresholds &&
                std::is_sorted(block_thresholds.begin(), block_thresholds.end()),
            "at most 1024 thresholds of blocks, none below the one before");
    recipe.block_thresholds = block_thresholds.empty() ? nullptr : block_thresholds.data();
    recipe.n_block_thresholds = static_cast<std::int32_t>(block_thresholds.size());
    take_lines(lines);
  }
  Plan(const Plan&) = delete;  // the recipe points to its vectors

  // Of each column the numbers of its bins, none where it may not be a line; nothing at all where none may.
  void take_lines(const std::vector<std::vector<std::int16_t>>& lines) {
    require(lines.empty() || lines.size() == n_bins.size(), "lines must have an entry per feature");
    for (std::size_t f = 0; f < lines.size(); ++f) {
      require(lines[f].empty() || lines[f].size() == static_cast<std::size_t>(n_bins[f]),
              "a line must have a number for each bin");
      first_of_line.push_back(lines[f].empty() ? -1 : static_cast<std::int32_t>(line_numbers.size()));
      line_numbers.insert(line_numbers.end(), lines[f].begin(), lines[f].end());
    }
    check_range("the number of a bin,", range_of(line_numbers.data(), line_numbers.size()), -kMaxLineNumber,
                kMaxLineNumber);
    if (!lines.empty()) recipe.lines = {first_of_line.data(), line_numbers.data()};
  }

  std::int64_t n_splits() const { return split_offset.back(); }

  // Of a node without gain: tree, node, values.
  std::size_t numbers_of_node() const { return 2 + static_cast<std::size_t>(n_outputs); }

  Table table() const {
    return {nullptr,
            0,
            0,
            static_cast<std::int32_t>(n_bins.size()),
            n_bins.data(),
            has_missing.data(),
            nullptr,
            nullptr,
            n_outputs,
            nullptr};
  }
};

// Rows in bins with their responses: value for numbers, in one column or several, class_code for classes.
struct Rows {
  Array<std::uint8_t, 2> bins;
  std::optional<AnyArray<std::int32_t>> value;
  std::optional<Array<std::uint8_t, 1>> class_code;
  std::optional<Array<std::int32_t, 1>> weight;
  std::uint64_t first_row;
  std::vector<Range> used_bins;  // of each feature: looked up once, held against the plan of each call
  Range values, class_codes, weights;

  Rows(Array<std::uint8_t, 2> bins, std::optional<AnyArray<std::int32_t>> value,
       std::optional<Array<std::uint8_t, 1>> class_code, std::optional<Array<std::int32_t, 1>> weight,
       std::uint64_t first_row)
      : bins(std::move(bins)), value(std::move(value)), class_code(std::move(class_code)), weight(std::move(weight)),
        first_row(first_row), used_bins(this->bins.shape(0)) {
    nb::gil_scoped_release release;
    const std::size_t n_rows = this->bins.shape(1);
    for (std::size_t f = 0; f < used_bins.size(); ++f) used_bins[f] = range_of(this->bins.data() + f * n_rows, n_rows);
    values = range_of(this->value);
    class_codes = range_of(this->class_code);
    weights = range_of(this->weight);
  }

  Table table(const Plan& plan) const {
    const std::size_t n_rows = bins.shape(1);
    require(bins.shape(0) == plan.n_bins.size(), "bins must have a row per feature");
    require(n_rows <= kMaxRows, "a table in memory has at most 2,000,000,000 rows: use fit_files, Dask or Spark");
    require(value.has_value() != plan.classes && class_code.has_value() == plan.classes,
            "give value for numbers or class_code for classes");
    if (value && n_columns(*value) != static_cast<std::size_t>(plan.n_outputs))
      throw std::invalid_argument("n_outputs of the plan is " + std::to_string(plan.n_outputs) +
                                  ", columns of value: " + std::to_string(n_columns(*value)));
    require(has_rows(value, n_rows) && (!class_code || class_code->shape(0) == n_rows) &&
                (!weight || weight->shape(0) == n_rows),
            "value, class_code and weight must have an entry per row");
    for (std::size_t f = 0; f < used_bins.size(); ++f)
      if (n_rows > 0 && used_bins[f].high >= plan.n_bins[f])
        throw std::invalid_argument("column " + std::to_string(f) + " has a row in bin " +
                                    std::to_string(used_bins[f].high) + ", the plan has " +
                                    std::to_string(plan.n_bins[f]) + " bins");
    check_range("class_code", class_codes, 0, plan.n_outputs - 1);
    check_range("value", values, -kMaxForestNumber, kMaxForestNumber);
    check_range("weight", weights, 0, kMaxForestNumber);
    Table table = plan.table();
    table.bins = bins.data();
    table.n_rows = static_cast<std::int64_t>(n_rows);
    table.first_row = first_row;
    table.value = pointer(value);
    table.class_code = pointer(class_code);
    table.weight = pointer(weight);
    return table;
  }
};

// Where the columns go whose lines win trees: one of each tree, where lines are asked for.
using WinningLines = std::optional<nb::ndarray<std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;

std::int32_t* check_lines(const Plan& plan, const WinningLines& lines, std::size_t n_trees) {
  require(lines.has_value() == (plan.recipe.lines.first != nullptr), "give lines where the plan has some");
  require(!lines || lines->shape(0) == n_trees, "lines must have an entry per tree");
  return lines ? lines->data() : nullptr;
}

Out<std::int32_t> grow(const Plan& plan, const Rows& rows, std::uint64_t first_tree, std::int64_t n_trees,
                       int n_threads, const std::string& instruction_set, const StopFlag* stop,
                       const WinningLines& lines) {
  const Table table = rows.table(plan);
  require(table.n_rows >= 1, "the table is empty");
  require(n_trees >= 0 && n_trees <= kMaxTrees, "n_trees must be from 0 to 2**24");
  check_instruction_set(instruction_set, instruction_sets());
  std::int32_t* won = check_lines(plan, lines, static_cast<std::size_t>(n_trees));
  const std::size_t n_nodes = (std::size_t{1} << plan.recipe.max_depth) - 1;
  std::vector<std::int32_t> splits(static_cast<std::size_t>(n_trees) * n_nodes);
  bool finished;
  {
    nb::gil_scoped_release release;
    finished = grow_forest(
        table, plan.recipe, first_tree, n_trees, n_threads, instruction_set,
        [&] { return (stop && stop->set) || signalled(); }, splits.data(), won);
  }
  check_finished(finished);
  return to_numpy(std::move(splits), {static_cast<std::size_t>(n_trees), n_nodes});
}

using Splits = Array<std::int32_t, 2>;

Level level_of(const Plan& plan, std::uint64_t first_tree, const Splits& splits) {
  int depth = 0;
  while ((std::size_t{1} << depth) - 1 < splits.shape(1)) ++depth;
  require((std::size_t{1} << depth) - 1 == splits.shape(1) && depth < plan.recipe.max_depth,
          "splits must have 0, 1, 3 or 7 columns, fewer than a whole tree");
  require(splits.shape(0) <= kMaxTrees, "at most 2**24 trees");
  check_splits(splits.data(), splits.size(), plan.n_splits());
  return Level(plan.table(), plan.recipe, first_tree, static_cast<std::int64_t>(splits.shape(0)), depth, splits.data());
}

Out<std::int64_t> level_sums(const Plan& plan, const Rows& rows, std::uint64_t first_tree, const Splits& splits,
                             int n_threads, const std::string& instruction_set) {
  const Table table = rows.table(plan);
  check_instruction_set(instruction_set, instruction_sets());
  const Level level = level_of(plan, first_tree, splits);
  std::vector<std::int64_t> sums(static_cast<std::size_t>(level.n_sums()));
  bool finished;
  {
    nb::gil_scoped_release release;
    finished = add_level(table, plan.recipe, level, n_threads, instruction_set, signalled, sums.data());
  }
  check_finished(finished);
  const std::size_t n = sums.size();
  return to_numpy(std::move(sums), {n});
}

nb::tuple search(const Plan& plan, std::uint64_t first_tree, const Splits& splits, Array<std::int64_t, 1> sums,
                 const WinningLines& lines) {
  const Level level = level_of(plan, first_tree, splits);
  require(sums.shape(0) == static_cast<std::size_t>(level.n_sums()), "these are not the sums of this level");
  Table table = plan.table();
  if (plan.classes) table.class_code = plan.has_missing.data();  // not read: it says that there are classes
  const auto n_trees = static_cast<std::size_t>(level.n_trees), n_nodes = static_cast<std::size_t>(level.n_nodes());
  std::int32_t* won = level.depth == 0 ? check_lines(plan, lines, n_trees) : nullptr;
  std::vector<std::int32_t> found(n_trees * n_nodes);
  std::vector<std::int64_t> without_gain;
  {
    nb::gil_scoped_release release;
    without_gain = search_level(table, plan.recipe, level, sums.data(), found.data(), won);
  }
  const std::size_t per_node = plan.numbers_of_node(), n_without_gain = without_gain.size() / per_node;
  return nb::make_tuple(to_numpy(std::move(found), {n_trees, n_nodes}),
                        to_numpy(std::move(without_gain), {n_without_gain, per_node}));
}

// The lines that win trees, from the sums of all bins of all columns at their roots.
void root_lines(const Plan& plan, std::uint64_t first_tree, Array<std::int64_t, 1> drawn, Array<std::int64_t, 3> sums,
                const WinningLines& lines) {
  Table table = plan.table();
  if (plan.classes) table.class_code = plan.has_missing.data();  // not read: it says that there are classes
  const std::size_t n_trees = drawn.shape(0), per_bin = static_cast<std::size_t>(1 + table.n_sums);
  std::vector<std::size_t> first_bin{0};
  for (const std::int32_t n : plan.n_bins) first_bin.push_back(first_bin.back() + static_cast<std::size_t>(n));
  require(sums.shape(0) == n_trees && sums.shape(1) == first_bin.back() && sums.shape(2) == per_bin,
          "sums must be [tree][bin of all columns][size and sums]");
  std::int32_t* won = check_lines(plan, lines, n_trees);
  nb::gil_scoped_release release;
  const Level level(table, plan.recipe, first_tree, static_cast<std::int64_t>(n_trees), 0, nullptr);
  std::vector<std::int64_t> own;
  own.reserve(static_cast<std::size_t>(level.n_sums()));
  for (std::size_t tree = 0; tree < n_trees; ++tree) {
    own.push_back(drawn.data()[tree]);
    const std::int64_t* all = sums.data() + tree * first_bin.back() * per_bin;
    const auto m = static_cast<std::size_t>(plan.recipe.max_features);
    for (std::size_t k = 0; k < m; ++k)
      if (const std::int32_t column = level.candidates[tree * m + k]; column >= 0)
        own.insert(own.end(), all + first_bin[column] * per_bin, all + first_bin[column + 1] * per_bin);
  }
  std::vector<std::int32_t> found(n_trees);
  search_level(table, plan.recipe, level, own.data(), found.data(), won);
}

Out<std::int64_t> other_values(const Plan& plan, const Rows& rows, std::uint64_t first_tree, const Splits& splits,
                               Array<std::int64_t, 2> nodes, int n_threads) {
  const Table table = rows.table(plan);
  const Level level = level_of(plan, first_tree, splits);
  const std::size_t n = nodes.shape(0), per_node = plan.numbers_of_node();
  require(table.value && nodes.shape(1) == per_node, "nodes are of numbers: a tree, a node and a value per column");
  check_nodes(nodes.data(), n, per_node, level.n_trees, level.n_nodes());
  std::vector<std::int64_t> counts(n);
  bool finished;
  {
    nb::gil_scoped_release release;
    finished = run_pieces(static_cast<std::int64_t>(n), n_threads, signalled, [&] {
      return [&](std::int64_t i, const std::atomic<bool>&) {
        const std::int64_t* node = nodes.data() + i * static_cast<std::int64_t>(per_node);
        counts[static_cast<std::size_t>(i)] = count_other_values(table, plan.recipe, level, node);
      };
    });
  }
  check_finished(finished);
  return to_numpy(std::move(counts), {n});
}

nb::tuple paths_of(const PathCounts& counts) {
  const auto sorted = counts.sorted();
  std::vector<std::int32_t> codes;
  std::vector<std::int64_t> count;
  for (const auto& path : sorted) {
    codes.insert(codes.end(), path.path.begin(), path.path.end());
    count.push_back(path.count);
  }
  return nb::make_tuple(to_numpy(std::move(codes), {sorted.size(), std::size_t{kMaxDepth}}),
                        to_numpy(std::move(count), {sorted.size()}));
}

void count_paths(PathCounts& counts, const Splits& splits) {
  int depth = 0;
  while ((std::size_t{1} << depth) - 1 < splits.shape(1)) ++depth;
  require((std::size_t{1} << depth) - 1 == splits.shape(1) && depth >= 1 && depth <= kMaxDepth,
          "splits must have 1, 3, 7 or 15 columns");
  check_splits(splits.data(), splits.size(), kMaxSplits);
  nb::gil_scoped_release release;
  counts.add_forest(splits.data(), static_cast<std::int64_t>(splits.shape(0)), depth);
}

}  // namespace

void bind_forest(nb::module_& m) {
  m.def("instruction_sets", &instruction_sets, "Instruction sets this machine can run, best first.");
  nb::class_<StopFlag>(m, "StopFlag", "Makes the forests that other threads grow stop early.")
      .def(nb::init<>())
      .def("set", [](StopFlag& flag) { flag.set = true; });
  nb::class_<Plan>(m, "Plan", "The shape of binned columns and the recipe of trees.")
      .def(nb::init<std::vector<std::int32_t>, std::vector<std::uint8_t>, std::vector<std::int32_t>, std::int32_t, bool,
                    const std::vector<std::uint32_t>&, std::uint64_t, std::int32_t, std::int32_t, std::int32_t,
                    std::int32_t, std::vector<std::uint64_t>, std::vector<std::uint8_t>, std::vector<std::uint32_t>,
                    const std::vector<std::vector<std::int16_t>>&>(),
           "n_bins"_a, "has_missing"_a, "split_offset"_a, "n_outputs"_a, "classes"_a, "thresholds"_a, "seed"_a,
           "max_depth"_a, "max_features"_a, "min_node_size"_a, "most_together"_a = 0,
           "groups"_a = std::vector<std::uint64_t>(), "apart"_a = std::vector<std::uint8_t>(),
           "block_thresholds"_a = std::vector<std::uint32_t>(), "lines"_a = std::vector<std::vector<std::int16_t>>());
  nb::class_<Rows>(m, "Rows", "Rows in bins with their responses: all of them, or those of one part.")
      .def(nb::init<Array<std::uint8_t, 2>, std::optional<AnyArray<std::int32_t>>,
                    std::optional<Array<std::uint8_t, 1>>, std::optional<Array<std::int32_t, 1>>, std::uint64_t>(),
           "bins"_a, "value"_a.none(), "class_code"_a.none(), "weight"_a.none(), "first_row"_a = 0);
  m.def("grow", &grow, "plan"_a, "rows"_a, "first_tree"_a, "n_trees"_a, "n_threads"_a, "instruction_set"_a,
        "stop"_a.none() = nb::none(), "lines"_a.noconvert().none() = nb::none(),
        "Grow trees first_tree, first_tree + 1, ...: the split number of each inner node in heap order, -1 for none. "
        "Where the plan has lines, the column whose line wins each tree is written to `lines`, -1 where a cut does.");
  m.def("level_sums", &level_sums, "plan"_a, "rows"_a, "first_tree"_a, "splits"_a, "n_threads"_a, "instruction_set"_a,
        "What the next level of some trees needs to know of these rows; the sums of parts add up.");
  m.def(
      "search", &search, "plan"_a, "first_tree"_a, "splits"_a, "sums"_a, "lines"_a.noconvert().none() = nb::none(),
      "The splits of the next level from its sums over all rows; and nodes (tree, node, a value per column) whose best "
      "split gains nothing, not to be split if all their rows answer these values. At the root `lines` is written as "
      "by grow.");
  m.def("root_lines", &root_lines, "plan"_a, "first_tree"_a, "drawn"_a, "sums"_a, "lines"_a.noconvert(),
        "Write the column whose line wins each tree, or -1, from rows drawn and sums [tree, bin, size and sums].");
  m.def("count_other_values", &other_values, "plan"_a, "rows"_a, "first_tree"_a, "splits"_a, "nodes"_a,
        "n_threads"_a = 1, "How many rows in each of these nodes answer other values than the node's.");
  nb::class_<PathCounts>(m, "PathCounts", "How often each path occurs in a growing forest.")
      .def(nb::init<>())
      .def("add", &count_paths, "splits"_a, "Count the paths of more trees.")
      .def("paths", &paths_of,
           "Paths, the most frequent first, as codes 2 * split + side in rising order, padded with -1; and their "
           "counts.");
}

}  // namespace pysirus::python
