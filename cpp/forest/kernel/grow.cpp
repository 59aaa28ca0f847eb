// Grows a block of trees level by level: sweep the rows (counts -> histograms of left children), subtract for the
// right children, search the splits. Who is in which node is worked out anew for each chunk.
#include "forest/kernel.hpp"

#include "forest/kernel/draw.hpp"
#include "forest/kernel/histogram.hpp"
#include "forest/kernel/lanes.hpp"
#include "forest/kernel/split.hpp"
#include "forest/random.hpp"

namespace pysirus::PYSIRUS_ISA {
namespace {

constexpr int kMaxNodes = (1 << kMaxDepth) - 1;

// Who goes left at a node: for each feature that some tree splits on here, a table bin -> trees that go left.
struct Route {
  int n_tables = 0;
  std::int32_t feature[kBlock];
  RowCounts* table[kBlock];
};

struct Block {
  const Table& table;
  const Recipe& recipe;
  const Memory& memory;
  const std::atomic<bool>& stop;
  TreeKeys keys{};
  std::uint64_t tree_keys[kBlock]{};
  bool kept = false;                    // are the counts of all rows held?
  i32x drawn[kMaxNodes][kMaxGroups]{};  // rows drawn in each node, with repetition
  i64x split[kMaxNodes][kMaxGroups]{};
  Route route[kMaxNodes]{};
  std::uint16_t wanted[kMaxGroups]{};  // a bit for each lane in use
};

std::int64_t rows_of_chunk(const Table& table, std::int64_t first) {
  return table.n_rows - first < kChunk ? table.n_rows - first : kChunk;
}

void build_route(Block& block, int node) {
  Route& route = block.route[node];
  route.n_tables = 0;
  auto* memory = reinterpret_cast<RowCounts*>(block.memory.routes) + std::int64_t{node} * kBlock * kMaxBins;
  for (int byte = 0; byte < kBlock; ++byte) {
    const int tree = tree_of_byte(byte);
    if (tree >= block.memory.n_groups * kLanes) continue;
    const auto split = static_cast<std::int32_t>(block.split[node][tree / kLanes][tree % kLanes]);
    if (split == kNoSplit) continue;
    const std::int32_t feature = feature_of(block.table, block.recipe, split);
    const std::int32_t n_bins = block.table.n_bins[feature];
    int t = 0;
    while (t < route.n_tables && route.feature[t] != feature) ++t;
    if (t == route.n_tables) {
      route.feature[t] = feature;
      route.table[t] = memory;
      for (std::int32_t bin = 0; bin < n_bins; ++bin) *memory++ = RowCounts{};
      ++route.n_tables;
    }
    const std::int32_t local = split - block.recipe.split_offset[feature];
    const std::int32_t n_cuts = n_known_bins(block.table, feature) - 1;
    for (std::int32_t bin = 0; bin < n_bins; ++bin)
      if (goes_left(bin, local, n_cuts)) route.table[t][bin].set(byte, 0xFF);
  }
}

// Parts the rows inside a node: those who go left, and the others, when asked for.
void follow_route(const Table& table, const Route& route, std::int64_t first, std::int64_t n_rows,
                  const RowCounts* inside, RowCounts* left, RowCounts* right) {
  const std::uint8_t* columns[kBlock];
  for (int t = 0; t < route.n_tables; ++t) columns[t] = table.bins + route.feature[t] * table.n_rows + first;
  for (std::int64_t row = 0; row < n_rows; ++row) {
    RowCounts mask{};
    for (int t = 0; t < route.n_tables; ++t) mask |= route.table[t][columns[t][row]];
    left[row] = inside[row] & mask;
    if (right) right[row] = inside[row] - left[row];
  }
  left[n_rows] = RowCounts{};
  if (right) right[n_rows] = RowCounts{};
}

void draw_chunk(const Block& block, std::int64_t first, std::int64_t n_rows, RowCounts* counts) {
  draw_counts(block.keys, block.recipe, block.table.first_row + static_cast<std::uint64_t>(first), n_rows, counts);
  counts[n_rows] = RowCounts{};
}

// Counts of a chunk, kept from the first sweep or drawn again.
const RowCounts* chunk_counts(const Block& block, std::int64_t first, std::int64_t n_rows) {
  auto* counts = reinterpret_cast<RowCounts*>(block.memory.counts);
  if (block.kept) return counts + first / kChunk * kChunkRows;
  draw_chunk(block, first, n_rows, counts);
  return counts;
}

RowCounts* counts_inside(const Block& block, int node) {
  return reinterpret_cast<RowCounts*>(block.memory.inside) + std::int64_t{node - 1} * kChunkRows;
}

// Counts of a chunk in the nodes of a level; of left children alone, when asked for no more.
void part_chunk(const Block& block, int level, bool left_alone, std::int64_t first, std::int64_t n_rows,
                const RowCounts* counts) {
  for (int parent = 0; parent < (1 << level) - 1; ++parent) {
    const bool last = parent >= (1 << level) / 2 - 1;
    follow_route(block.table, block.route[parent], first, n_rows, parent ? counts_inside(block, parent) : counts,
                 counts_inside(block, 2 * parent + 1),
                 last && left_alone ? nullptr : counts_inside(block, 2 * parent + 2));
  }
}

// Where a node's histogram stands: a right child takes the place of its parent, which becomes it.
int place_of(int node) {
  while (node > 0 && node % 2 == 0) node = (node - 1) / 2;
  return node == 0 ? 0 : (node - 1) / 2 + 1;
}

template <class Sum>
Lanes<Sum>* histogram_of(const Block& block, int node, int group) {
  return reinterpret_cast<Lanes<Sum>*>(block.memory.histograms) +
         (place_of(node) * block.memory.n_groups + group) * block.memory.n_cells;
}

// Adds a chunk to the cells of a feature, those of kGroups groups.
template <class Sum, bool kClasses, bool kWeights, int kGroups>
void add_groups(const RowCounts* counts, const SortedColumn& sorted, std::int64_t per_bin, Lanes<Sum>* cells,
                std::int64_t stride) {
  add_chunk<Sum, kClasses, kWeights, kGroups>(counts, sorted, per_bin, cells, stride);
  if constexpr (!kClasses)
    if (per_bin > 2) add_columns<Sum, kWeights, kGroups>(counts, sorted, per_bin, cells, stride);
}

// Adds a chunk to the histogram of a node for one feature, in all groups.
template <class Sum, bool kClasses, bool kWeights>
void add_feature(const Block& block, const RowCounts* counts, const SortedColumn& sorted, int node,
                 std::int32_t feature) {
  const std::int64_t per_bin = 1 + block.table.n_sums, stride = block.memory.n_cells;
  Lanes<Sum>* cells = histogram_of<Sum>(block, node, 0) + block.memory.cell_offset[feature];
  switch (block.memory.n_groups) {
    case 1: return add_groups<Sum, kClasses, kWeights, 1>(counts, sorted, per_bin, cells, stride);
    case 2: return add_groups<Sum, kClasses, kWeights, 2>(counts, sorted, per_bin, cells, stride);
    default: return add_groups<Sum, kClasses, kWeights, 4>(counts, sorted, per_bin, cells, stride);
  }
}

// Histograms of a level: of all nodes from the rows; or, where those of the parents are at hand, of the left children
// from the rows, and of the right ones as what is left of their parents.
template <class Sum, bool kClasses, bool kWeights>
void sweep(Block& block, int level, bool from_parents) {
  const Table& table = block.table;
  const int begin = (1 << level) - 1, end = 2 * begin + 1, step = from_parents ? 2 : 1;
  const int n_groups = block.memory.n_groups;
  const std::int64_t n_cells = n_groups * block.memory.n_cells;
  i32x drawn[kMaxNodes][kMaxGroups]{};
  for (int node = begin; node < end; node += step)
    std::memset(histogram_of<Sum>(block, node, 0), 0, n_cells * sizeof(Lanes<Sum>));
  for (std::int64_t first = 0; first < table.n_rows; first += kChunk) {
    if (is_set(block.stop)) return;
    const std::int64_t n_rows = rows_of_chunk(table, first);
    const RowCounts* counts = chunk_counts(block, first, n_rows);
    part_chunk(block, level, from_parents, first, n_rows, counts);
    for (int node = begin; node < end; node += step)
      add_counts(node ? counts_inside(block, node) : counts, n_rows, drawn[node]);
    start_chunk(*block.memory.owner, table, first, n_rows);
    for (std::int32_t feature = 0; feature < table.n_features; ++feature) {
      const SortedColumn sorted = sorted_column(*block.memory.owner, table, first, feature);
      for (int node = begin; node < end; node += step)
        add_feature<Sum, kClasses, kWeights>(block, node ? counts_inside(block, node) : counts, sorted, node, feature);
    }
  }
  for (int node = begin; node < end; node += step) {
    for (int byte = 0; byte < kBlock; ++byte)
      block.drawn[node][tree_of_byte(byte) / kLanes].set(tree_of_byte(byte) % kLanes,
                                                         drawn[node][byte / kLanes][byte % kLanes]);
    if (!from_parents) continue;
    const auto* left = histogram_of<Sum>(block, node, 0);
    auto* right = histogram_of<Sum>(block, node + 1, 0);  // still their parent's
    for (std::int64_t c = 0; c < n_cells; ++c) right[c] -= left[c];
    for (int g = 0; g < n_groups; ++g) block.drawn[node + 1][g] = block.drawn[(node - 1) / 2][g] - block.drawn[node][g];
  }
}

// Is the response of a tree's node constant? Reads rows, so it is asked only when no split gains anything: what a row
// answers first, then where it goes, then whether it is drawn, which takes longest to tell.
bool is_constant(const Block& block, int node, int tree) {
  const Table& table = block.table;
  if (!table.value) return false;  // classes: the sums tell
  if (is_set(block.stop)) return false;
  struct Step {
    const std::uint8_t* bins;
    std::int32_t local, n_cuts;
    bool left;
  };
  Step path[kMaxDepth];
  int length = 0;
  for (int child = node; child > 0; child = (child - 1) / 2) {
    const auto split = static_cast<std::int32_t>(block.split[(child - 1) / 2][tree / kLanes][tree % kLanes]);
    const std::int32_t feature = feature_of(block.table, block.recipe, split);
    path[length++] = {table.bins + feature * table.n_rows, split - block.recipe.split_offset[feature],
                      n_known_bins(table, feature) - 1, child % 2 == 1};
  }
  std::int64_t seen = -1;  // the first row that is there
  const std::uint64_t key = block.tree_keys[tree];
  for (std::int64_t row = 0; row < table.n_rows; ++row) {
    if (seen >= 0 && same_values(table, row, seen)) continue;
    bool in = true;
    for (int i = 0; in && i < length; ++i)
      in = goes_left(path[i].bins[row], path[i].local, path[i].n_cuts) == path[i].left;
    if (!in) continue;
    const auto number = static_cast<std::uint32_t>(table.first_row + static_cast<std::uint64_t>(row));
    const std::uint32_t bits = row_bits(static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32), number);
    if (bits < block.recipe.thresholds[0]) continue;
    if (seen >= 0) return false;
    seen = row;
  }
  return true;
}

// Draws the candidates of each open lane among the features that may stand in a path with those above its node.
void draw_within_limits(const Block& block, int number, int group, const std::uint64_t* keys, std::uint16_t open) {
  const Table& table = block.table;
  std::uint16_t* candidates = block.memory.candidates;
  for (std::int32_t feature = 0; feature < table.n_features; ++feature) candidates[feature] = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(open >> lane & 1)) continue;
    std::int32_t path[kMaxPath];
    int length = 0;
    for (int node = number; node > 0; node = (node - 1) / 2)
      path[length++] = feature_of(table, block.recipe, block.split[(node - 1) / 2][group][lane]);
    const std::int32_t n_allowed =
        list_allowed(block.recipe.together, table.n_features, path, length, block.memory.allowed);
    draw_allowed(block.recipe, keys[lane], block.memory.allowed, n_allowed, static_cast<std::uint16_t>(1u << lane),
                 candidates);
  }
}

