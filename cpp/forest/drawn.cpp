#include "forest/drawn.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "forest/pool.hpp"
#include "forest/reference.hpp"
#include "forest/trees_at_once.hpp"

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

BlockDraws::BlockDraws(const Table& table, const Recipe& recipe, const Kernel& kernel)
    : table_(table), kernel_(kernel), draws_{recipe.block_thresholds, recipe.n_block_thresholds, {}},
      first_(table.first_row / kDrawBlock),
      end_(table.n_rows ? (table.first_row + static_cast<std::uint64_t>(table.n_rows) - 1) / kDrawBlock + 1 : first_) {
  const std::uint32_t *begin = draws_.thresholds, *end = begin + draws_.n;
  for (std::uint32_t byte = 0; byte < 256; ++byte)
    draws_.reached[byte] = static_cast<std::int32_t>(std::upper_bound(begin, end, byte << 24) - begin);
}

double BlockDraws::mean() const {
  double mean = 0.0;
  for (std::int32_t k = 0; k < draws_.n; ++k) mean += 1.0 - draws_.thresholds[k] * 0x1p-32;
  return mean;
}

std::int64_t* BlockDraws::draw(std::uint64_t tree_key, std::uint64_t block, std::uint64_t end, std::int64_t* to) const {
  const auto row_of = [&](std::uint64_t own) {
    return static_cast<std::int64_t>(own * kDrawBlock) - static_cast<std::int64_t>(table_.first_row);
  };
  const std::int64_t first = row_of(block);
  std::int64_t* last = kernel_.draw_blocks(draws_, tree_key, block, end, first, to);
  if (first >= 0 && row_of(end) <= table_.n_rows) return last;
  return std::remove_if(to, last, [&](std::int64_t row) { return row < 0 || row >= table_.n_rows; });
}

std::vector<std::int64_t> drawn_rows(const Table& table, const Recipe& recipe, std::uint64_t tree_key) {
  const BlockDraws draws(table, recipe, plain::kernel);
  const auto n_blocks = static_cast<std::int64_t>(draws.end_block() - draws.first_block());
  std::vector<std::int64_t> rows(static_cast<std::size_t>(draws.room(n_blocks)));
  const std::int64_t* end = draws.draw(tree_key, draws.first_block(), draws.end_block(), rows.data());
  rows.resize(static_cast<std::size_t>(end - rows.data()));
  return rows;
}

namespace {

// Byte number `k` in memory of a word.
[[gnu::always_inline]]
inline std::int64_t byte_of(std::uint64_t word, int k) {
  return static_cast<std::int64_t>(word >> (std::endian::native == std::endian::big ? 56 - 8 * k : 8 * k) & 0xFF);
}

constexpr std::int64_t kPairCells = kMaxBins + 8;  // of a pair: tables that begin 4096 bytes apart wait for each other

// One tree. The entries of a node stand side by side in `order_`.
class DrawnTree {
 public:
  DrawnTree(const Table& table, const Recipe& recipe, const Kernel& kernel, const RowsOfPairs& all)
      : table_(table), recipe_(recipe), kernel_(kernel), all_(all), per_bin_(1 + table.n_sums),
        first_bin_(static_cast<std::size_t>(table.n_features) + 1),
        candidates_(static_cast<std::size_t>(recipe.max_features)),
        left_(static_cast<std::size_t>(recipe.split_offset[table.n_features] + kCutsAtOnce)), scores_(left_.size()),
        cuts_(left_.size()) {
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
      for (std::int32_t bin = 0; bin < table_.n_bins[pairs[at].first]; ++bin, one += width_) {
        if (packs_)
          from = add_packed_row(from, pairs[at].n_second, *one, other);
        else
          from = add_wide_row(from, pairs[at].n_second, one, other);
      }
    }
  }

