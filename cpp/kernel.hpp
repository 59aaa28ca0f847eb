// A block of trees: the one function that is compiled once for each instruction set.
#pragma once

#include <atomic>
#include <cstdint>

#include "table.hpp"
#include "workspace.hpp"

namespace pysirus {

// Grows trees first_tree .. first_tree + n_trees - 1 (at most kLanes) and writes the split number of each of their
// inner nodes, in heap order, to splits[tree][node]. Returns early, with nothing written, when `stop` is set.
using GrowBlock = void (*)(const Table&, const Recipe&, std::uint64_t first_tree, int n_trees, Workspace&,
                           const std::atomic<bool>& stop, std::int32_t* splits);

namespace avx512 {
void grow_block(const Table&, const Recipe&, std::uint64_t, int, Workspace&, const std::atomic<bool>&,
                std::int32_t*);
}
namespace avx2 {
void grow_block(const Table&, const Recipe&, std::uint64_t, int, Workspace&, const std::atomic<bool>&,
                std::int32_t*);
}
namespace plain {
void grow_block(const Table&, const Recipe&, std::uint64_t, int, Workspace&, const std::atomic<bool>&,
                std::int32_t*);
}

}  // namespace pysirus
