// A block of trees: the functions that are compiled once for each instruction set.
#pragma once

#include <atomic>
#include <cstdint>

#include "shard.hpp"
#include "table.hpp"
#include "workspace.hpp"

namespace pysirus {

// grow_block grows trees first_tree .. first_tree + n_trees - 1 (no more than the groups of the workspace hold) and
// writes the split number of each of their inner nodes, in heap order, to splits[tree][node]. Returns early, with
// nothing written, when `stop` is set.
using GrowBlock = void (*)(const Table&, const Recipe&, std::uint64_t first_tree, int n_trees, Workspace&,
                           const std::atomic<bool>& stop, std::int32_t* splits);

// add_block adds the sums over the table's rows that a level needs of its trees first .. first + n_trees - 1.
using AddBlock = void (*)(const Table&, const Recipe&, const Level&, std::int64_t first, int n_trees, Workspace&,
                          const std::atomic<bool>& stop, std::int64_t* sums);

namespace avx512 {
void grow_block(const Table&, const Recipe&, std::uint64_t, int, Workspace&, const std::atomic<bool>&, std::int32_t*);
void add_block(const Table&, const Recipe&, const Level&, std::int64_t, int, Workspace&, const std::atomic<bool>&,
               std::int64_t*);
}
namespace avx2 {
void grow_block(const Table&, const Recipe&, std::uint64_t, int, Workspace&, const std::atomic<bool>&, std::int32_t*);
void add_block(const Table&, const Recipe&, const Level&, std::int64_t, int, Workspace&, const std::atomic<bool>&,
               std::int64_t*);
}
namespace plain {
void grow_block(const Table&, const Recipe&, std::uint64_t, int, Workspace&, const std::atomic<bool>&, std::int32_t*);
void add_block(const Table&, const Recipe&, const Level&, std::int64_t, int, Workspace&, const std::atomic<bool>&,
               std::int64_t*);
}

}  // namespace pysirus
