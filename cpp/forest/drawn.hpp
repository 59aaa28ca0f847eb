// Trees that draw few of the rows. Each is grown on the rows that it draws, so that it costs what it draws and not what
// there is. What is grown is what reference.hpp grows, to the last bit.
//
// A block of 256 rows draws: how many draws it has is Poisson, and each draw takes one of its rows, so that the counts of
// rows are independent and Poisson, as where every row draws for itself. A part of the rows that holds some of a block
// draws all of it and keeps its own.
//
// Two features share a column of a byte, so that one addition serves both: the cells of each are sums over those of the
// pair. Size and sum of a cell are packed into 64 bits where they have room. Of 100,000 x 20, 10,000 rows drawn, a tree
// takes half the time that a feature at a time takes. Vectors of trees, as the kernel has them, would gather
// other rows for each lane.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "forest/level.hpp"
#include "forest/table.hpp"

namespace pysirus {

// Do blocks of rows draw, and not every row for itself?
inline bool draws_in_blocks(const Recipe& recipe) { return recipe.block_thresholds != nullptr; }

// The features of a table in pairs that have at most 256 bins together; some may be alone.
struct Pairs {
  struct Pair {
    std::int32_t first, second, n_second;  // features, second -1 where there is none; the bins of the second, or 1
  };
  std::vector<Pair> pairs;

  explicit Pairs(const Table& table);
};

// The bins of each row side by side, [row][pair]: a row that is drawn is read at once.
class RowsOfPairs {
 public:
  // On several threads; false when interrupted, and then of no use.
  bool fill(const Table& table, const Pairs& pairs, int n_threads, const std::function<bool()>& interrupted);
  const std::uint64_t* of(std::int64_t row) const { return words_.data() + row * n_words_; }
  std::int64_t n_words() const { return n_words_; }

 private:
  std::int64_t n_words_ = 0;  // of a row
  std::vector<std::uint64_t> words_;
};

// grow_forest and add_level (forest.hpp) for such trees.
bool grow_drawn(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees, int n_threads,
                const std::function<bool()>& interrupted, std::int32_t* splits);
bool add_drawn_level(const Table& table, const Recipe& recipe, const Level& level, int n_threads,
                     const std::function<bool()>& interrupted, std::int64_t* sums);

// The rows of the table that a tree draws, one entry a draw.
void draw_rows(const Table& table, const Recipe& recipe, std::uint64_t tree_key, std::vector<std::int64_t>& rows);

}  // namespace pysirus
