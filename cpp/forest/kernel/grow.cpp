// Grows a block of trees level by level: sweep the rows (counts -> histograms of left children), subtract for the
// right children, search the splits. Who is in which node is worked out anew for each chunk. Threads that share a block
// sweep different chunks into memories of their own.
#include "forest/kernel.hpp"

#include "forest/kernel/draw.hpp"
#include "forest/kernel/drawn.hpp"
#include "forest/kernel/histogram.hpp"
#include "forest/kernel/lanes.hpp"
#include "forest/kernel/lines.hpp"
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

// The trees of a block while they grow, in the memory of the thread that leads it.
struct Trees {
  TreeKeys keys;
  std::uint64_t tree_keys[kBlock];
  int n_trees, level;
  bool from_parents;                  // are the histograms of the level above at hand?
  bool kept;                          // are the counts of all rows held?
  bool narrow;                        // do 32-bit sums serve?
  i32x drawn[kMaxNodes][kMaxGroups];  // rows drawn in each node, with repetition
  i64x split[kMaxNodes][kMaxGroups];
  Route route[kMaxNodes];
  std::uint16_t wanted[kMaxGroups];  // a bit for each lane in use
  std::int32_t line[kBlock];         // the column whose line wins the tree, where lines are asked for
};
static_assert(sizeof(Trees) <= kTreesBytes);

Trees& trees_of(const Memory& memory) { return *reinterpret_cast<Trees*>(memory.trees); }

// A block as one thread sees it: trees that may be another's, memory of its own.
struct Block {
  const Table& table;
  const Recipe& recipe;
  const std::atomic<bool>& stop;
  const Memory& memory;
  Trees& trees;

  Block(const Job& job, const Memory& lead, const Memory& own)
      : table(job.table), recipe(job.recipe), stop(job.stop), memory(own), trees(trees_of(lead)) {}

  // Nodes of the level that are summed: all, or left children alone.
  int first_node() const { return (1 << trees.level) - 1; }
  int end_node() const { return 2 * first_node() + 1; }
  int step() const { return trees.from_parents ? 2 : 1; }
};

std::int64_t rows_of_chunk(const Table& table, std::int64_t first) {
  return table.n_rows - first < kChunk ? table.n_rows - first : kChunk;
}