  // Adds the cells of a pair that share a bin of its first feature to those of both; returns their end.
  static const std::int64_t* add_packed_row(const std::int64_t* from, std::int32_t n, std::int64_t& one,
                                            std::int64_t* other) {
    std::int64_t sum = 0;
    for (std::int32_t k = 0; k < n; ++k) sum += from[k];
    for (std::int32_t k = 0; k < n; ++k) other[k] += from[k];
    one = sum;
    return from + n;
  }
  const std::int64_t* add_wide_row(const std::int64_t* from, std::int32_t n, std::int64_t* one,
                                   std::int64_t* other) const {
    for (std::int32_t k = 0; k < n; ++k, from += width_, other += width_)
      for (std::int64_t i = 0; i < width_; ++i) one[i] += from[i], other[i] += from[i];
    return from;
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

  std::int32_t split(const Node& node, int number, const std::int32_t* splits, std::int32_t* line) {
    const std::uint64_t key = node_key(entries_->tree_key, static_cast<std::uint64_t>(number));
    if (reference::draw_allowed(table_, recipe_, key, splits, number, candidates_.data()) == 0) return kNoSplit;
    const reference::Best best = packs_ ? best_packed(node, key) : best_wide(node, key);
    if (line)
      *line = reference::winning_line(table_, recipe_, key, candidates_.data(),
                                      take_candidates(node, candidates_.data()), best.score);
    return best.split;
  }

  reference::Best best_wide(const Node& node, std::uint64_t key) {
    reference::Sums total(static_cast<std::size_t>(width_));
    for (std::int32_t bin = 0; bin < table_.n_bins[0]; ++bin)
      reference::add_to(total, node.cells.data() + bin * width_);
    return reference::best_split(table_, recipe_, key, candidates_.data(), total,
                                 take_candidates(node, candidates_.data()));
  }

  // reference::best_split of packed cells: the cuts of all candidates are scored together. Of the best, the first of each
  // feature counts.
  reference::Best best_packed(const Node& node, std::uint64_t key) {
    const std::int64_t* cells = node.cells.data();
    const std::int64_t total = std::accumulate(cells, cells + table_.n_bins[0], std::int64_t{0});
    std::size_t n = 0;
    ends_.clear();
    for (std::int32_t k = 0; k < recipe_.max_features && candidates_[k] >= 0; ++k)
      ends_.push_back(n = list_cuts(candidates_[k], cells + first_bin_[candidates_[k]], n));
    std::fill_n(left_.begin() + static_cast<std::ptrdiff_t>(n), kCutsAtOnce, total);
    const double score = kernel_.score_cuts(all_.packing().n_classes(), total, left_.data(),
                                            static_cast<std::int64_t>(n), scores_.data());
    reference::Best best;
    if (score < 0.0) return best;
    const double* from = scores_.data();
    for (std::size_t k = 0; k < ends_.size(); ++k) {
      const double *end = scores_.data() + ends_[k], *found = std::find(from, end, score);
      if (found != end)
        best.offer({score, cuts_[static_cast<std::size_t>(found - scores_.data())],
                    tie_bits(key, static_cast<std::uint32_t>(candidates_[k]))});
      from = end;
    }
    return best;
  }

  // What is on the left of each cut of a feature, in the order of reference::search_feature, from place `n` on; returns
  // their end.
  std::size_t list_cuts(std::int32_t feature, const std::int64_t* cell, std::size_t n) {
    const std::int32_t n_cuts = n_known_bins(table_, feature) - 1, first = recipe_.split_offset[feature];
    const std::int64_t missing = table_.has_missing[feature] ? cell[n_cuts + 1] : 0;
    std::int64_t left = 0;
    const auto add = [&](std::int64_t cells, std::int32_t cut) { left_[n] = cells, cuts_[n++] = first + cut; };
    for (std::int32_t cut = 0; cut < n_cuts; ++cut) {
      add(left += cell[cut], cut);
      if (missing) add(left + missing, n_cuts + cut);
    }
    if (table_.has_missing[feature]) add(left + cell[n_cuts], 2 * n_cuts);
    return n;
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
  const Kernel& kernel_;
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
  std::vector<std::int64_t> left_;  // [cut] of all candidates: the cells on its left
  std::vector<double> scores_;      // [cut]
  std::vector<std::int32_t> cuts_;  // [cut] its number
  std::vector<std::size_t> ends_;   // [candidate] of its cuts
};

// Trees that are drawn at once: their entries fit a share of the cache.
std::int64_t n_at_once(const Table& table, double draws_of_block, const RowsOfPairs& all) {
  constexpr std::int64_t kMost = 16, kWords = 1 << 16;
  const double draws = draws_of_block * static_cast<double>(table.n_rows) / kDrawBlock;
  const double words = draws * static_cast<double>(all.n_words());
  return std::clamp(static_cast<std::int64_t>(kWords / std::max(1.0, words)), std::int64_t{1}, kMost);
}

// Calls work(tree, drawn tree) for every tree, on several threads.
template <class Work>
bool run_trees(const Table& table, const Recipe& recipe, const Kernel& kernel, std::uint64_t first_tree,
               std::int64_t n_trees, int n_threads, const std::function<bool()>& interrupted, const Work& work) {
  RowsOfPairs all(table);
  if (!all.fill(table, n_threads, interrupted)) return false;
  const std::int64_t together = n_at_once(table, BlockDraws(table, recipe, kernel).mean(), all);
  return run_pieces((n_trees + together - 1) / together, n_threads, interrupted, [&] {
    return [&, entries = TreesAtOnce(table, recipe, kernel, all), drawn = DrawnTree(table, recipe, kernel, all)](
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

bool grow_drawn(const Table& table, const Recipe& recipe, const Kernel& kernel, std::uint64_t first_tree,
                std::int64_t n_trees, int n_threads, const std::function<bool()>& interrupted, std::int32_t* splits,
                std::int32_t* lines) {
  const std::int64_t n_nodes = (std::int64_t{1} << recipe.max_depth) - 1;
  return run_trees(table, recipe, kernel, first_tree, n_trees, n_threads, interrupted,
                   [&](std::int64_t tree, DrawnTree& drawn) {
                     drawn.grow(splits + tree * n_nodes, lines ? lines + tree : nullptr);
                   });
}

bool add_drawn_level(const Table& table, const Recipe& recipe, const Kernel& kernel, const Level& level, int n_threads,
                     const std::function<bool()>& interrupted, std::int64_t* sums) {
  return run_trees(table, recipe, kernel, level.first_tree, level.n_trees, n_threads, interrupted,
                   [&](std::int64_t tree, DrawnTree& drawn) { drawn.add_level(level, tree, sums); });
}

}  // namespace pysirus
