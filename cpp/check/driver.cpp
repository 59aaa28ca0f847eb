// The core without Python: grows forests on made-up tables with every instruction set of this machine, compares them with
// the reference, and checks the parts around the forest.
// For profilers and sanitizers: `driver [rows] [features] [trees] [threads] [instruction set] [kind] [rows drawn]`.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "check/parts.hpp"
#include "check/problem.hpp"
#include "forest/forest.hpp"
#include "forest/reference.hpp"

namespace {

using namespace pysirus;

using namespace pysirus::check;

#if defined(__SANITIZE_THREAD__)  // takes ten times as long
constexpr bool kThreadsAlone = true;
#else
constexpr bool kThreadsAlone = false;
#endif
#if defined(__SANITIZE_ADDRESS__)  // takes twenty times as long, and more trees read and write the same places
constexpr bool kSlow = true;
#else
constexpr bool kSlow = kThreadsAlone;
#endif

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

// Threads that share the rows of blocks: 45,000 rows are enough for three of them.
int compare_threads(std::int64_t n_rows, std::int32_t n_features, std::int64_t n_trees) {
  int n_different = 0, n_forests = 0;
  for (int kind = 0; kind < kKinds; kind += kSlow ? 3 : 1) {
    if (!is_kind(kind)) continue;
    Problem p;
    make_problem(p, n_rows, n_features, 1 + kind % kMaxDepth, kind);
    const auto expected = grow(p, n_trees, 1, "plain");
    const auto first = grow_reference(p, 2);
    n_different += !std::equal(first.begin(), first.end(), expected.begin());
    for (const auto& set : instruction_sets())
      for (const int threads : {2, 5}) {
        n_different += grow(p, n_trees, threads, set) != expected;
        ++n_forests;
      }
    n_different += compare_levels(p, 3, expected);
  }
  std::printf("%lld x %d, %lld trees, threads that share rows: %d of %d forests differ\n",
              static_cast<long long>(n_rows), n_features, static_cast<long long>(n_trees), n_different, n_forests);
  return n_different;
}

// Trees that draw few rows, of all features at every node and of some, whole and with rows that begin within a block.
int compare_drawn(std::int64_t n_rows, std::int32_t n_features, std::int64_t n_trees) {
  int n_different = 0, n_forests = 0;
  for (int depth = 1; depth <= kMaxDepth; ++depth)
    for (int kind = 0; kind < kKinds; ++kind) {
      if (!is_kind(kind)) continue;
      Problem p;
      make_problem(p, n_rows, n_features, depth, kind);
      draw_in_blocks(p, kind % 3 ? 20.0 : 2.5);
      if (kind % 2) p.recipe.max_features = n_features;
      p.table.first_row = depth % 2 ? 0 : 100;
      const auto expected = grow_reference(p, n_trees);
      for (const std::string& set : instruction_sets())
        for (int threads = 1; threads <= 2; ++threads, ++n_forests)
          n_different += grow(p, n_trees, threads, set) != expected;
      n_different += compare_levels(p, n_trees, expected);
    }
  std::printf("%lld x %d, %lld trees that draw few rows: %d of %d forests differ\n", static_cast<long long>(n_rows),
              n_features, static_cast<long long>(n_trees), n_different, n_forests);
  return n_different;
}

int check_parts() {
  int n_wrong = 0;
  const std::pair<const char*, int (*)()> parts[] = {
      {"encode", check::encode},   {"recode", check::recode}, {"quantiles", check::quantiles},
      {"moments", check::moments}, {"ridge", check::ridge},   {"evaluate", check::evaluate},
      {"deal", check::deal}};
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
    int n_wrong = check_parts() + compare_all(300, 7, 50) + compare_drawn(2500, 7, 20) + compare_threads(45000, 3, 70);
    if (!kThreadsAlone) n_wrong += compare_all(2500, 5, kSlow ? 20 : 40) + compare_all(9000, 3, kSlow ? 10 : 20);
    return n_wrong ? 1 : 0;
  }
  Problem p;
  make_problem(p, std::atoll(argv[1]), std::atoi(argv[2]), 2, argc > 6 ? std::atoi(argv[6]) : 0);
  if (argc > 7) {  // as stages do: few rows, all features
    draw_in_blocks(p, kDrawBlock * std::atof(argv[7]) / std::atof(argv[1]));
    p.recipe.max_features = p.table.n_features;
  }
  const std::clock_t start = std::clock();
  const auto splits = grow(p, std::atoll(argv[3]), std::atoi(argv[4]), argc > 5 ? argv[5] : instruction_sets()[0]);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;  // of all threads together
  std::printf("%.3f microseconds a tree, %016llx\n", 1e6 * seconds / std::atof(argv[3]),
              static_cast<unsigned long long>(hash_of(splits)));
}