template <class Sum>
void split_node(Block& block, int number, int group) {
  i64x& split = block.split[number][group];
  split = fill<std::int64_t>(kNoSplit);
  std::uint16_t open = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool exists = number == 0 || block.split[(number - 1) / 2][group][lane] != kNoSplit;
    if (exists && block.drawn[number][group][lane] > block.recipe.min_node_size) open |= 1u << lane;
  }
  open &= block.wanted[group];
  if (!open) return;
  std::uint64_t keys[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    keys[lane] = node_key(block.tree_keys[group * kLanes + lane], static_cast<std::uint64_t>(number));
  if (is_limited(block.recipe.together))
    draw_within_limits(block, number, group, keys, open);
  else
    draw_candidates(block.table, block.recipe, keys, open, block.memory.candidates);
  Node<Sum> node;
  node.cells = histogram_of<Sum>(block, number, group);
  const Best best = best_split(block.table, block.recipe, block.memory, keys, node);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (best.split[lane] == kNoSplit) continue;
    // What rounding can make of a zero: 2^-100 leaves room for n up to 2^32.
    double largest = 0.0;
    const auto size = static_cast<double>(node.total[0][lane]);
    bool pure = false;
    for (int s = 0; s < block.table.n_sums; ++s) {
      const auto sum = static_cast<double>(node.total[1 + s][lane]);
      largest = sum * sum > largest ? sum * sum : largest;
      pure |= block.table.class_code && !block.table.value && sum == size;
    }
    const bool no_gain = best.score[lane] <= 0x1p-100 * largest * size;
    if (pure || (no_gain && is_constant(block, number, group * kLanes + lane))) continue;
    split.set(lane, best.split[lane]);
  }
}

