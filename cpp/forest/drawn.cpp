#include "forest/drawn.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "forest/pool.hpp"
#include "forest/reference.hpp"

namespace pysirus {

Pairs::Pairs(const Table& table) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(table.n_features));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return table.n_bins[a] < table.n_bins[b]; });
  // the widest goes with the widest that it has room for
  std::vector<bool> taken(order.size());
  for (std::size_t i = order.size(); i-- > 0;) {
    if (taken[i]) continue;
    std::size_t other = i;
    while (other-- > 0 && (taken[other] || table.n_bins[order[i]] * table.n_bins[order[other]] > kMaxBins)) {
    }
    const bool alone = other >= order.size();
    if (!alone) taken[other] = true;
    const std::int32_t n_second = alone ? 1 : table.n_bins[order[other]];
    pairs.push_back({order[i], alone ? -1 : order[other], n_second});
  }
}

bool RowsOfPairs::fill(const Table& table, int n_threads, const std::function<bool()>& interrupted) {
  constexpr std::int64_t kRows = 4096;  // of a piece: its columns stay in the cache
  const std::int64_t n_pairs = static_cast<std::int64_t>(pairs_.pairs.size());
  n_words_ = (n_pairs + (packing_.fits() ? 4 : 0) + 7) / 8;
  words_.resize(static_cast<std::size_t>(table.n_rows * n_words_));
  return run_pieces((table.n_rows + kRows - 1) / kRows, n_threads, interrupted, [&] {
    return [&](std::int64_t piece, const std::atomic<bool>&) {
      const std::int64_t first = piece * kRows, last = std::min(table.n_rows, first + kRows);
      auto* to = reinterpret_cast<std::uint8_t*>(words_.data());
      for (const auto& [one, other, n_second] : pairs_.pairs) {
        const std::uint8_t* a = table.bins + one * table.n_rows;
        const std::uint8_t* b = other < 0 ? nullptr : table.bins + other * table.n_rows;
        for (std::int64_t row = first; row < last; ++row)
          to[row * 8 * n_words_] = static_cast<std::uint8_t>(b ? a[row] * n_second + b[row] : a[row]);
        ++to;
      }
      for (std::int64_t row = first; row < last && packing_.fits(); ++row) {
        const std::int32_t answer = table.value ? table.value[row] : table.class_code[row];
        std::memcpy(to + row * 8 * n_words_, &answer, sizeof answer);
      }
    };
  });
}

BlockDraws::BlockDraws(const Recipe& recipe) : recipe_(recipe) {
  const std::uint32_t *begin = recipe.block_thresholds, *end = begin + recipe.n_block_thresholds;
  for (std::uint32_t byte = 0; byte < 256; ++byte)
    reached_[byte] = static_cast<std::int32_t>(std::upper_bound(begin, end, byte << 24) - begin);
}

double BlockDraws::mean() const {
  double mean = 0.0;
  for (std::int32_t k = 0; k < recipe_.n_block_thresholds; ++k) mean += 1.0 - recipe_.block_thresholds[k] * 0x1p-32;
  return mean;
}

namespace {

// The blocks that the rows of a table are in: the first and the last of them may be in other tables too.
struct Blocks {
  std::uint64_t first, end;

  explicit Blocks(const Table& table)
      : first(table.first_row / kDrawBlock),
        end(table.n_rows ? (table.first_row + static_cast<std::uint64_t>(table.n_rows) - 1) / kDrawBlock + 1 : first) {}
};

// Writes the rows of the table that a block draws; returns their end.
std::int64_t* draw_block(const Table& table, const BlockDraws& draws, std::uint64_t tree_key, std::uint64_t block,
                         std::int64_t* to) {
  const auto first = static_cast<std::int64_t>(block * kDrawBlock) - static_cast<std::int64_t>(table.first_row);
  std::int64_t* end = draws.draw(block_key(tree_key, block), first, to);
  if (first >= 0 && first + kDrawBlock <= table.n_rows) return end;
  return std::remove_if(to, end, [&](std::int64_t row) { return row < 0 || row >= table.n_rows; });
}

}  // namespace

std::vector<std::int64_t> drawn_rows(const Table& table, const Recipe& recipe, std::uint64_t tree_key) {
  const BlockDraws draws(recipe);
  const Blocks blocks(table);
  std::vector<std::int64_t> rows, own(static_cast<std::size_t>(draws.most()));
  for (std::uint64_t block = blocks.first; block < blocks.end; ++block)
    rows.insert(rows.end(), own.data(), draw_block(table, draws, tree_key, block, own.data()));
  return rows;
}

