// Blocks of rows in, the rows that several trees draw from them out, with their bins side by side.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "forest/drawn.hpp"

namespace pysirus {

// Asks for memory that will be read soon.
inline void fetch([[maybe_unused]] const void* memory) {
#if defined(__GNUC__)
  __builtin_prefetch(memory);
#endif
}

// The draws of one tree, an entry each: their bins side by side, with what they answer, and their rows where cells are
// too wide to be packed.
struct Entries {
  std::uint64_t tree_key = 0;
  std::size_t size = 0;
  std::vector<std::uint64_t> words;  // [entry][word]: as many as there is room for
  std::vector<std::int64_t> rows;    // [entry], where they are needed
};

// Draws several trees at a time, some blocks after the other: what these hold is in the cache for all trees. On 900,000
// x 20 trees that draw 5,000 rows, one after the other, spend half of their time waiting for rows.
class TreesAtOnce {
 public:
  TreesAtOnce(const Table& table, const Recipe& recipe, const Kernel& kernel, const RowsOfPairs& all)
      : draws_(table, recipe, kernel), all_(all),
        with_rows_(!all.packing().fits() ||
                   draws_.room(table.n_rows / kDrawBlock + 2) >= static_cast<std::int64_t>(Packing::kMostDraws)) {}

  void draw(std::uint64_t seed, std::uint64_t first_tree, std::int64_t n_trees) {
    trees_.resize(static_cast<std::size_t>(n_trees));
    for (Entries& tree : trees_) tree.tree_key = tree_key(seed, first_tree++), tree.size = 0;
    rows_.resize(trees_.size());
    for (Rows& rows : rows_) rows.begin.resize(static_cast<std::size_t>(draws_.room(kBlocks)));
    for (std::uint64_t block = draws_.first_block(); block < draws_.end_block(); block += kBlocks) {
      const std::uint64_t end = std::min(draws_.end_block(), block + kBlocks);
      for (std::size_t t = 0; t < trees_.size(); ++t) {
        rows_[t].end = draws_.draw(trees_[t].tree_key, block, end, rows_[t].begin.data());
        for (const std::int64_t* row = rows_[t].begin.data(); row < rows_[t].end; ++row) fetch(all_.of(*row));
      }
      for (std::size_t t = 0; t < trees_.size(); ++t) take(trees_[t], rows_[t].begin.data(), rows_[t].end);
    }
  }

  const Entries& operator[](std::int64_t tree) const { return trees_[static_cast<std::size_t>(tree)]; }

 private:
  static constexpr std::int64_t kBlocks = 32;  // that are drawn before their rows are read

  // What some blocks have drawn.
  struct Rows {
    std::vector<std::int64_t> begin;
    std::int64_t* end = nullptr;
  };

  // Adds the rows that some blocks have drawn to the entries of a tree.
  void take(Entries& tree, const std::int64_t* begin, const std::int64_t* end) {
    const auto n_words = static_cast<std::size_t>(all_.n_words());
    const auto n = static_cast<std::size_t>(end - begin);
    const std::size_t n_needed = (tree.size + n) * n_words;
    if (n_needed > tree.words.size()) tree.words.resize(2 * n_needed);
    std::uint64_t* to = tree.words.data() + tree.size * n_words;
    switch (n_words) {
      case 1: copy<1>(begin, end, to); break;
      case 2: copy<2>(begin, end, to); break;
      case 3: copy<3>(begin, end, to); break;
      default: copy<0>(begin, end, to);
    }
    if (with_rows_) {
      tree.rows.resize(tree.size);
      tree.rows.insert(tree.rows.end(), begin, end);
    }
    tree.size += n;
  }

  template <std::size_t kWords>  // of a row; 0: more
  void copy(const std::int64_t* row, const std::int64_t* end, std::uint64_t* to) const {
    const std::size_t n_words = kWords ? kWords : static_cast<std::size_t>(all_.n_words());
    for (; row < end; ++row, to += n_words) {
      const std::uint64_t* from = all_.of(*row);
      for (std::size_t k = 0; k < n_words; ++k) to[k] = from[k];
    }
  }

  const BlockDraws draws_;
  const RowsOfPairs& all_;
  const bool with_rows_;
  std::vector<Rows> rows_;  // [tree]
  std::vector<Entries> trees_;
};

}  // namespace pysirus
