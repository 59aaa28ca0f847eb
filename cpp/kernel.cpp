// Grows a block of trees level by level: sweep the rows (counts -> histograms of left children), subtract for the
// right children, search the splits. No row is ever moved; who is in which node is worked out anew for each chunk.
#include "kernel.hpp"

#include "draw.hpp"
#include "histogram.hpp"
#include "lanes.hpp"
#include "random.hpp"
#include "split.hpp"

namespace pysirus::PYSIRUS_ISA {
namespace {

constexpr int kMaxNodes = (1 << kMaxDepth) - 1;

// Who goes left at a node: for each feature that some tree splits on here, a table bin -> lanes that go left.
struct Route {
  int n_tables = 0;
  std::int32_t feature[kLanes];
  u8x* table[kLanes];
};

struct Block {
  const Table& table;
  const Recipe& recipe;
  Workspace& space;
  const std::atomic<bool>& stop;
  TreeKeys keys{};
  std::uint64_t tree_keys[kLanes]{};
  bool kept = false;            // are the counts of all rows held?
  i32x drawn[kMaxNodes]{};      // rows drawn in each node, with repetition
  i64x split[kMaxNodes]{};
  Route route[kMaxNodes]{};
  std::uint16_t wanted = 0;     // a bit for each lane in use
};

std::int32_t feature_of(const Block& block, std::int32_t split) {
  std::int32_t low = 0, high = block.table.n_features;
  while (high - low > 1) {
    const std::int32_t middle = (low + high) / 2;
    (block.recipe.split_offset[middle] <= split ? low : high) = middle;
  }
  return low;
}

void build_route(Block& block, int node) {
  Route& route = block.route[node];
  route.n_tables = 0;
  auto* memory = reinterpret_cast<u8x*>(block.space.routes.get()) + std::int64_t{node} * kLanes * kMaxBins;
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto split = static_cast<std::int32_t>(block.split[node][lane]);
    if (split == kNoSplit) continue;
    const std::int32_t feature = feature_of(block, split);
    const std::int32_t n_bins = block.table.n_bins[feature];
    int t = 0;
    while (t < route.n_tables && route.feature[t] != feature) ++t;
    if (t == route.n_tables) {
      route.feature[t] = feature;
      route.table[t] = memory + t * kMaxBins;
      for (std::int32_t bin = 0; bin < n_bins; ++bin) route.table[t][bin] = u8x{};
      ++route.n_tables;
    }
    const std::int32_t local = split - block.recipe.split_offset[feature];
    const std::int32_t n_cuts = n_known_bins(block.table, feature) - 1;
    for (std::int32_t bin = 0; bin < n_bins; ++bin)
      if (goes_left(bin, local, n_cuts)) route.table[t][bin].set(lane, 0xFF);
  }
}

// inside[row] &= who goes left at the route's node; the others are left in `right`, when asked for.
void follow_route(const Table& table, const Route& route, std::int64_t first, std::int64_t n_rows, const u8x* inside,
                  u8x* left, u8x* right) {
  const std::uint8_t* columns[kLanes];
  for (int t = 0; t < route.n_tables; ++t) columns[t] = table.bins + route.feature[t] * table.n_rows + first;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    u8x mask{};
    for (int t = 0; t < route.n_tables; ++t) mask |= route.table[t][columns[t][row]];
    left[row] = inside[row] & mask;
    if (right) right[row] = inside[row] - left[row];
  }
}

// Counts of a chunk, kept from the first sweep or drawn again.
const u8x* chunk_counts(const Block& block, std::int64_t first, std::int64_t n_rows) {
  auto* counts = reinterpret_cast<u8x*>(block.space.counts.get());
  if (block.kept) return counts + first;
  draw_counts(block.keys, block.recipe, block.table.first_row + static_cast<std::uint64_t>(first), n_rows, counts);
  return counts;
}

// The counts of the rows that are in the left child of each parent of the level, one parent after the other.
// At the root there is one "left child": everything.
template <class Add>
void for_each_left_child(Block& block, int level, std::int64_t first, std::int64_t n_rows, Add add) {
  const u8x* counts = chunk_counts(block, first, n_rows);
  if (level == 0) return add(0, counts);
  // Generation g of nodes stands in inside[g % 2 ...]: each level is written over the level two above it.
  auto* inside = reinterpret_cast<u8x*>(block.space.inside.get());
  const int n_parents = 1 << (level - 1);
  auto* masked = reinterpret_cast<u8x*>(block.space.masked.get());
  // Walk down from the root: the membership of the parents, then their left children.
  const u8x* members[1 << (kMaxDepth - 1)] = {counts};
  for (int above = 0; above + 1 < level; ++above) {
    const int n = 1 << above;
    u8x* next = inside + (above % 2) * (std::int64_t{1} << (kMaxDepth - 2)) * kChunk;
    const u8x* children[1 << (kMaxDepth - 1)];
    for (int k = 0; k < n; ++k) {
      u8x* left = next + (2 * k) * kChunk;
      u8x* right = next + (2 * k + 1) * kChunk;
      follow_route(block.table, block.route[n - 1 + k], first, n_rows, members[k], left, right);
      children[2 * k] = left;
      children[2 * k + 1] = right;
    }
    for (int k = 0; k < 2 * n; ++k) members[k] = children[k];
  }
  for (int k = 0; k < n_parents; ++k) {
    follow_route(block.table, block.route[n_parents - 1 + k], first, n_rows, members[k], masked, nullptr);
    add(k, masked);
  }
}