namespace {

// Byte number `k` in memory of a word.
[[gnu::always_inline]]
inline std::int64_t byte_of(std::uint64_t word, int k) {
  return static_cast<std::int64_t>(word >> (std::endian::native == std::endian::big ? 56 - 8 * k : 8 * k) & 0xFF);
}

// Asks for memory that will be read soon.
inline void fetch([[maybe_unused]] const void* memory) {
#if defined(__GNUC__)
  __builtin_prefetch(memory);
#endif
}

constexpr std::int64_t kPairCells = kMaxBins + 8;  // of a pair: tables that begin 4096 bytes apart wait for each other

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
  TreesAtOnce(const Table& table, const Recipe& recipe, const RowsOfPairs& all)
      : table_(table), draws_(recipe), all_(all), blocks_(table),
        with_rows_(!all.packing().fits() ||
                   (table.n_rows / kDrawBlock + 2) * draws_.most() >= static_cast<std::int64_t>(Packing::kMostDraws)) {}

  void draw(std::uint64_t seed, std::uint64_t first_tree, std::int64_t n_trees) {
    trees_.resize(static_cast<std::size_t>(n_trees));
    for (Entries& tree : trees_) tree.tree_key = tree_key(seed, first_tree++), tree.size = 0;
    rows_.resize(trees_.size());
    for (Rows& rows : rows_) rows.begin.resize(kBlocks * static_cast<std::size_t>(draws_.most()));
    for (std::uint64_t block = blocks_.first; block < blocks_.end; block += kBlocks) {
      const std::uint64_t end = std::min(blocks_.end, block + kBlocks);
      for (std::size_t t = 0; t < trees_.size(); ++t) {
        std::int64_t* to = rows_[t].begin.data();
        for (std::uint64_t own = block; own < end; ++own) to = draw_block(table_, draws_, trees_[t].tree_key, own, to);
        rows_[t].end = to;
        for (const std::int64_t* row = rows_[t].begin.data(); row < to; ++row) fetch(all_.of(*row));
      }
      for (std::size_t t = 0; t < trees_.size(); ++t) take(trees_[t], rows_[t].begin.data(), rows_[t].end);
    }
  }

  const Entries& operator[](std::int64_t tree) const { return trees_[static_cast<std::size_t>(tree)]; }

 private:
  static constexpr std::uint64_t kBlocks = 32;  // that are drawn before their rows are read

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

  const Table& table_;
  const BlockDraws draws_;
  const RowsOfPairs& all_;
  const Blocks blocks_;
  const bool with_rows_;
  std::vector<Rows> rows_;  // [tree]
  std::vector<Entries> trees_;
};

// One tree. The entries of a node stand side by side in `order_`.
class DrawnTree {
 public:
  DrawnTree(const Table& table, const Recipe& recipe, const RowsOfPairs& all)
      : table_(table), recipe_(recipe), all_(all), per_bin_(1 + table.n_sums),
        first_bin_(static_cast<std::size_t>(table.n_features) + 1),
        candidates_(static_cast<std::size_t>(recipe.max_features)) {
    for (std::int32_t f = 0; f < table.n_features; ++f) first_bin_[f + 1] = first_bin_[f] + table.n_bins[f];
  }

  void start(const Entries& entries) {
    entries_ = &entries;
    packs_ = all_.packing().fits() && entries.size < Packing::kMostDraws;
    width_ = packs_ ? 1 : per_bin_;
    order_.resize(entries.size);
    std::iota(order_.begin(), order_.end(), 0u);
    nodes_.assign(1, {0, order_.size(), {}});
  }

  // `line` is null where no line is asked for.
  void grow(std::int32_t* splits, std::int32_t* line) {
    const int n_nodes = (1 << recipe_.max_depth) - 1;
    if (line) *line = kNoLine;
    std::fill(splits, splits + n_nodes, kNoSplit);
    nodes_.resize(static_cast<std::size_t>(n_nodes));
    for (int number = 0; number < n_nodes; ++number) {
      Node& node = nodes_[number];
      if (node.size() <= static_cast<std::size_t>(recipe_.min_node_size) || is_constant(node)) continue;
      if (node.cells.empty()) sum(node);
      splits[number] = split(node, number, splits, number == 0 ? line : nullptr);
      if (splits[number] != kNoSplit && 2 * number + 2 < n_nodes)
        part(node, splits[number], nodes_[2 * number + 1], nodes_[2 * number + 2]);
    }
  }

