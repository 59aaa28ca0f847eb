// Splits of trees in, paths and their counts out. A path is the set of its (split, side) pairs, order aside.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "forest/random.hpp"
#include "forest/table.hpp"

namespace pysirus {

// Codes 2 * split + side (0: `<`, 1: `>=`) in rising order, padded with -1.
using Path = std::array<std::int32_t, kMaxDepth>;

struct PathCount {
  Path path;
  std::int64_t count;
};

// Counts inner nodes, each known by its path and its split: half as many as there are paths, which end on either side of
// a split. Counts of forests add up.
class PathCounts {
 public:
  void add_forest(const std::int32_t* splits, std::int64_t n_trees, int depth) {
    const std::int64_t n_nodes = (std::int64_t{1} << depth) - 1;
    const std::int64_t n_splits = n_trees ? 1 + *std::max_element(splits, splits + n_trees * n_nodes) : 0;
    if (depth == 2 && n_splits * n_splits <= 16 * n_trees) return add_pairs(splits, n_trees, n_splits);
    for (std::int64_t tree = 0; tree < n_trees; ++tree) add_node(splits + tree * n_nodes, n_nodes, 0, empty_path(), 0);
  }

  // All paths, the most frequent first; on a tie fewer splits, then more `<`, then the lower codes.
  std::vector<PathCount> sorted() const {
    std::vector<PathCount> paths;
    paths.reserve(2 * n_nodes_);
    for (const auto& [node, count] : cells_) {
      if (!count) continue;
      Path path = node;
      path.back() = -1;
      const auto length = static_cast<int>(std::find(path.begin(), path.end(), -1) - path.begin());
      for (int side = 0; side < 2; ++side) paths.push_back({with_code(path, length, 2 * node.back() + side), count});
    }
    std::sort(paths.begin(), paths.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    // one set of splits, met in several orders
    std::size_t n = 0;
    for (const auto& path : paths)
      if (n > 0 && paths[n - 1].path == path.path)
        paths[n - 1].count += path.count;
      else
        paths[n++] = path;
    paths.resize(n);
    std::vector<std::pair<std::uint64_t, std::size_t>> ranks;
    for (std::size_t i = 0; i < n; ++i) ranks.emplace_back(~rank_of(paths[i]), i);
    std::sort(ranks.begin(), ranks.end());
    std::vector<PathCount> ordered;
    ordered.reserve(n);
    for (const auto& [rank, i] : ranks) ordered.push_back(paths[i]);
    return ordered;
  }

 private:
  // Larger for what comes first.
  static std::uint64_t rank_of(const PathCount& path) {
    std::uint64_t n_open = 0, n_less = 0;
    for (const std::int32_t code : path.path) n_open += code < 0, n_less += code >= 0 && code % 2 == 0;
    return static_cast<std::uint64_t>(path.count) << 8 | n_open << 4 | n_less;
  }

  static Path empty_path() {
    Path path;
    path.fill(-1);
    return path;
  }

  static Path with_code(Path path, int length, std::int32_t code) {
    int at = length;
    for (; at > 0 && path[at - 1] > code; --at) path[at] = path[at - 1];
    path[at] = code;
    return path;
  }

  // Many trees with few splits: a count for every pair of a split and one below it, without hashing.
  void add_pairs(const std::int32_t* splits, std::int64_t n_trees, std::int64_t n_splits) {
    std::vector<std::int32_t> roots(n_splits), pairs(2 * n_splits * n_splits);  // [split][side][split below]
    for (const std::int32_t* tree = splits; tree < splits + 3 * n_trees; tree += 3) {
      if (tree[0] == kNoSplit) continue;
      ++roots[tree[0]];
      for (int side = 0; side < 2; ++side)
        if (tree[1 + side] != kNoSplit) ++pairs[(2 * tree[0] + side) * n_splits + tree[1 + side]];
    }
    for (std::int64_t root = 0; root < n_splits; ++root) {
      if (roots[root] == 0) continue;
      add_count({-1, -1, -1, static_cast<std::int32_t>(root)}, roots[root]);
      for (std::int64_t code = 2 * root; code < 2 * root + 2; ++code)
        for (std::int64_t below = 0; below < n_splits; ++below)
          if (const std::int32_t count = pairs[code * n_splits + below])
            add_count({static_cast<std::int32_t>(code), -1, -1, static_cast<std::int32_t>(below)}, count);
    }
  }

  void add_node(const std::int32_t* splits, std::int64_t n_nodes, std::int64_t node, const Path& path, int length) {
    if (length == kMaxDepth || node >= n_nodes || splits[node] == kNoSplit) return;
    Path key = path;
    key.back() = splits[node];  // a node's own path is shorter than that
    add_count(key, 1);
    for (int side = 0; side < 2; ++side)
      add_node(splits, n_nodes, 2 * node + 1 + side, with_code(path, length, 2 * splits[node] + side), length + 1);
  }

  static std::uint64_t hash(const Path& key) {
    std::uint64_t words[2];
    static_assert(sizeof words == sizeof key);
    std::memcpy(words, key.data(), sizeof words);
    return mix64(words[0] * kGolden64 + words[1]);
  }

  void add_count(const Path& key, std::int64_t count) {
    if (2 * (n_nodes_ + 1) > cells_.size()) enlarge();
    auto& cell = probe(key);
    if (!cell.count) {
      cell.path = key;
      ++n_nodes_;
    }
    cell.count += count;
  }

  PathCount& probe(const Path& key) {
    std::size_t at = hash(key) & (cells_.size() - 1);
    while (cells_[at].count && cells_[at].path != key) at = (at + 1) & (cells_.size() - 1);
    return cells_[at];
  }

  void enlarge() {
    std::vector<PathCount> old(std::max<std::size_t>(4096, 2 * cells_.size()), PathCount{empty_path(), 0});
    old.swap(cells_);
    for (const auto& cell : old)
      if (cell.count) probe(cell.path) = cell;
  }

  std::vector<PathCount> cells_;  // open addressing; a key is a path with the split in its last place
  std::size_t n_nodes_ = 0;
};

}  // namespace pysirus