template <class Sum, bool kClasses, bool kWeights>
void grow_levels(Block& block) {
  for (int level = 0; level < block.recipe.max_depth; ++level) {
    const int first = (1 << level) - 1;
    for (int parent = first / 2; parent < first; ++parent) build_route(block, parent);
    sweep<Sum, kClasses, kWeights>(block, level, level > 0);
    if (is_set(block.stop)) return;
    for (int node = first; node < 2 * first + 1; ++node)
      for (int group = 0; group < block.memory.n_groups; ++group) split_node<Sum>(block, node, group);
  }
}

// Adds the histograms of a level, of the candidates of its nodes, to the sums of the level.
template <class Sum, bool kClasses, bool kWeights>
void add_nodes(Block& block, const LevelView& level, std::int64_t first, int n_trees, std::int64_t* sums) {
  sweep<Sum, kClasses, kWeights>(block, level.depth, false);
  if (is_set(block.stop)) return;
  const std::int64_t n_nodes = std::int64_t{1} << level.depth;
  for (int tree = 0; tree < n_trees; ++tree)
    for (std::int64_t k = 0; k < n_nodes; ++k) {
      const std::int64_t at = (first + tree) * n_nodes + k;
      if (level.offset[at] == level.offset[at + 1]) continue;
      const auto node = static_cast<int>(n_nodes - 1 + k);
      const int group = tree / kLanes, lane = tree % kLanes;
      std::int64_t* sum = sums + level.offset[at];
      *sum++ += block.drawn[node][group][lane];
      const Lanes<Sum>* cells = histogram_of<Sum>(block, node, group);
      const std::int32_t* candidates = level.candidates + at * block.recipe.max_features;
      for (std::int32_t i = 0; i < block.recipe.max_features && candidates[i] >= 0; ++i) {
        const std::int64_t* offset = block.memory.cell_offset + candidates[i];
        for (std::int64_t c = offset[0]; c < offset[1]; ++c) *sum++ += cells[c][lane];
      }
    }
}