  // Adds what a level asks for: of each of its nodes the number of draws, then the cells of its candidates.
  void add_level(const Level& level, std::int64_t tree, std::int64_t* sums) {
    const std::int64_t n_nodes = level.n_nodes();
    const std::int32_t* splits = level.splits + tree * (n_nodes - 1);
    nodes_.resize(static_cast<std::size_t>(2 * n_nodes - 1));
    for (std::int64_t number = 0; number < n_nodes - 1; ++number)
      if (splits[number] != kNoSplit)
        place(nodes_[number], splits[number], nodes_[2 * number + 1], nodes_[2 * number + 2]);
    for (std::int64_t k = 0; k < n_nodes; ++k) {
      const std::int64_t at = tree * n_nodes + k;
      Node& node = nodes_[static_cast<std::size_t>(n_nodes - 1 + k)];
      if (level.offset[at + 1] == level.offset[at] || node.size() == 0) continue;
      sum(node);
      std::int64_t* own = sums + level.offset[at];
      *own++ += static_cast<std::int64_t>(node.size());
      const std::int64_t* found = take_candidates(node, level.candidates.data() + at * recipe_.max_features);
      for (; own < sums + level.offset[at + 1]; ++own) *own += *found++;
    }
  }

 private:
  struct Node {
    std::size_t first = 0, last = 0;  // of `order_`
    std::vector<std::int64_t> cells;  // [feature][bin], packed or [size, sums]; empty until they are summed

    std::size_t size() const { return last - first; }
  };

  const std::uint64_t* words_of(std::uint32_t entry) const {
    return entries_->words.data() + entry * static_cast<std::size_t>(all_.n_words());
  }
  const std::uint8_t* bins_of(std::uint32_t entry) const {
    return reinterpret_cast<const std::uint8_t*>(words_of(entry));
  }
  std::int64_t row_of(std::uint32_t entry) const { return entries_->rows[entry]; }

  bool is_constant(const Node& node) const {
    const auto same_as_first = [&](const auto& same) {
      return std::all_of(order_.begin() + static_cast<std::ptrdiff_t>(node.first),
                         order_.begin() + static_cast<std::ptrdiff_t>(node.last), same);
    };
    if (packs_) {
      const std::int32_t first = all_.answer(words_of(order_[node.first]));
      return same_as_first([&](std::uint32_t entry) { return all_.answer(words_of(entry)) == first; });
    }
    const std::int64_t first = row_of(order_[node.first]);
    return same_as_first([&](std::uint32_t entry) {
      return table_.value ? same_values(table_, row_of(entry), first)
                          : table_.class_code[row_of(entry)] == table_.class_code[first];
    });
  }

  // The cells of all features from the entries of a node: first of the pairs, then of each of the two.
  void sum(Node& node) {
    const auto& pairs = all_.pairs();
    pair_cells_.assign(pairs.size() * static_cast<std::size_t>(kPairCells * width_), 0);
    if (packs_) {
      static constexpr void (DrawnTree::* kSums[])(const Node&) = {
          &DrawnTree::sum_packed<0>, &DrawnTree::sum_packed<1>, &DrawnTree::sum_packed<2>, &DrawnTree::sum_packed<3>,
          &DrawnTree::sum_packed<4>, &DrawnTree::sum_packed<5>, &DrawnTree::sum_packed<6>, &DrawnTree::sum_packed<7>};
      (this->*kSums[pairs.size() % 8])(node);
    } else {
      sum_wide(node);
    }
    node.cells.assign(static_cast<std::size_t>(first_bin_.back() * width_), 0);
    for (std::size_t at = 0; at < pairs.size(); ++at) {
      const std::int64_t* from = pair_cells_.data() + static_cast<std::int64_t>(at) * kPairCells * width_;
      std::int64_t* one = node.cells.data() + first_bin_[pairs[at].first] * width_;
      if (pairs[at].second < 0) {
        std::copy_n(from, table_.n_bins[pairs[at].first] * width_, one);
        continue;
      }
      std::int64_t* other = node.cells.data() + first_bin_[pairs[at].second] * width_;
      const std::int64_t n_other = pairs[at].n_second * width_;
      for (std::int32_t bin = 0; bin < table_.n_bins[pairs[at].first]; ++bin, one += width_, from += n_other) {
        for (std::int64_t k = 0; k < n_other; ++k) other[k] += from[k];
        for (std::int64_t k = 0; k < n_other; k += width_)
          for (std::int64_t i = 0; i < width_; ++i) one[i] += from[k + i];
      }
    }
  }