template <class Sum>
Lanes<Sum>* histogram_of(const Block& block, int node_in_level) {
  return reinterpret_cast<Lanes<Sum>*>(block.space.histograms.get()) +
         node_in_level * block.space.cell_offset.back();
}

// Histograms of a level. Those of the parents stand at 0, 1, 2, ...; the children's take their place.
template <class Sum, bool kSlots, bool kWeights>
void sweep(Block& block, int level) {
  const Table& table = block.table;
  const std::int64_t n_cells = block.space.cell_offset.back();
  const int n_parents = level == 0 ? 1 : 1 << (level - 1);
  const auto move = [&](int from, int to) {
    const auto* source = histogram_of<Sum>(block, from);
    auto* target = histogram_of<Sum>(block, to);
    for (std::int64_t c = 0; c < n_cells; ++c) target[c] = source[c];
  };
  // Parent k makes room at 2k and is found, as the right child to be, at 2k + 1.
  if (level > 0)
    for (int k = n_parents - 1; k >= 0; --k) move(k, 2 * k + 1);
  for (int k = 0; k < n_parents; ++k) {
    auto* left = histogram_of<Sum>(block, 2 * k);
    for (std::int64_t c = 0; c < n_cells; ++c) left[c] = Lanes<Sum>{};
    block.drawn[level == 0 ? 0 : 2 * (n_parents - 1 + k) + 1] = i32x{};
  }
  // A chunk of kChunk rows holds fewer than 2^11 drawn rows but for luck of one in 10^8, and 2^11 values below 2^20
  // fit 32 bits; where luck strikes the chunk is taken in pieces that cannot overflow.
  for (std::int64_t first = 0; first < table.n_rows; first += kChunk) {
    if (block.stop.load(std::memory_order_relaxed)) return;
    const std::int64_t n_rows = first + kChunk < table.n_rows ? kChunk : table.n_rows - first;
    for_each_left_child(block, level, first, n_rows, [&](int k, const u8x* counts) {
      const i32x total = total_counts(counts, n_rows);
      block.drawn[level == 0 ? 0 : 2 * (n_parents - 1 + k) + 1] += total;
      const std::int64_t piece = any(at_least(total, 1 << 11)) ? kChunk / kMaxThresholds : kChunk;
      for (std::int64_t begin = 0; begin < n_rows; begin += piece) {
        const std::int64_t n = begin + piece < n_rows ? piece : n_rows - begin;
        add_chunk<Sum, kSlots, kWeights>(table, block.space, first + begin, n, counts + begin,
                                         histogram_of<Sum>(block, 2 * k));
      }
    });
  }
  if (level == 0) return;
  for (int k = 0; k < n_parents; ++k) {
    const auto* left = histogram_of<Sum>(block, 2 * k);
    auto* right = histogram_of<Sum>(block, 2 * k + 1);
    for (std::int64_t c = 0; c < n_cells; ++c) right[c] -= left[c];
    const int parent = n_parents - 1 + k;
    block.drawn[2 * parent + 2] = block.drawn[parent] - block.drawn[2 * parent + 1];
  }
}

// Is the response of a tree's node constant? Reads rows, so it is asked only when no split gains anything.
bool is_constant(const Block& block, int node, int lane) {
  const Table& table = block.table;
  if (!table.value) return false;  // classes: the sums tell
  bool seen = false;
  std::int32_t first_value = 0;
  const std::uint64_t key = block.tree_keys[lane];
  for (std::int64_t row = 0; row < table.n_rows; ++row) {
    const auto number = static_cast<std::uint32_t>(table.first_row + static_cast<std::uint64_t>(row));
    const std::uint32_t bits =
        row_bits(static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32), number);
    if (bits < block.recipe.thresholds[0]) continue;
    bool in = true;
    for (int child = node; in && child > 0; child = (child - 1) / 2) {
      const int parent = (child - 1) / 2;
      const auto split = static_cast<std::int32_t>(block.split[parent][lane]);
      const std::int32_t feature = feature_of(block, split);
      const bool left = goes_left(table.bins[feature * table.n_rows + row], split - block.recipe.split_offset[feature],
                                  n_known_bins(table, feature) - 1);
      in = left == (child == 2 * parent + 1);
    }
    if (!in) continue;
    if (seen && table.value[row] != first_value) return false;
    seen = true;
    first_value = table.value[row];
  }
  return true;
}