// Keys of the trees, counts of the rows where they are kept. Do 32-bit sums serve? They do where they cannot overflow:
// classes count rows, small tables hold few drawn rows.
bool start_block(Block& block, std::uint64_t first_tree, int n_trees) {
  const Table& table = block.table;
  for (int tree = 0; tree < n_trees; ++tree) block.wanted[tree / kLanes] |= 1u << (tree % kLanes);
  for (int byte = 0; byte < kBlock; ++byte) {
    const int tree = tree_of_byte(byte);
    const std::uint64_t key = tree_key(block.recipe.seed, first_tree + static_cast<std::uint64_t>(tree));
    block.tree_keys[tree] = key;
    block.keys.low[byte % kQuarters].set(byte / kQuarters, static_cast<std::uint32_t>(key));
    block.keys.high[byte % kQuarters].set(byte / kQuarters, static_cast<std::uint32_t>(key >> 32));
  }
  const bool few_rows = !table.value && table.n_rows < (std::int64_t{1} << 31) / kMaxThresholds;
  if (table.n_rows > kKeptRows) return few_rows;
  auto* counts = reinterpret_cast<RowCounts*>(block.memory.counts);
  i32x drawn[kMaxGroups]{};
  for (std::int64_t first = 0; first < table.n_rows; first += kChunk, counts += kChunkRows) {
    const std::int64_t n_rows = rows_of_chunk(table, first);
    draw_chunk(block, first, n_rows, counts);
    add_counts(counts, n_rows, drawn);
  }
  block.kept = true;
  i32x full{};
  for (const i32x& group : drawn) full |= at_least(group, 1 << 11);
  return few_rows || !any(full);
}