  // Eight pairs at a time, and so many more: the places of their cells are then constants.
  template <int kMore>
  void sum_packed(const Node& node) {
    const std::size_t n_eights = all_.pairs().size() / 8;
    for (std::size_t i = node.first; i < node.last; ++i) {
      const std::uint64_t* words = words_of(order_[i]);
      const std::int64_t own = all_.packing().of(all_.answer(words));
      std::int64_t* cells = pair_cells_.data();
      for (std::size_t eight = 0; eight < n_eights; ++eight, cells += 8 * kPairCells) add_word<8>(*words++, own, cells);
      if constexpr (kMore > 0) add_word<kMore>(*words, own, cells);
    }
  }

  // Adds what a row adds to the cells of some pairs, whose bins are bytes of a word.
  template <int kPairs>
  [[gnu::always_inline]]
  static void add_word(std::uint64_t word, std::int64_t own, std::int64_t* cells) {
    for (int k = 0; k < kPairs; ++k) cells[k * kPairCells + byte_of(word, k)] += own;
  }

  void sum_wide(const Node& node) {
    for (std::size_t i = node.first; i < node.last; ++i) {
      const std::uint8_t* bins = bins_of(order_[i]);
      for (std::size_t k = 0; k < all_.pairs().size(); ++k)
        reference::add_row(table_, row_of(order_[i]), 1,
                           pair_cells_.data() + (static_cast<std::int64_t>(k) * kPairCells + bins[k]) * per_bin_);
    }
  }

  // The cells of some features, one after the other, as the reference has them: size and sums of each bin.
  const std::int64_t* take_candidates(const Node& node, const std::int32_t* candidates) {
    taken_.clear();
    for (std::int32_t k = 0; k < recipe_.max_features && candidates[k] >= 0; ++k) {
      const std::int64_t* from = node.cells.data() + first_bin_[candidates[k]] * width_;
      const std::int64_t n_bins = table_.n_bins[candidates[k]];
      const std::size_t n_taken = taken_.size();
      taken_.resize(n_taken + static_cast<std::size_t>(n_bins * per_bin_));
      if (!packs_) std::copy_n(from, n_bins * width_, taken_.data() + n_taken);
      for (std::int64_t bin = 0; bin < n_bins && packs_; ++bin)
        all_.packing().unpack(from[bin], taken_.data() + n_taken + bin * per_bin_);
    }
    return taken_.data();
  }

  // reference::best_split, of packed cells where they are.
  std::int32_t split(const Node& node, int number, const std::int32_t* splits, std::int32_t* line) {
    const std::uint64_t key = node_key(entries_->tree_key, static_cast<std::uint64_t>(number));
    if (reference::draw_allowed(table_, recipe_, key, splits, number, candidates_.data()) == 0) return kNoSplit;
    reference::Sums total(static_cast<std::size_t>(width_));
    for (std::int32_t bin = 0; bin < table_.n_bins[0]; ++bin)
      reference::add_to(total, node.cells.data() + bin * width_);
    reference::Best best;
    for (std::int32_t k = 0; k < recipe_.max_features && candidates_[k] >= 0; ++k) {
      const std::int64_t* cells = node.cells.data() + first_bin_[candidates_[k]] * width_;
      reference::Best found;
      found.tie = tie_bits(key, static_cast<std::uint32_t>(candidates_[k]));
      if (packs_)
        search_packed(table_, recipe_, all_.packing(), total[0], candidates_[k], cells, found);
      else
        reference::search_feature(table_, recipe_, total, candidates_[k], cells, found);
      best.offer(found);
    }
    if (line)
      *line = reference::winning_line(table_, recipe_, key, candidates_.data(),
                                      take_candidates(node, candidates_.data()), best.score);
    return best.split;
  }