template <class Sum>
void split_nodes(Block& block, int level) {
  const int n_nodes = 1 << level;
  Node<Sum> node;
  for (int k = 0; k < n_nodes; ++k) {
    const int number = n_nodes - 1 + k;
    block.split[number] = fill<std::int64_t>(kNoSplit);
    std::uint16_t open = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      const bool exists = level == 0 || block.split[(number - 1) / 2][lane] != kNoSplit;
      if (exists && block.drawn[number][lane] > block.recipe.min_node_size) open |= 1u << lane;
    }
    open &= block.wanted;
    if (!open) continue;
    draw_candidates(block.table, block.recipe, block.tree_keys, static_cast<std::uint64_t>(number), open,
                    block.space.candidates.data());
    node.cells = histogram_of<Sum>(block, k);
    const Best best = best_split(block.table, block.recipe, block.space, node);
    for (int lane = 0; lane < kLanes; ++lane) {
      if (best.split[lane] == kNoSplit) continue;
      // What rounding can make of a zero: 2^-100 leaves room for n up to 2^32.
      double largest = 0.0;
      bool pure = false;
      for (int s = 0; s < block.table.n_slots; ++s) {
        const double sum = node.sum[s][lane];
        largest = sum * sum > largest ? sum * sum : largest;
        pure |= block.table.slot && !block.table.value && sum == node.size[lane];
      }
      const bool no_gain = best.score[lane] <= 0x1p-100 * largest * node.size[lane];
      if (pure || (no_gain && is_constant(block, number, lane))) continue;
      block.split[number].set(lane, best.split[lane]);
    }
  }
}

template <class Sum, bool kSlots, bool kWeights>
void grow_levels(Block& block) {
  for (int level = 0; level < block.recipe.max_depth; ++level) {
    for (int parent = (1 << level) / 2 - 1; level > 0 && parent < (1 << level) - 1; ++parent) build_route(block, parent);
    sweep<Sum, kSlots, kWeights>(block, level);
    if (block.stop.load(std::memory_order_relaxed)) return;
    split_nodes<Sum>(block, level);
  }
}

template <bool kSlots>
void grow_block_as(Block& block, bool narrow) {
  if (block.table.weight) return grow_levels<std::int64_t, kSlots, true>(block);
  if (narrow) return grow_levels<std::int32_t, kSlots, false>(block);
  return grow_levels<std::int64_t, kSlots, false>(block);
}

}  // namespace

void grow_block(const Table& table, const Recipe& recipe, std::uint64_t first_tree, int n_trees,
                Workspace& space, const std::atomic<bool>& stop, std::int32_t* splits) {
  Block block{.table = table, .recipe = recipe, .space = space, .stop = stop};
  block.wanted = static_cast<std::uint16_t>((1u << n_trees) - 1);
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t key = tree_key(recipe.seed, first_tree + static_cast<std::uint64_t>(lane));
    block.tree_keys[lane] = key;
    block.keys.low.set(lane, static_cast<std::uint32_t>(key));
    block.keys.high.set(lane, static_cast<std::uint32_t>(key >> 32));
  }
  // 32-bit sums serve where they cannot overflow: classes count rows, small tables hold few drawn rows.
  bool narrow = !table.value && table.n_rows < (std::int64_t{1} << 31) / kMaxThresholds;
  if (table.n_rows <= kKeptRows) {
    auto* counts = reinterpret_cast<u8x*>(space.counts.get());
    draw_counts(block.keys, recipe, table.first_row, table.n_rows, counts);
    block.kept = true;
    narrow |= !any(at_least(total_counts(counts, table.n_rows), 1 << 11));
  }
  if (table.slot)
    grow_block_as<true>(block, narrow);
  else
    grow_block_as<false>(block, narrow);

  if (stop.load(std::memory_order_relaxed)) return;
  const int n_nodes = (1 << recipe.max_depth) - 1;
  for (int lane = 0; lane < n_trees; ++lane)
    for (int node = 0; node < n_nodes; ++node)
      splits[lane * n_nodes + node] = static_cast<std::int32_t>(block.split[node][lane]);
}

}  // namespace pysirus::PYSIRUS_ISA
