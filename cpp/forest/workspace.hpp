// The memory one thread needs to grow a block of trees, allocated once and used for every block.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <numeric>
#include <vector>

#include "forest/kernel.hpp"
#include "forest/sorted.hpp"
#include "forest/table.hpp"

namespace pysirus {

constexpr std::align_val_t kAlignment{128};  // of the widest vector of lanes

struct AlignedDelete {
  void operator()(void* p) const { ::operator delete(p, kAlignment); }
};
using Buffer = std::unique_ptr<std::uint8_t, AlignedDelete>;
inline Buffer make_buffer(std::size_t bytes) {
  return Buffer(static_cast<std::uint8_t*>(::operator new(std::max<std::size_t>(bytes, 1), kAlignment)));
}

// Rows that threads share, chunk by chunk: whoever asks has the next one.
class RowsToTake {
 public:
  RowsToTake(std::int64_t n_rows, const std::atomic<bool>& stop) : n_rows_(n_rows), stop_(stop) {}

  std::int64_t take() {
    const std::int64_t first = next_.fetch_add(kChunk, std::memory_order_relaxed);
    return first < n_rows_ && !stop_.load(std::memory_order_relaxed) ? first : -1;
  }
  bool any_left() const { return next_.load(std::memory_order_relaxed) < n_rows_; }
  void start_again() { next_ = 0; }
  void give_up() { next_ = n_rows_; }

 private:
  std::atomic<std::int64_t> next_{0};
  const std::int64_t n_rows_;
  const std::atomic<bool>& stop_;
};

struct Workspace {
  int n_groups;
  RowsToTake* rows = nullptr;             // of the block that is worked on
  const SortedTable& sorted;              // rows in order, or nothing:
  RowSorter sorter;                       // then they are sorted here,
  SortedRows sorted_chunk;                // one column of a chunk at a time
  std::vector<std::int64_t> cell_offset;  // [feature + 1]
  // One buffer for all five: malloc keeps it for the next forest. Five buffers it gave back after each one, and clearing
  // their pages anew took a fifth of the time of a small forest.
  Buffer buffer;
  std::uint8_t *histograms, *trees, *counts, *inside, *routes;
  std::vector<std::uint16_t> candidates;
  std::vector<std::int32_t> allowed;

  Workspace(const Table& table, const Recipe& recipe, const SortedTable& sorted, int n_groups)
      : n_groups(n_groups), sorted(sorted), cell_offset(table.n_features + 1), candidates(table.n_features),
        allowed(table.n_features) {
    for (std::int32_t f = 0; f < table.n_features; ++f)
      cell_offset[f + 1] = cell_offset[f] + table.n_bins[f] * (1 + table.n_sums);
    const std::int64_t n_nodes = (std::int64_t{1} << recipe.max_depth) - 1, n_last = (n_nodes + 1) / 2;
    const std::int64_t n_kept = table.n_rows <= kKeptRows ? (table.n_rows + kChunk - 1) / kChunk : 1;
    // The widest vectors come first, so that all are aligned.
    const std::int64_t n_bytes[] = {
        n_last * n_groups * cell_offset.back() * kLanes * std::int64_t{sizeof(std::int64_t)}, kTreesBytes,
        n_kept * kChunkRows * kBlock, (n_nodes - 1) * kChunkRows * kBlock, n_nodes / 2 * kBlock * kMaxBins * kBlock};
    buffer =
        make_buffer(static_cast<std::size_t>(std::accumulate(std::begin(n_bytes), std::end(n_bytes), std::int64_t{0})));
    histograms = buffer.get();
    trees = histograms + n_bytes[0];
    counts = trees + n_bytes[1];
    inside = counts + n_bytes[2];
    routes = inside + n_bytes[3];
  }

  // Points into this workspace, which must not move afterwards.
  Memory memory() {
    return {n_groups, cell_offset.data(), cell_offset.back(), counts, inside, histograms,
            routes,   candidates.data(),  allowed.data(),     trees,  this};
  }
};

}  // namespace pysirus