  // Puts the entries that go left before those that go right.
  void place(const Node& node, std::int32_t split, Node& left, Node& right) {
    const std::int32_t feature = reference::feature_of(table_, recipe_, split);
    const std::int32_t local = split - recipe_.split_offset[feature], n_cuts = n_known_bins(table_, feature) - 1;
    std::size_t k = 0;
    while (all_.pairs()[k].first != feature && all_.pairs()[k].second != feature) ++k;
    const auto& pair = all_.pairs()[k];
    bool left_of[kMaxBins];  // of both features
    for (std::int32_t bin = 0; bin < table_.n_bins[pair.first] * pair.n_second; ++bin)
      left_of[bin] = goes_left(pair.first == feature ? bin / pair.n_second : bin % pair.n_second, local, n_cuts);
    // without a branch that nobody can foresee: each entry is written to both sides, and counts on one
    right_.resize(node.size());
    std::uint32_t *to_left = order_.data() + node.first, *to_right = right_.data();
    for (std::size_t i = node.first; i < node.last; ++i) {
      const std::uint32_t entry = order_[i];
      const bool goes = left_of[bins_of(entry)[k]];
      *to_left = *to_right = entry;
      to_left += goes;
      to_right += !goes;
    }
    std::copy(right_.data(), to_right, to_left);
    const auto middle = static_cast<std::size_t>(to_left - order_.data());
    left = {node.first, middle, {}};
    right = {middle, node.last, {}};
  }

  // The same; the child with fewer entries is summed, and subtracted for the other.
  void part(Node& node, std::int32_t split, Node& left, Node& right) {
    place(node, split, left, right);
    Node &fewer = left.size() < right.size() ? left : right, &more = &fewer == &left ? right : left;
    sum(fewer);
    more.cells = std::move(node.cells);
    for (std::size_t i = 0; i < more.cells.size(); ++i) more.cells[i] -= fewer.cells[i];
  }

  const Table& table_;
  const Recipe& recipe_;
  const RowsOfPairs& all_;
  const std::int64_t per_bin_;  // integers of a cell that is not packed
  std::int64_t width_ = 1;      // and of those of this tree
  bool packs_ = false;
  const Entries* entries_ = nullptr;
  std::vector<std::int64_t> first_bin_;  // [feature + 1]
  std::vector<std::uint32_t> order_, right_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> candidates_;
  std::vector<std::int64_t> pair_cells_, taken_;
};

// Trees that are drawn at once: their entries fit a share of the cache.
std::int64_t n_at_once(const Table& table, const Recipe& recipe, const RowsOfPairs& all) {
  constexpr std::int64_t kMost = 16, kWords = 1 << 16;
  const double draws = BlockDraws(recipe).mean() * static_cast<double>(table.n_rows) / kDrawBlock;
  const double words = draws * static_cast<double>(all.n_words());
  return std::clamp(static_cast<std::int64_t>(kWords / std::max(1.0, words)), std::int64_t{1}, kMost);
}

// Calls work(tree, drawn tree) for every tree, on several threads.
template <class Work>
bool run_trees(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees, int n_threads,
               const std::function<bool()>& interrupted, const Work& work) {
  RowsOfPairs all(table);
  if (!all.fill(table, n_threads, interrupted)) return false;
  const std::int64_t together = n_at_once(table, recipe, all);
  return run_pieces((n_trees + together - 1) / together, n_threads, interrupted, [&] {
    return [&, entries = TreesAtOnce(table, recipe, all), drawn = DrawnTree(table, recipe, all)](
               std::int64_t piece, const std::atomic<bool>&) mutable {
      const std::int64_t first = piece * together, n = std::min(together, n_trees - first);
      entries.draw(recipe.seed, first_tree + static_cast<std::uint64_t>(first), n);
      for (std::int64_t tree = 0; tree < n; ++tree) {
        drawn.start(entries[tree]);
        work(first + tree, drawn);
      }
    };
  });
}

}  // namespace

bool grow_drawn(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees, int n_threads,
                const std::function<bool()>& interrupted, std::int32_t* splits, std::int32_t* lines) {
  const std::int64_t n_nodes = (std::int64_t{1} << recipe.max_depth) - 1;
  return run_trees(table, recipe, first_tree, n_trees, n_threads, interrupted,
                   [&](std::int64_t tree, DrawnTree& drawn) {
                     drawn.grow(splits + tree * n_nodes, lines ? lines + tree : nullptr);
                   });
}

bool add_drawn_level(const Table& table, const Recipe& recipe, const Level& level, int n_threads,
                     const std::function<bool()>& interrupted, std::int64_t* sums) {
  return run_trees(table, recipe, level.first_tree, level.n_trees, n_threads, interrupted,
                   [&](std::int64_t tree, DrawnTree& drawn) { drawn.add_level(level, tree, sums); });
}

}  // namespace pysirus
