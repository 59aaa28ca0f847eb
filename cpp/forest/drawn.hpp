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
bool grow_drawn(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees, int n_threads,
                const std::function<bool()>& interrupted, std::int32_t* splits, std::int32_t* lines);
bool add_drawn_level(const Table& table, const Recipe& recipe, const Level& level, int n_threads,
                     const std::function<bool()>& interrupted, std::int64_t* sums);

// Which rows a block draws: as many as thresholds are reached, each anywhere in the block.
class BlockDraws {
 public:
  explicit BlockDraws(const Recipe& recipe);

  // Room for the draws of a block: they are written eight at a time.
  std::int64_t most() const { return recipe_.n_block_thresholds + 8; }
  double mean() const;

  // Writes the rows that the block draws, of which the first is `first`; returns their end.
  std::int64_t* draw(std::uint64_t block_key, std::int64_t first, std::int64_t* to) const {
    const std::int64_t n = n_draws(static_cast<std::uint32_t>(bits_at(block_key, 0) >> 32));
    std::int64_t i = 0;
    do {  // eight draws from each 64 bits; those beyond n are written over
      const std::uint64_t bits = bits_at(block_key, static_cast<std::uint64_t>(1 + i / 8));
      for (int k = 0; k < 8; ++k) to[i + k] = first + static_cast<std::int64_t>(bits >> (8 * k) & 0xFF);
      i += 8;
    } while (i < n);
    return to + n;
  }

 private:
  // They are looked for from those that the first byte of the bits reaches for certain.
  std::int64_t n_draws(std::uint32_t bits) const {
    std::int64_t n = reached_[bits >> 24];
    while (n < recipe_.n_block_thresholds && bits >= recipe_.block_thresholds[n]) ++n;
    return n;
  }

  const Recipe& recipe_;
  std::int32_t reached_[256];
};

// The rows of the table that a tree draws, one after the other: an entry a draw.
std::vector<std::int64_t> drawn_rows(const Table& table, const Recipe& recipe, std::uint64_t tree_key);

}  // namespace pysirus
