// Splits of trees in, paths and their counts out. A path is the set of its (split, side) pairs, order aside.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "random.hpp"
#include "table.hpp"

namespace pysirus {

// Codes 2 * split + side (0: `<`, 1: `>=`) in rising order, padded with -1.
using Path = std::array<std::int32_t, kMaxDepth>;

struct PathCount {
  Path path;
  std::int64_t count;
};

// An open-addressing hash table from paths to counts; counts of forests add up.
class PathCounts {
 public:
  void add_forest(const std::int32_t* splits, std::int64_t n_trees, int depth) {
    const std::int64_t n_nodes = (std::int64_t{1} << depth) - 1;
    for (std::int64_t tree = 0; tree < n_trees; ++tree) add_node(splits + tree * n_nodes, n_nodes, 0, empty_path(), 0);
  }

  std::vector<PathCount> sorted() const {
    std::vector<PathCount> result;
    for (const auto& cell : cells_)
      if (cell.count) result.push_back(cell);
    std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return result;
  }

 private:
  static Path empty_path() {
    Path path;
    path.fill(-1);
    return path;
  }

  void add_node(const std::int32_t* splits, std::int64_t n_nodes, std::int64_t node, const Path& path, int length) {
    if (length == kMaxDepth || node >= n_nodes || splits[node] == kNoSplit) return;
    for (int side = 0; side < 2; ++side) {
      Path child = path;
      int at = length;
      const std::int32_t code = 2 * splits[node] + side;
      for (; at > 0 && child[at - 1] > code; --at) child[at] = child[at - 1];
      child[at] = code;
      ++find(child).count;
      add_node(splits, n_nodes, 2 * node + 1 + side, child, length + 1);
    }
  }

  static std::uint64_t hash(const Path& path) {
    std::uint64_t h = 0;
    for (auto code : path) h = mix64(h + kGolden64 + static_cast<std::uint32_t>(code));
    return h;
  }

  PathCount& find(const Path& path) {
    if (2 * (n_paths_ + 1) > cells_.size()) enlarge();
    auto& cell = probe(path);
    if (!cell.count) {
      cell.path = path;
      ++n_paths_;
    }
    return cell;
  }

  PathCount& probe(const Path& path) {
    std::size_t at = hash(path) & (cells_.size() - 1);
    while (cells_[at].count && cells_[at].path != path) at = (at + 1) & (cells_.size() - 1);
    return cells_[at];
  }

  void enlarge() {
    std::vector<PathCount> old(std::max<std::size_t>(1024, 2 * cells_.size()), PathCount{empty_path(), 0});
    old.swap(cells_);
    for (const auto& cell : old)
      if (cell.count) probe(cell.path) = cell;
  }

  std::vector<PathCount> cells_;
  std::size_t n_paths_ = 0;
};

}  // namespace pysirus
