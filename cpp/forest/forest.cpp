#include "forest/forest.hpp"

#include <algorithm>
#include <stdexcept>

#include "forest/kernel.hpp"
#include "forest/pool.hpp"
#include "forest/workspace.hpp"

namespace pysirus {
namespace {

struct Kernel {
  GrowBlock* grow_block;
  AddBlock* add_block;
};

Kernel kernel_of(const std::string& instruction_set) {
#if defined(PYSIRUS_AVX512)
  if (instruction_set == "avx512") return {avx512::grow_block, avx512::add_block};
#endif
#if defined(PYSIRUS_AVX2)
  if (instruction_set == "avx2") return {avx2::grow_block, avx2::add_block};
#endif
  if (instruction_set == "plain") return {plain::grow_block, plain::add_block};
  throw std::invalid_argument("no instruction set is called '" + instruction_set + "'");
}

// Groups of a block: as many as there can be, unless threads would have nothing to do, or the histograms of wide tables
// take too much memory.
int groups_of_block(const Table& table, const Recipe& recipe, std::int64_t n_trees, int n_threads) {
  constexpr std::int64_t kMaxBytes = 1 << 25;
  std::int64_t n_cells = 0;
  for (std::int32_t f = 0; f < table.n_features; ++f) n_cells += table.n_bins[f] * (1 + table.n_sums);
  const std::int64_t bytes_of_group = (n_cells << (recipe.max_depth - 1)) * kLanes * sizeof(std::int64_t);
  int n_groups = kMaxGroups;
  while (n_groups > 1 && (n_groups * bytes_of_group > kMaxBytes || n_trees <= n_groups / 2 * kLanes * n_threads))
    n_groups /= 2;
  return n_groups;
}

}  // namespace

std::vector<std::string> instruction_sets() {
  std::vector<std::string> found;
#if defined(PYSIRUS_AVX2) || defined(PYSIRUS_AVX512)
  __builtin_cpu_init();
#endif
#if defined(PYSIRUS_AVX512)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
    found.push_back("avx512");
#endif
#if defined(PYSIRUS_AVX2)
  if (__builtin_cpu_supports("avx2")) found.push_back("avx2");
#endif
  found.push_back("plain");
  return found;
}

namespace {

// Calls work(first tree, number of trees, memory, stop) for blocks of trees, on several threads.
template <class Work>
bool run_blocks(const Table& table, const Recipe& recipe, std::int64_t n_trees, int n_threads,
                const std::function<bool()>& interrupted, Work work) {
  SortedTable sorted(table, n_trees);
  if (sorted.n_chunks > 0 && !run_pieces(sorted.n_chunks, n_threads, interrupted, [&] {
        return [&, sorter = RowSorter()](std::int64_t chunk, const std::atomic<bool>&) mutable {
          sorted.sort_chunk(table, chunk, sorter);
        };
      }))
    return false;
  const int n_groups = groups_of_block(table, recipe, n_trees, n_threads);
  const std::int64_t n_together = n_groups * kLanes;
  return run_pieces((n_trees + n_together - 1) / n_together, n_threads, interrupted, [&] {
    return [&, space = Workspace(table, recipe, sorted, n_groups)](std::int64_t block,
                                                                   const std::atomic<bool>& stop) mutable {
      const std::int64_t first = block * n_together;
      work(first, static_cast<int>(std::min(n_together, n_trees - first)), space.memory(), stop);
    };
  });
}

}  // namespace

bool grow_forest(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees,
                 int n_threads, const std::string& instruction_set, const std::function<bool()>& interrupted,
                 std::int32_t* splits) {
  GrowBlock* const grow_block = kernel_of(instruction_set).grow_block;
  const std::int64_t n_nodes = (std::int64_t{1} << recipe.max_depth) - 1;
  return run_blocks(table, recipe, n_trees, n_threads, interrupted,
                    [&](auto first, int n, const Memory& memory, auto& stop) {
                      grow_block(table, recipe, first_tree + static_cast<std::uint64_t>(first), n, memory, stop,
                                 splits + first * n_nodes);
                    });
}

bool add_level(const Table& table, const Recipe& recipe, const Level& level, int n_threads,
               const std::string& instruction_set, const std::function<bool()>& interrupted, std::int64_t* sums) {
  AddBlock* const add_block = kernel_of(instruction_set).add_block;
  return run_blocks(table, recipe, level.n_trees, n_threads, interrupted,
                    [&](auto first, int n, const Memory& memory, auto& stop) {
                      add_block(table, recipe, level.view(), first, n, memory, stop, sums);
                    });
}

}  // namespace pysirus
