#include "forest/forest.hpp"

#include <algorithm>
#include <stdexcept>

#include "forest/crew.hpp"
#include "forest/drawn.hpp"
#include "forest/kernel.hpp"
#include "forest/pool.hpp"
#include "forest/workspace.hpp"

namespace pysirus {
namespace {

const Kernel& kernel_of(const std::string& instruction_set) {
#if defined(PYSIRUS_AVX512)
  if (instruction_set == "avx512") return avx512::kernel;
#endif
#if defined(PYSIRUS_AVX2)
  if (instruction_set == "avx2") return avx2::kernel;
#endif
  if (instruction_set == "plain") return plain::kernel;
  throw std::invalid_argument("no instruction set is called '" + instruction_set + "'");
}

// Threads that share the rows of a block: each has so many that adding its sums to the others' costs little.
int threads_of_block(const Table& table, int n_threads) {
  constexpr std::int64_t kLeastRows = 4 * kChunk;
  return static_cast<int>(std::clamp<std::int64_t>(table.n_rows / kLeastRows, 1, std::max(1, n_threads)));
}

// Groups of a block: as many as there can be, unless threads would have nothing to do, or the histograms of wide tables
// take too much memory. `n_teams` blocks are worked on at a time.
int groups_of_block(const Table& table, const Recipe& recipe, std::int64_t n_trees, int n_teams) {
  constexpr std::int64_t kMaxBytes = 1 << 25;
  std::int64_t n_cells = 0;
  for (std::int32_t f = 0; f < table.n_features; ++f) n_cells += table.n_bins[f] * (1 + table.n_sums);
  const std::int64_t bytes_of_group = (n_cells << (recipe.max_depth - 1)) * kLanes * sizeof(std::int64_t);
  int n_groups = kMaxGroups;
  while (n_groups > 1 && (n_groups * bytes_of_group > kMaxBytes || n_trees <= n_groups / 2 * kLanes * n_teams))
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

// One chunk is sorted here: that takes less time than a thread to start.
bool sort_rows(SortedTable& sorted, const Table& table, int n_threads, const std::function<bool()>& interrupted) {
  if (sorted.n_chunks == 1) {
    RowSorter sorter;
    sorted.sort_chunk(table, 0, sorter);
    return true;
  }
  return sorted.n_chunks == 0 || run_pieces(sorted.n_chunks, n_threads, interrupted, [&] {
           return [&, sorter = RowSorter()](std::int64_t chunk, const std::atomic<bool>&) mutable {
             sorted.sort_chunk(table, chunk, sorter);
           };
         });
}

// Calls lead(job, first tree, number of trees, leader) for blocks of trees, on several threads.
template <class Lead>
bool run_blocks(const Table& table, const Recipe& recipe, const Kernel& kernel, std::int64_t n_trees, int n_threads,
                const std::function<bool()>& interrupted, const Lead& lead) {
  n_threads = std::max(1, n_threads);
  SortedTable sorted(table, n_trees);
  if (!sort_rows(sorted, table, n_threads, interrupted)) return false;
  const int n_sharing = threads_of_block(table, n_threads);
  const int n_groups = groups_of_block(table, recipe, n_trees, (n_threads + n_sharing - 1) / n_sharing);
  const std::int64_t n_together = n_groups * kLanes, n_blocks = (n_trees + n_together - 1) / n_together;
  Crew crew(kernel, n_blocks, n_sharing - 1);
  return run_pieces(std::min<std::int64_t>(n_blocks * n_sharing, n_threads), n_threads, interrupted, [&] {
    return
        [&, space = Workspace(table, recipe, sorted, n_groups)](std::int64_t, const std::atomic<bool>& stop) mutable {
          const Job job{table, recipe, stop};
          crew.work(job, space, [&](std::int64_t block, Crew::Leader& leader) {
            const std::int64_t first = block * n_together;
            lead(job, first, static_cast<int>(std::min(n_together, n_trees - first)), leader);
          });
        };
  });
}

}  // namespace

bool grow_forest(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees,
                 int n_threads, const std::string& instruction_set, const std::function<bool()>& interrupted,
                 std::int32_t* splits, std::int32_t* lines) {
  if (!recipe.lines.first) lines = nullptr;
  const Kernel& kernel = kernel_of(instruction_set);
  if (draws_in_blocks(recipe))
    return grow_drawn(table, recipe, kernel, first_tree, n_trees, n_threads, interrupted, splits, lines);
  const std::int64_t n_nodes = (std::int64_t{1} << recipe.max_depth) - 1;
  return run_blocks(table, recipe, kernel, n_trees, n_threads, interrupted,
                    [&](const Job& job, std::int64_t first, int n, Crew::Leader& leader) {
                      kernel.start_block(job, first_tree + static_cast<std::uint64_t>(first), n, leader.memory());
                      for (int level = 0; level < recipe.max_depth && leader.sum_level(); ++level)
                        kernel.split_level(job, leader.memory(), splits + first * n_nodes,
                                           lines ? lines + first : nullptr);
                    });
}

bool add_level(const Table& table, const Recipe& recipe, const Level& level, int n_threads,
               const std::string& instruction_set, const std::function<bool()>& interrupted, std::int64_t* sums) {
  const Kernel& kernel = kernel_of(instruction_set);
  if (draws_in_blocks(recipe)) return add_drawn_level(table, recipe, kernel, level, n_threads, interrupted, sums);
  return run_blocks(table, recipe, kernel, level.n_trees, n_threads, interrupted,
                    [&](const Job& job, std::int64_t first, int n, Crew::Leader& leader) {
                      const Memory& memory = leader.memory();
                      kernel.start_block(job, level.first_tree + static_cast<std::uint64_t>(first), n, memory);
                      kernel.enter_level(job, level.view(), first, memory);
                      if (leader.sum_level()) kernel.answer_level(job, level.view(), first, memory, sums);
                    });
}

}  // namespace pysirus
