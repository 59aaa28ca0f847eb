// Trees that draw few of the rows. Each is grown on the rows that it draws, so that it costs what it draws and not what
// there is. What is grown is what reference.hpp grows, to the last bit.
//
// A block of 256 rows draws: how many draws it has is Poisson, and each draw takes one of its rows, so that the counts of
// rows are independent and Poisson, as where every row draws for itself. A part of the rows that holds some of a block
// draws all of it and keeps its own.
//
// Two features share a column of a byte, so that one addition serves both: the cells of each are sums over those of the
// pair. Size and sums of a cell are packed into 64 bits where they have room (packed.hpp). Of 100,000 x 20, 10,000 rows
// drawn, a tree takes half the time that a feature at a time takes. Vectors of trees, as the kernel has them, would gather
// other rows for each lane. Trees are drawn several at a time, and the rows that they draw are asked for before they are
// read: on 900,000 x 20 a tree that draws 5,000 rows takes 150 us, not 230.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "forest/kernel.hpp"
#include "forest/level.hpp"
#include "forest/packed.hpp"
#include "forest/random.hpp"
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

// The bins of each row side by side, [row][pair], and what it answers, its value or its class, where that can be packed:
// a row that is drawn is read at once.
class RowsOfPairs {
 public:
  explicit RowsOfPairs(const Table& table) : pairs_(table), packing_(table) {}

  // On several threads; false when interrupted, and then of no use.
  bool fill(const Table& table, int n_threads, const std::function<bool()>& interrupted);

  const std::vector<Pairs::Pair>& pairs() const { return pairs_.pairs; }
  const Packing& packing() const { return packing_; }
  const std::uint64_t* of(std::int64_t row) const { return words_.data() + row * n_words_; }
  std::int64_t n_words() const { return n_words_; }
  // What a row answers, from its words.
  std::int32_t answer(const std::uint64_t* words) const {
    std::int32_t answer;
    std::memcpy(&answer, reinterpret_cast<const std::uint8_t*>(words) + pairs_.pairs.size(), sizeof answer);
    return answer;
  }

 private:
  Pairs pairs_;
  Packing packing_;
  std::int64_t n_words_ = 0;  // of a row
  std::vector<std::uint64_t> words_;
};

// grow_forest and add_level (forest.hpp) for such trees.
bool grow_drawn(const Table& table, const Recipe& recipe, const Kernel& kernel, std::uint64_t first_tree,
                std::int64_t n_trees, int n_threads, const std::function<bool()>& interrupted, std::int32_t* splits,
                std::int32_t* lines);
bool add_drawn_level(const Table& table, const Recipe& recipe, const Kernel& kernel, const Level& level, int n_threads,
                     const std::function<bool()>& interrupted, std::int64_t* sums);

// Which rows blocks draw: as many as thresholds are reached, each anywhere in the block.
class BlockDraws {
 public:
  BlockDraws(const Table& table, const Recipe& recipe, const Kernel& kernel);

  // The blocks that the rows of the table are in: the first and the last of them may be in other tables too.
  std::uint64_t first_block() const { return first_; }
  std::uint64_t end_block() const { return end_; }

  // Room for the draws of some blocks: they are written eight at a time.
  std::int64_t room(std::int64_t n_blocks) const { return n_blocks * draws_.n + 16; }
  double mean() const;  // of a block

  // Writes the rows of the table that some blocks draw; returns their end.
  std::int64_t* draw(std::uint64_t tree_key, std::uint64_t block, std::uint64_t end, std::int64_t* to) const;

 private:
  const Table& table_;
  const Kernel& kernel_;
  BlockThresholds draws_;
  std::uint64_t first_, end_;
};

// The rows of the table that a tree draws, one after the other: an entry a draw.
std::vector<std::int64_t> drawn_rows(const Table& table, const Recipe& recipe, std::uint64_t tree_key);

}  // namespace pysirus
