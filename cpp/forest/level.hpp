// Trees whose rows lie in several places. Each holder of rows answers with integer sums, one level of the trees at a
// time; the sums are added up, the splits are searched in them, and the next level is asked for. What is found is what
// grow_forest finds on all rows together.
#pragma once

#include <cstdint>
#include <vector>

#include "forest/kernel.hpp"
#include "forest/table.hpp"

namespace pysirus {

// Which sums one level of some trees needs, and where they stand. Of each node that exists: the number of rows drawn,
// then for each candidate feature, in rising order, the cells of its bins: size, sums.
struct Level {
  std::uint64_t first_tree;
  std::int64_t n_trees;
  int depth;                             // 0 is the root
  const std::int32_t* splits;            // [tree][2^depth - 1], in heap order: what is known so far
  std::vector<std::int64_t> offset;      // [tree][2^depth] + 1
  std::vector<std::int32_t> candidates;  // [tree][2^depth][max_features], -1 where there are fewer

  Level(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees, int depth,
        const std::int32_t* splits);

  std::int64_t n_nodes() const { return std::int64_t{1} << depth; }
  std::int64_t n_sums() const { return offset.back(); }
  LevelView view() const { return {first_tree, depth, splits, offset.data(), candidates.data()}; }
};

// Searches the splits of a level in the sums over all rows: found[tree][2^depth]. Of the table only the shape of its
// columns is read, and whether there are classes. Nodes no split of which gains anything are split, and named: 2 + n_sums
// integers for each, its tree, counted from the level's first one, its number in heap order, and the value of each column
// which all its rows must answer for it to be left alone. At the root, where the recipe has lines: lines[tree] is the
// column whose line wins the tree, unless that is null; a tree of one answer has none.
std::vector<std::int64_t> search_level(const Table& table, const Recipe& recipe, const Level& level,
                                       const std::int64_t* sums, std::int32_t* found, std::int32_t* lines = nullptr);

// How many rows of such a node, or draws of rows, answer something else than its values.
std::int64_t count_other_values(const Table& table, const Recipe& recipe, const Level& level, const std::int64_t* node);

}  // namespace pysirus
