#include "forest.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernel.hpp"
#include "pool.hpp"

namespace pysirus {
namespace {

GrowBlock kernel_of(const std::string& instruction_set) {
#if defined(PYSIRUS_X86)
  if (instruction_set == "avx512") return avx512::grow_block;
  if (instruction_set == "avx2") return avx2::grow_block;
#endif
  if (instruction_set == "plain") return plain::grow_block;
  throw std::invalid_argument("no instruction set is called '" + instruction_set + "'");
}

}  // namespace

std::vector<std::string> instruction_sets() {
  std::vector<std::string> found;
#if defined(PYSIRUS_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    found.push_back("avx512");
  if (__builtin_cpu_supports("avx2")) found.push_back("avx2");
#endif
  found.push_back("plain");
  return found;
}

bool grow_forest(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees,
                 int n_threads, const std::string& instruction_set, const std::function<bool()>& interrupted,
                 std::int32_t* splits) {
  const GrowBlock grow_block = kernel_of(instruction_set);
  const std::int64_t n_nodes = (std::int64_t{1} << recipe.max_depth) - 1;
  return run_pieces((n_trees + kLanes - 1) / kLanes, n_threads, interrupted, [&] {
    return [&, space = Workspace(table, recipe)](std::int64_t block, const std::atomic<bool>& stop) mutable {
      const std::int64_t begin = block * kLanes;
      const auto n = static_cast<int>(std::min<std::int64_t>(kLanes, n_trees - begin));
      grow_block(table, recipe, first_tree + static_cast<std::uint64_t>(begin), n, space, stop,
                 splits + begin * n_nodes);
    };
  });
}

}  // namespace pysirus
