// What a kernel is given and what it answers: the functions that are compiled once for each instruction set.
#pragma once

#include <atomic>
#include <cstdint>

#include "forest/chunk.hpp"
#include "forest/table.hpp"

namespace pysirus {

struct Workspace;

// The memory of one thread, for a block of trees. cpp/README.md has a picture of it.
struct Memory {
  int n_groups;                     // of the blocks to grow
  const std::int64_t* cell_offset;  // [feature]: its first cell in a histogram, in vectors of lanes
  std::int64_t n_cells;             // of a histogram, likewise
  std::uint8_t* counts;             // [chunk][row][tree], of one chunk or of all
  std::uint8_t* inside;             // [node - 1][row][tree], counts of the nodes below the root in a chunk
  std::uint8_t* histograms;         // [place of a node][group][cell][lane]
  std::uint8_t* routes;             // [node][table][bin][tree], who goes left
  std::uint16_t* candidates;        // [feature], a bit a lane
  std::int32_t* allowed;            // [feature], of one lane: those that may be candidates
  Workspace* owner;
};

// What one level of some trees needs to know of the rows; level.hpp has the words.
struct LevelView {
  std::uint64_t first_tree;
  int depth;
  const std::int32_t* splits;
  const std::int64_t* offset;
  const std::int32_t* candidates;
};

// What a kernel asks of code that is compiled for every machine (workspace.cpp): a chunk is started, then its columns
// are asked for. A column is valid until the next one is.
void start_chunk(Workspace& workspace, const Table& table, std::int64_t first, std::int64_t n_rows);
SortedColumn sorted_column(Workspace& workspace, const Table& table, std::int64_t first, std::int32_t feature);
bool is_set(const std::atomic<bool>& stop);

// grow_block grows trees first_tree .. first_tree + n_trees - 1 (no more than the groups of the memory hold) and
// writes the split number of each of their inner nodes, in heap order, to splits[tree][node]. Returns early, with
// nothing written, when `stop` is set.
using GrowBlock = void(const Table&, const Recipe&, std::uint64_t first_tree, int n_trees, const Memory&,
                       const std::atomic<bool>& stop, std::int32_t* splits);

// add_block adds the sums over the table's rows that a level needs of its trees first .. first + n_trees - 1.
using AddBlock = void(const Table&, const Recipe&, const LevelView&, std::int64_t first, int n_trees, const Memory&,
                      const std::atomic<bool>& stop, std::int64_t* sums);

namespace avx512 {
GrowBlock grow_block;
AddBlock add_block;
}  // namespace avx512
namespace avx2 {
GrowBlock grow_block;
AddBlock add_block;
}  // namespace avx2
namespace plain {
GrowBlock grow_block;
AddBlock add_block;
}  // namespace plain

}  // namespace pysirus
