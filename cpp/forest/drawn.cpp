#include "forest/drawn.hpp"

#include <algorithm>
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

DrawnRows::DrawnRows(const Table& table, const Recipe& recipe) : table_(table), recipe_(recipe) {
  const std::uint32_t *begin = recipe.block_thresholds, *end = begin + recipe.n_block_thresholds;
  for (std::uint32_t byte = 0; byte < 256; ++byte)
    reached_[byte] = static_cast<std::int32_t>(std::upper_bound(begin, end, byte << 24) - begin);
  const std::int64_t n_blocks = table.n_rows / kDrawBlock + 2;
  rows_.resize(static_cast<std::size_t>(n_blocks * recipe.n_block_thresholds + 8));
}

void DrawnRows::draw(std::uint64_t tree_key) {
  n_rows_ = 0;
  if (table_.n_rows == 0) return;
  const std::uint64_t last_block = (table_.first_row + static_cast<std::uint64_t>(table_.n_rows) - 1) / kDrawBlock;
  std::int64_t* to = rows_.data();
  for (std::uint64_t block = table_.first_row / kDrawBlock; block <= last_block; ++block) {
    const std::uint64_t key = block_key(tree_key, block);
    const std::int64_t n = n_draws(static_cast<std::uint32_t>(bits_at(key, 0) >> 32));
    const auto first = static_cast<std::int64_t>(block * kDrawBlock) - static_cast<std::int64_t>(table_.first_row);
    for (std::int64_t i = 0; i < n; i += 8) {  // eight draws from each 64 bits; those beyond n are written over
      const std::uint64_t bits = bits_at(key, static_cast<std::uint64_t>(1 + i / 8));
      for (int k = 0; k < 8; ++k) to[i + k] = first + static_cast<std::int64_t>(bits >> (8 * k) & 0xFF);
    }
    const bool whole = first >= 0 && first + kDrawBlock <= table_.n_rows;
    const auto is_elsewhere = [&](std::int64_t row) { return row < 0 || row >= table_.n_rows; };
    to = whole ? to + n : std::remove_if(to, to + n, is_elsewhere);
  }
  n_rows_ = static_cast<std::size_t>(to - rows_.data());
}

namespace {

constexpr std::int64_t kPairCells = kMaxBins + 8;  // of a pair: tables that begin 4096 bytes apart wait for each other

// The draws of one tree: their bins side by side, and what each adds to a cell. A draw is an entry; the entries of a node
// stand side by side in `order_`.
class DrawnTree {
 public:
  DrawnTree(const Table& table, const Recipe& recipe, const RowsOfPairs& all)
      : table_(table), recipe_(recipe), all_(all), per_bin_(1 + table.n_sums),
        first_bin_(static_cast<std::size_t>(table.n_features) + 1), rows_(table, recipe),
        candidates_(static_cast<std::size_t>(recipe.max_features)) {
    for (std::int32_t f = 0; f < table.n_features; ++f) first_bin_[f + 1] = first_bin_[f] + table.n_bins[f];
  }

  void draw(std::uint64_t tree_key) {
    tree_key_ = tree_key;
    rows_.draw(tree_key);
    const std::size_t n_words = static_cast<std::size_t>(all_.n_words());
    packs_ = all_.packing().fits() && rows_.size() < Packing::kMostDraws;
    width_ = packs_ ? 1 : per_bin_;
    words_.resize(rows_.size() * n_words);
    packed_.resize(packs_ ? rows_.size() : 0);
    order_.resize(rows_.size());
    for (std::size_t entry = 0; entry < rows_.size(); ++entry) {
      const std::uint64_t* from = all_.of(rows_[entry]);
      for (std::size_t k = 0; k < n_words; ++k) words_[entry * n_words + k] = from[k];
      if (packs_) packed_[entry] = all_.packing().of(all_.answer(from));
      order_[entry] = static_cast<std::uint32_t>(entry);
    }
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

  const std::uint8_t* bins_of(std::uint32_t entry) const {
    return reinterpret_cast<const std::uint8_t*>(words_.data() + entry * static_cast<std::size_t>(all_.n_words()));
  }

  bool is_constant(const Node& node) const {
    if (packs_)
      return std::all_of(order_.begin() + node.first, order_.begin() + node.last,
                         [&](std::uint32_t entry) { return packed_[entry] == packed_[order_[node.first]]; });
    const std::int64_t first = rows_[order_[node.first]];
    return std::all_of(order_.begin() + node.first, order_.begin() + node.last, [&](std::uint32_t entry) {
      return table_.value ? same_values(table_, rows_[entry], first)
                          : table_.class_code[rows_[entry]] == table_.class_code[first];
    });
  }

  // The cells of all features from the entries of a node: first of the pairs, then of each of the two.
  void sum(Node& node) {
    const auto& pairs = all_.pairs();
    pair_cells_.assign(pairs.size() * static_cast<std::size_t>(kPairCells * width_), 0);
    if (packs_)
      sum_packed(node);
    else
      sum_wide(node);
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

  // Eight pairs at a time: the places of their cells are then constants.
  void sum_packed(const Node& node) {
    const std::size_t n_pairs = all_.pairs().size(), n_eights = n_pairs / 8;
    for (std::size_t i = node.first; i < node.last; ++i) {
      const std::uint8_t* bins = bins_of(order_[i]);
      const std::int64_t own = packed_[order_[i]];
      std::int64_t* cells = pair_cells_.data();
      for (std::size_t eight = 0; eight < n_eights; ++eight, bins += 8, cells += 8 * kPairCells)
        for (std::size_t k = 0; k < 8; ++k) cells[k * kPairCells + bins[k]] += own;
      for (std::size_t k = 0; k < n_pairs % 8; ++k) cells[k * kPairCells + bins[k]] += own;
    }
  }

  void sum_wide(const Node& node) {
    for (std::size_t i = node.first; i < node.last; ++i) {
      const std::uint8_t* bins = bins_of(order_[i]);
      for (std::size_t k = 0; k < all_.pairs().size(); ++k)
        reference::add_row(table_, rows_[order_[i]], 1,
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
    const std::uint64_t key = node_key(tree_key_, static_cast<std::uint64_t>(number));
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
  std::uint64_t tree_key_ = 0;
  std::vector<std::int64_t> first_bin_;  // [feature + 1]
  DrawnRows rows_;                       // [entry]
  std::vector<std::uint64_t> words_;     // [entry][word]: its bins
  std::vector<std::int64_t> packed_;     // [entry]: what it adds to a packed cell
  std::vector<std::uint32_t> order_, right_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> candidates_;
  std::vector<std::int64_t> pair_cells_, taken_;
};

// Calls work(tree, drawn tree) for every tree, on several threads.
template <class Work>
bool run_trees(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees, int n_threads,
               const std::function<bool()>& interrupted, const Work& work) {
  RowsOfPairs all(table);
  if (!all.fill(table, n_threads, interrupted)) return false;
  return run_pieces(n_trees, n_threads, interrupted, [&] {
    return [&, drawn = DrawnTree(table, recipe, all)](std::int64_t tree, const std::atomic<bool>&) mutable {
      drawn.draw(tree_key(recipe.seed, first_tree + static_cast<std::uint64_t>(tree)));
      work(tree, drawn);
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
