// The memory one thread needs to grow a block of trees, allocated once and used for every block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "table.hpp"

namespace pysirus {

constexpr std::int64_t kChunk = 1792;         // rows whose counts are held at a time
constexpr std::int64_t kKeptRows = 8 * 1024;  // tables up to this size draw each count once
constexpr std::int32_t kTile = 4;             // features that share a sweep over a chunk
constexpr std::align_val_t kAlignment{128};   // of the widest vector of lanes

struct AlignedDelete {
  void operator()(void* p) const { ::operator delete(p, kAlignment); }
};
using Buffer = std::unique_ptr<std::uint8_t, AlignedDelete>;
inline Buffer make_buffer(std::size_t bytes) {
  return Buffer(static_cast<std::uint8_t*>(::operator new(std::max<std::size_t>(bytes, 1), kAlignment)));
}

struct Workspace {
  std::vector<std::int64_t> cell_offset;  // [feature + 1], in vectors of lanes
  Buffer counts;                          // [row][lane], of a chunk or of all kept rows
  Buffer masked;                          // [row][lane], counts of one node in a chunk
  Buffer inside;                          // [node][row][lane], counts of the nodes of two levels in a chunk
  Buffer histograms;                      // [node of a level][cell][lane]
  Buffer tile;                            // 32-bit sums of a chunk and a tile, before they are added to histograms
  Buffer routes;                          // [node][table][bin][lane], who goes left
  std::vector<std::uint16_t> candidates;  // [feature], a bit a lane

  Workspace(const Table& table, const Recipe& recipe) : cell_offset(table.n_features + 1) {
    const std::int64_t per_bin = 1 + table.n_slots;
    std::int64_t widest = 0;
    for (std::int32_t f = 0; f < table.n_features; ++f) {
      cell_offset[f + 1] = cell_offset[f] + table.n_bins[f] * per_bin;
      widest = std::max(widest, table.n_bins[f] * per_bin);
    }
    const std::int64_t parents = std::int64_t{1} << std::max(0, recipe.max_depth - 2);
    const std::int64_t nodes = std::int64_t{1} << (recipe.max_depth - 1);
    counts = make_buffer((table.n_rows <= kKeptRows ? table.n_rows : kChunk) * kLanes);
    masked = make_buffer(kChunk * kLanes);
    inside = make_buffer((std::int64_t{2} << (kMaxDepth - 2)) * kChunk * kLanes);
    histograms = make_buffer(nodes * cell_offset.back() * kLanes * sizeof(std::int64_t));
    tile = make_buffer(kTile * widest * kLanes * sizeof(std::int32_t));
    routes = make_buffer(parents * 2 * kLanes * kMaxBins * kLanes);
    candidates.resize(table.n_features);
  }
};

}  // namespace pysirus
