// What a kernel is given and what it answers: the functions that are compiled once for each instruction set.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "forest/chunk.hpp"
#include "forest/table.hpp"

namespace pysirus {

struct Workspace;

constexpr std::size_t kTreesBytes = 1 << 15;

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
  std::uint8_t* trees;              // [kTreesBytes], what the kernel knows of them so far
  Workspace* owner;
};

struct Job {
  const Table& table;
  const Recipe& recipe;
  const std::atomic<bool>& stop;
};

// What one level of some trees needs to know of the rows; level.hpp has the words.
struct LevelView {
  std::uint64_t first_tree;
  int depth;
  const std::int32_t* splits;
  const std::int64_t* offset;
  const std::int32_t* candidates;
};

// What a kernel asks of code that is compiled for every machine (workspace.cpp): chunks of rows that no other thread has
// taken, the first row of each or -1 at their end, and the columns of the last one. A column is valid until the next is
// asked for.
std::int64_t take_chunk(Workspace& workspace, const Table& table);
SortedColumn sorted_column(Workspace& workspace, const Table& table, std::int64_t first, std::int32_t feature);
bool is_set(const std::atomic<bool>& stop);

// How many draws a block of rows has: as many as its bits reach of some thresholds (drawn.hpp).
struct BlockThresholds {
  const std::uint32_t* thresholds;  // rising
  std::int32_t n;
  std::int32_t reached[256];  // those that the first byte of the bits reaches for certain
};

// Where the size and the sums of a cell are in one integer (packed.hpp): of numbers the size below and the sum above, of
// classes the size of each.
constexpr int kSizeBits = 22, kClassBits = 21;

constexpr std::int64_t kCutsAtOnce = 8;

// What a kernel does for a block of trees. One thread leads it, others may help: each sums the rows that it takes in its
// own memory, the sums are added to the leader's, and the leader goes on. Nothing is of use once `stop` is set.
struct Kernel {
  // Takes up trees first_tree .. first_tree + n_trees - 1, no more than the groups of the memory hold.
  void (*start_block)(const Job&, std::uint64_t first_tree, int n_trees, const Memory& lead);
  // Goes to a level of trees that are known down to it: of those of the level from number `first` on.
  void (*enter_level)(const Job&, const LevelView&, std::int64_t first, const Memory& lead);
  // Adds up what the level needs of the rows that are taken meanwhile.
  void (*sum_rows)(const Job&, const Memory& lead, const Memory& own);
  // Adds a helper's sums to the leader's.
  void (*add_sums)(const Job&, const Memory& lead, const Memory& own);
  // Splits the nodes of the level, writes the numbers to splits[tree][node in heap order] and goes to the next level. At
  // the root, the column whose line wins each tree goes to lines[tree], unless that is null.
  void (*split_level)(const Job&, const Memory& lead, std::int32_t* splits, std::int32_t* lines);
  // Adds the sums to those that a level asks for.
  void (*answer_level)(const Job&, const LevelView&, std::int64_t first, const Memory& lead, std::int64_t* sums);

  // The same for trees that draw few rows, which are grown one by one (drawn.hpp).
  // Writes the rows that blocks `block` .. `end` - 1 draw, of which the first is `first`, and up to 16 more; returns their
  // end.
  std::int64_t* (*draw_blocks)(const BlockThresholds&, std::uint64_t tree_key, std::uint64_t block, std::uint64_t end,
                               std::int64_t first, std::int64_t* to);
  // The scores of cuts of a node, from its packed cells and from those on the left of each, kCutsAtOnce at a time;
  // returns the best, -1 where each leaves a side empty. `n_classes`: 0 for numbers.
  double (*score_cuts)(std::int32_t n_classes, std::int64_t node, const std::int64_t* left, std::int64_t n,
                       double* scores);
};

namespace avx512 {
extern const Kernel kernel;
}
namespace avx2 {
extern const Kernel kernel;
}
namespace plain {
extern const Kernel kernel;
}

}  // namespace pysirus