// Calls run<Sum, kClasses, kWeights>().
template <class Run>
void run_as(const Table& table, bool narrow, Run run) {
  const auto with_slots = [&]<bool kClasses>() {
    if (table.weight) return run.template operator()<std::int64_t, kClasses, true>();
    if (narrow) return run.template operator()<std::int32_t, kClasses, false>();
    return run.template operator()<std::int64_t, kClasses, false>();
  };
  if (table.class_code) return with_slots.template operator()<true>();
  return with_slots.template operator()<false>();
}

}  // namespace

void grow_block(const Table& table, const Recipe& recipe, std::uint64_t first_tree, int n_trees, const Memory& memory,
                const std::atomic<bool>& stop, std::int32_t* splits) {
  Block block{.table = table, .recipe = recipe, .memory = memory, .stop = stop};
  const bool narrow = start_block(block, first_tree, n_trees);
  run_as(table, narrow,
         [&]<class Sum, bool kClasses, bool kWeights>() { grow_levels<Sum, kClasses, kWeights>(block); });
  if (is_set(stop)) return;
  const int n_nodes = (1 << recipe.max_depth) - 1;
  for (int tree = 0; tree < n_trees; ++tree)
    for (int node = 0; node < n_nodes; ++node)
      splits[tree * n_nodes + node] = static_cast<std::int32_t>(block.split[node][tree / kLanes][tree % kLanes]);
}

void add_block(const Table& table, const Recipe& recipe, const LevelView& level, std::int64_t first, int n_trees,
               const Memory& memory, const std::atomic<bool>& stop, std::int64_t* sums) {
  Block block{.table = table, .recipe = recipe, .memory = memory, .stop = stop};
  const bool narrow = start_block(block, level.first_tree + static_cast<std::uint64_t>(first), n_trees);
  const int n_parents = (1 << level.depth) - 1;
  for (int node = 0; node < n_parents; ++node) {
    for (auto& group : block.split[node]) group = fill<std::int64_t>(kNoSplit);
    for (int tree = 0; tree < n_trees; ++tree)
      block.split[node][tree / kLanes].set(tree % kLanes, level.splits[(first + tree) * n_parents + node]);
    build_route(block, node);
  }
  run_as(table, narrow, [&]<class Sum, bool kClasses, bool kWeights>() {
    add_nodes<Sum, kClasses, kWeights>(block, level, first, n_trees, sums);
  });
}

}  // namespace pysirus::PYSIRUS_ISA
