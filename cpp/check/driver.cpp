// The core without Python: grows forests on made-up tables with every instruction set of this machine, compares them with
// the reference, and checks the parts around the forest.
// For profilers and sanitizers: `driver [rows] [features] [trees] [threads] [instruction set] [kind]`.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "check/parts.hpp"
#include "forest/forest.hpp"
#include "forest/reference.hpp"

namespace {

using namespace pysirus;

struct Problem {
  std::vector<std::uint8_t> bins, has_missing, class_code;
  std::vector<std::int32_t> n_bins, offset, value, weight;
  Table table;
  Recipe recipe;
};

using check::number;

// What a made-up table has beside numbers in known bins: a sum of these.
enum Kind { kMissing = 1, kClasses = 2, kWeights = 4, kColumns = 8, kKinds = 16 };

constexpr bool is_kind(int kind) { return !(kind & kClasses && kind & kColumns); }  // classes, or columns of numbers

void make_problem(Problem& p, std::int64_t n_rows, std::int32_t n_features, int depth, int kind) {
  const bool missing = kind & kMissing, classes = kind & kClasses, weights = kind & kWeights;
  const std::int32_t n_columns = kind & kColumns ? 5 : 1;
  p.bins.resize(n_rows * n_features);
  p.offset = {0};
  for (std::int32_t f = 0; f < n_features; ++f) {
    const bool with_missing = missing && f % 2 == 0;
    p.has_missing.push_back(with_missing);
    p.n_bins.push_back(10 + with_missing);
    p.offset.push_back(p.offset.back() + (with_missing ? 19 : 9));
    for (std::int64_t r = 0; r < n_rows; ++r)
      p.bins[f * n_rows + r] =
          static_cast<std::uint8_t>(number(f * n_rows + r, static_cast<std::uint32_t>(p.n_bins[f])));
  }
  for (std::int64_t r = 0; r < n_rows; ++r) {
    const int signal = p.bins[r] + p.bins[n_rows + r] * (p.bins[2 * n_rows + r] > 5);
    p.value.push_back((signal - 50) * 10000 + static_cast<int>(number(~r, 100000)));
    p.class_code.push_back(static_cast<std::uint8_t>(signal % 3));
    p.weight.push_back(1 + static_cast<int>(number(r * r, 1 << 20)));
  }
  for (std::int32_t column = 1; column < n_columns; ++column)  // of which the last knows nothing of the bins
    for (std::int64_t r = 0; r < n_rows; ++r)
      p.value.push_back(column < 4 ? p.value[r] * (column - 2) / 2 + (p.class_code[r] == column ? 1 << 18 : 0)
                                   : static_cast<int>(number(r, 2 << 20)) - (1 << 20));
  p.table = {p.bins.data(),
             n_rows,
             0,
             n_features,
             p.n_bins.data(),
             p.has_missing.data(),
             classes ? nullptr : p.value.data(),
             classes ? p.class_code.data() : nullptr,
             classes ? 3 : n_columns,
             weights ? p.weight.data() : nullptr};
  p.recipe = {42,
              depth,
              std::max(2, n_features / 3),
              5,
              6,
              {1580030168u, 3160060337u, 3950075421u, 4213413783u, 4279248373u, 4292415291u},
              p.offset.data()};
}

std::vector<std::int32_t> grow(const Problem& p, std::int64_t n_trees, int n_threads, const std::string& set) {
  std::vector<std::int32_t> splits(n_trees * ((1 << p.recipe.max_depth) - 1));
  grow_forest(p.table, p.recipe, 0, n_trees, n_threads, set, [] { return false; }, splits.data());
  return splits;
}

std::vector<std::int32_t> grow_reference(const Problem& p, std::int64_t n_trees) {
  std::vector<std::int32_t> splits;
  for (std::int64_t tree = 0; tree < n_trees; ++tree) {
    const auto more = reference::grow_tree(p.table, p.recipe, static_cast<std::uint64_t>(tree));
    splits.insert(splits.end(), more.begin(), more.end());
  }
  return splits;
}

// The sums of the last level of grown trees, in blocks and row after row.
int compare_levels(const Problem& p, std::int64_t n_trees, const std::vector<std::int32_t>& splits) {
  const auto never = [] { return false; };
  const int depth = p.recipe.max_depth - 1, n_above = (1 << depth) - 1;
  std::vector<std::int32_t> above;
  for (std::int64_t tree = 0; tree < n_trees; ++tree)
    above.insert(above.end(), splits.begin() + tree * (2 * n_above + 1),
                 splits.begin() + tree * (2 * n_above + 1) + n_above);
  const Level level(p.table, p.recipe, 0, n_trees, depth, above.data());
  const std::vector<std::int64_t> expected = check::level_sums(p.table, p.recipe, level);
  int n_different = 0;
  for (const auto& set : instruction_sets()) {
    std::vector<std::int64_t> sums(level.n_sums());
    add_level(p.table, p.recipe, level, 2, set, never, sums.data());
    n_different += sums != expected;
  }
  return n_different;
}

// Makes a feature the mirror of another: they part the same rows, left and right exchanged, so that all their splits tie.
void mirror_feature(Problem& p, std::int32_t from, std::int32_t to) {
  const std::int64_t n = p.table.n_rows;
  for (std::int64_t r = 0; r < n; ++r) p.bins[to * n + r] = static_cast<std::uint8_t>(9 - p.bins[from * n + r]);
}

int compare_all(std::int64_t n_rows, std::int32_t n_features, std::int64_t n_trees) {
  int n_different = 0, n_forests = 0;
  for (int depth = 1; depth <= kMaxDepth; ++depth)
    for (int kind = 0; kind < kKinds; ++kind) {
      if (!is_kind(kind)) continue;
      Problem p;
      make_problem(p, n_rows, n_features, depth, kind);
      if (n_features > 3) mirror_feature(p, 1, 3);
      const auto expected = grow_reference(p, n_trees);
      for (const auto& set : instruction_sets())
        for (int threads = 1; threads <= 2; ++threads, ++n_forests)
          n_different += grow(p, n_trees, threads, set) != expected;
      n_different += check::paths(expected, n_trees, depth) + compare_levels(p, n_trees, expected);
    }
  std::printf("%lld x %d, %lld trees: %d of %d forests differ\n", static_cast<long long>(n_rows), n_features,
              static_cast<long long>(n_trees), n_different, n_forests);
  return n_different;
}

int check_parts() {
  int n_wrong = 0;
  const std::pair<const char*, int (*)()> parts[] = {{"encode", check::encode},
                                                     {"quantiles", check::quantiles},
                                                     {"moments", check::moments},
                                                     {"ridge", check::ridge},
                                                     {"evaluate", check::evaluate}};
  for (const auto& [name, run] : parts) {
    const int wrong = run();
    std::printf("%s: %d wrong\n", name, wrong);
    n_wrong += wrong;
  }
  return n_wrong;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    const int n_wrong = check_parts() + compare_all(300, 7, 50) + compare_all(2500, 5, 40) + compare_all(9000, 3, 20);
    return n_wrong ? 1 : 0;
  }
  Problem p;
  make_problem(p, std::atoll(argv[1]), std::atoi(argv[2]), 2, argc > 6 ? std::atoi(argv[6]) : 0);
  const std::clock_t start = std::clock();
  const auto splits = grow(p, std::atoll(argv[3]), std::atoi(argv[4]), argc > 5 ? argv[5] : instruction_sets()[0]);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;  // of all threads together
  std::uint64_t hash = 0;
  for (auto split : splits) hash = mix64(hash + static_cast<std::uint32_t>(split));
  std::printf("%.3f microseconds a tree, %016llx\n", 1e6 * seconds / std::atof(argv[3]),
              static_cast<unsigned long long>(hash));
}