void build_route(const Block& block, int node) {
  Route& route = block.trees.route[node];
  route.n_tables = 0;
  auto* memory = reinterpret_cast<RowCounts*>(block.memory.routes) + std::int64_t{node} * kBlock * kMaxBins;
  for (int byte = 0; byte < kBlock; ++byte) {
    const int tree = tree_of_byte(byte);
    if (tree >= block.memory.n_groups * kLanes) continue;
    const auto split = static_cast<std::int32_t>(block.trees.split[node][tree / kLanes][tree % kLanes]);
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
  draw_counts(block.trees.keys, block.recipe, block.table.first_row + static_cast<std::uint64_t>(first), n_rows,
              counts);
  counts[n_rows] = RowCounts{};
}

// Counts of a chunk, kept from the first sweep or drawn again.
const RowCounts* chunk_counts(const Block& block, std::int64_t first, std::int64_t n_rows) {
  auto* counts = reinterpret_cast<RowCounts*>(block.memory.counts);
  if (block.trees.kept) return counts + first / kChunk * kChunkRows;
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
    follow_route(block.table, block.trees.route[parent], first, n_rows, parent ? counts_inside(block, parent) : counts,
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

// Histograms of a level over the chunks that are handed to this thread: of all nodes; or, where those of the parents are
// at hand, of the left children.
template <class Sum, bool kClasses, bool kWeights>
void sweep(const Block& block) {
  const Table& table = block.table;
  const int begin = block.first_node(), end = block.end_node(), step = block.step();
  const std::int64_t n_cells = block.memory.n_groups * block.memory.n_cells;
  i32x drawn[kMaxNodes][kMaxGroups]{};
  for (int node = begin; node < end; node += step)
    std::memset(histogram_of<Sum>(block, node, 0), 0, n_cells * sizeof(Lanes<Sum>));
  Workspace& owner = *block.memory.owner;
  for (std::int64_t first = take_chunk(owner, table); first >= 0; first = take_chunk(owner, table)) {
    const std::int64_t n_rows = rows_of_chunk(table, first);
    const RowCounts* counts = chunk_counts(block, first, n_rows);
    part_chunk(block, block.trees.level, block.trees.from_parents, first, n_rows, counts);
    for (int node = begin; node < end; node += step)
      add_counts(node ? counts_inside(block, node) : counts, n_rows, drawn[node]);
    for (std::int32_t feature = 0; feature < table.n_features; ++feature) {
      const SortedColumn sorted = sorted_column(owner, table, first, feature);
      for (int node = begin; node < end; node += step)
        add_feature<Sum, kClasses, kWeights>(block, node ? counts_inside(block, node) : counts, sorted, node, feature);
    }
  }
  Trees& own = trees_of(block.memory);
  for (int node = begin; node < end; node += step)
    for (int byte = 0; byte < kBlock; ++byte)
      own.drawn[node][tree_of_byte(byte) / kLanes].set(tree_of_byte(byte) % kLanes,
                                                       drawn[node][byte / kLanes][byte % kLanes]);
}

// Adds what another thread has swept.
template <class Sum>
void add_swept(const Block& block, const Block& other) {
  const std::int64_t n_cells = block.memory.n_groups * block.memory.n_cells;
  for (int node = block.first_node(); node < block.end_node(); node += block.step()) {
    auto* sums = histogram_of<Sum>(block, node, 0);
    const auto* more = histogram_of<Sum>(other, node, 0);
    for (std::int64_t c = 0; c < n_cells; ++c) sums[c] += more[c];
    for (int g = 0; g < kMaxGroups; ++g) block.trees.drawn[node][g] += trees_of(other.memory).drawn[node][g];
  }
}

// Histograms of right children: what the left ones leave of their parents.
template <class Sum>
void subtract_left(const Block& block) {
  const int n_groups = block.memory.n_groups;
  for (int node = block.first_node(); node < block.end_node(); node += 2) {
    const auto* left = histogram_of<Sum>(block, node, 0);
    auto* right = histogram_of<Sum>(block, node + 1, 0);  // still their parent's
    for (std::int64_t c = 0; c < n_groups * block.memory.n_cells; ++c) right[c] -= left[c];
    auto& drawn = block.trees.drawn;
    for (int g = 0; g < n_groups; ++g) drawn[node + 1][g] = drawn[(node - 1) / 2][g] - drawn[node][g];
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
    const auto split = static_cast<std::int32_t>(block.trees.split[(child - 1) / 2][tree / kLanes][tree % kLanes]);
    const std::int32_t feature = feature_of(block.table, block.recipe, split);
    path[length++] = {table.bins + feature * table.n_rows, split - block.recipe.split_offset[feature],
                      n_known_bins(table, feature) - 1, child % 2 == 1};
  }
  std::int64_t seen = -1;  // the first row that is there
  const std::uint64_t key = block.trees.tree_keys[tree];
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
      path[length++] = feature_of(table, block.recipe, block.trees.split[(node - 1) / 2][group][lane]);
    const std::int32_t n_allowed =
        list_allowed(block.recipe.together, table.n_features, path, length, block.memory.allowed);
    draw_allowed(block.recipe, keys[lane], block.memory.allowed, n_allowed, static_cast<std::uint16_t>(1u << lane),
                 candidates);
  }
}

template <class Sum>
void split_node(const Block& block, int number, int group) {
  i64x& split = block.trees.split[number][group];
  split = fill<std::int64_t>(kNoSplit);
  std::uint16_t open = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool exists = number == 0 || block.trees.split[(number - 1) / 2][group][lane] != kNoSplit;
    if (exists && block.trees.drawn[number][group][lane] > block.recipe.min_node_size) open |= 1u << lane;
  }
  open &= block.trees.wanted[group];
  if (!open) return;
  std::uint64_t keys[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    keys[lane] = node_key(block.trees.tree_keys[group * kLanes + lane], static_cast<std::uint64_t>(number));
  if (is_limited(block.recipe.together))
    draw_within_limits(block, number, group, keys, open);
  else
    draw_candidates(block.table, block.recipe, keys, open, block.memory.candidates);
  Node<Sum> node;
  node.cells = histogram_of<Sum>(block, number, group);
  const Best best =
      number == 0 && block.recipe.lines.first
          ? best_split(block.table, block.recipe, block.memory, keys, node, open, block.trees.line + group * kLanes)
          : best_split(block.table, block.recipe, block.memory, keys, node);
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

// Adds the histograms of a level, of the candidates of its nodes, to the sums of the level.
template <class Sum>
void add_nodes(const Block& block, const LevelView& level, std::int64_t first, std::int64_t* sums) {
  const std::int64_t n_nodes = std::int64_t{1} << level.depth;
  for (int tree = 0; tree < block.trees.n_trees; ++tree)
    for (std::int64_t k = 0; k < n_nodes; ++k) {
      const std::int64_t at = (first + tree) * n_nodes + k;
      if (level.offset[at] == level.offset[at + 1]) continue;
      const auto node = static_cast<int>(n_nodes - 1 + k);
      const int group = tree / kLanes, lane = tree % kLanes;
      std::int64_t* sum = sums + level.offset[at];
      *sum++ += block.trees.drawn[node][group][lane];
      const Lanes<Sum>* cells = histogram_of<Sum>(block, node, group);
      const std::int32_t* candidates = level.candidates + at * block.recipe.max_features;
      for (std::int32_t i = 0; i < block.recipe.max_features && candidates[i] >= 0; ++i) {
        const std::int64_t* offset = block.memory.cell_offset + candidates[i];
        for (std::int64_t c = offset[0]; c < offset[1]; ++c) *sum++ += cells[c][lane];
      }
    }
}

// Draws the counts of all rows, where these are few. Are there so few that 32-bit sums cannot overflow?
bool keep_counts(const Block& block) {
  auto* counts = reinterpret_cast<RowCounts*>(block.memory.counts);
  i32x drawn[kMaxGroups]{};
  for (std::int64_t first = 0; first < block.table.n_rows; first += kChunk, counts += kChunkRows) {
    const std::int64_t n_rows = rows_of_chunk(block.table, first);
    draw_chunk(block, first, n_rows, counts);
    add_counts(counts, n_rows, drawn);
  }
  i32x full{};
  for (const i32x& group : drawn) full |= at_least(group, 1 << 11);
  return !any(full);
}

// Calls run<Sum, kClasses, kWeights>().
template <class Run>
void run_as(const Block& block, Run run) {
  const Table& table = block.table;
  const auto with_slots = [&]<bool kClasses>() {
    if (table.weight) return run.template operator()<std::int64_t, kClasses, true>();
    if (block.trees.narrow) return run.template operator()<std::int32_t, kClasses, false>();
    return run.template operator()<std::int64_t, kClasses, false>();
  };
  if (table.class_code) return with_slots.template operator()<true>();
  return with_slots.template operator()<false>();
}

void start_block(const Job& job, std::uint64_t first_tree, int n_trees, const Memory& memory) {
  const Block block(job, memory, memory);
  Trees& trees = block.trees;
  trees.n_trees = n_trees;
  trees.level = 0;
  trees.from_parents = false;
  for (auto& wanted : trees.wanted) wanted = 0;
  for (int tree = 0; tree < n_trees; ++tree) trees.wanted[tree / kLanes] |= 1u << (tree % kLanes);
  for (int byte = 0; byte < kBlock; ++byte) {
    const int tree = tree_of_byte(byte);
    const std::uint64_t key = tree_key(job.recipe.seed, first_tree + static_cast<std::uint64_t>(tree));
    trees.tree_keys[tree] = key;
    trees.keys.low[byte % kQuarters].set(byte / kQuarters, static_cast<std::uint32_t>(key));
    trees.keys.high[byte % kQuarters].set(byte / kQuarters, static_cast<std::uint32_t>(key >> 32));
  }
  // 32-bit sums serve where they cannot overflow: classes count rows, small tables hold few drawn rows.
  trees.kept = job.table.n_rows <= kKeptRows;
  trees.narrow = !job.table.value && job.table.n_rows < (std::int64_t{1} << 31) / kMaxThresholds;
  if (trees.kept) trees.narrow |= keep_counts(block);
}

void enter_level(const Job& job, const LevelView& level, std::int64_t first, const Memory& memory) {
  const Block block(job, memory, memory);
  const int n_parents = (1 << level.depth) - 1;
  block.trees.level = level.depth;
  for (int node = 0; node < n_parents; ++node) {
    for (auto& group : block.trees.split[node]) group = fill<std::int64_t>(kNoSplit);
    for (int tree = 0; tree < block.trees.n_trees; ++tree)
      block.trees.split[node][tree / kLanes].set(tree % kLanes, level.splits[(first + tree) * n_parents + node]);
    build_route(block, node);
  }
}

void sum_rows(const Job& job, const Memory& lead, const Memory& own) {
  const Block block(job, lead, own);
  run_as(block, [&]<class Sum, bool kClasses, bool kWeights>() { sweep<Sum, kClasses, kWeights>(block); });
}

void add_sums(const Job& job, const Memory& lead, const Memory& own) {
  const Block block(job, lead, lead), other(job, lead, own);
  run_as(block, [&]<class Sum, bool, bool>() { add_swept<Sum>(block, other); });
}

void split_level(const Job& job, const Memory& memory, std::int32_t* splits, std::int32_t* lines) {
  const Block block(job, memory, memory);
  Trees& trees = block.trees;
  const bool with_lines = lines && trees.level == 0;
  for (int tree = 0; with_lines && tree < trees.n_trees; ++tree) trees.line[tree] = kNoLine;
  run_as(block, [&]<class Sum, bool, bool>() {
    if (trees.from_parents) subtract_left<Sum>(block);
    for (int node = block.first_node(); node < block.end_node(); ++node)
      for (int group = 0; group < memory.n_groups; ++group) split_node<Sum>(block, node, group);
  });
  const int n_nodes = (1 << job.recipe.max_depth) - 1, end = block.end_node();
  for (int node = block.first_node(); node < end; ++node) {
    for (int tree = 0; tree < trees.n_trees; ++tree)
      splits[tree * n_nodes + node] = static_cast<std::int32_t>(trees.split[node][tree / kLanes][tree % kLanes]);
    if (end < n_nodes) build_route(block, node);
  }
  for (int tree = 0; with_lines && tree < trees.n_trees; ++tree) lines[tree] = trees.line[tree];
  ++trees.level;
  trees.from_parents = true;
}

void answer_level(const Job& job, const LevelView& level, std::int64_t first, const Memory& memory,
                  std::int64_t* sums) {
  const Block block(job, memory, memory);
  run_as(block, [&]<class Sum, bool, bool>() { add_nodes<Sum>(block, level, first, sums); });
}

}  // namespace

const Kernel kernel = {start_block, enter_level,  sum_rows,    add_sums,
                       split_level, answer_level, draw_blocks, score_cuts};

}  // namespace pysirus::PYSIRUS_ISA
