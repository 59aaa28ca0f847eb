// What the bindings check before the core reads or writes anything: sizes, bins, class codes, splits, tree numbers.
// One pass over each array at most, in loops that the compiler turns into vector instructions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "forest/table.hpp"

namespace pysirus::python {

constexpr std::int64_t kMaxTrees = 1 << 24;         // in one call
constexpr std::int64_t kMaxSplits = 1 << 30;        // a path counts sides too, in 32 bits
constexpr std::int64_t kMaxForestNumber = 1 << 20;  // of a response or a weight in the forest: three digits of 7 bits
constexpr std::int64_t kMaxLineNumber = (1 << 15) - 1;
constexpr std::int64_t kMaxMomentValue = std::int64_t{1} << 44;
constexpr std::int64_t kMaxMomentWeight = std::int64_t{1} << 40;
constexpr std::int64_t kMaxFolds = 1000;
constexpr std::int64_t kMaxRidgeRules = 46'340;  // whose square takes 31 bits

inline void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

// The least and the greatest of some numbers; nothing lies within an empty range.
struct Range {
  std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = std::numeric_limits<std::int64_t>::min();

  // A number of the range that is not from `least` to `most`, for messages.
  bool within(std::int64_t least, std::int64_t most) const { return low >= least && high <= most; }
  std::int64_t outside(std::int64_t least) const { return low < least ? low : high; }
};

template <class T>
Range range_of(const T* numbers, std::size_t n) {
  if (n == 0) return {};
  T low = numbers[0], high = numbers[0];
  for (std::size_t i = 0; i < n; ++i) {  // not std::min and std::max: GCC 12 makes no vectors of bytes of them
    const T number = numbers[i];
    low = number < low ? number : low;
    high = number > high ? number : high;
  }
  return {low, high};
}

// Refuses numbers that are not from `least` to `most`.
inline void check_range(const char* what, const Range& range, std::int64_t least, std::int64_t most) {
  if (range.low > range.high || range.within(least, most)) return;
  throw std::invalid_argument(std::string(what) + " " + std::to_string(range.outside(least)) + " is not from " +
                              std::to_string(least) + " to " + std::to_string(most));
}

// How many numbers a product of sizes is; throws where their bytes have no number.
inline std::size_t product_of(std::size_t a, std::size_t b, std::size_t bytes_each) {
  const std::size_t most = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / bytes_each;
  if (b != 0 && a > most / b) throw std::bad_alloc();
  return a * b;
}

inline void check_instruction_set(const std::string& name, const std::vector<std::string>& here) {
  if (std::find(here.begin(), here.end(), name) == here.end())
    throw std::invalid_argument("no instruction set is called '" + name + "' on this machine");
}

// The shape of the columns: bins that a byte tells apart, and the splits that their cuts make.
inline void check_columns(const std::vector<std::int32_t>& n_bins, const std::vector<std::uint8_t>& has_missing,
                          const std::vector<std::int32_t>& split_offset) {
  require(split_offset[0] == 0, "split_offset must begin at 0");
  for (std::size_t f = 0; f < n_bins.size(); ++f) {
    require(has_missing[f] <= 1, "has_missing must be 0 or 1");
    require(n_bins[f] >= 1 + has_missing[f] && n_bins[f] <= kMaxBins,
            "n_bins must be from 1 to 256, and at least 2 with missing values");
    const std::int64_t n_cuts = n_bins[f] - has_missing[f] - 1;
    const std::int64_t end = split_offset[f] + (has_missing[f] ? 2 * n_cuts + 1 : n_cuts);
    require(split_offset[f + 1] == end && end < kMaxSplits,
            "split_offset must count the splits of each feature: its cuts, or twice its cuts and one");
  }
}

inline void check_splits(const std::int32_t* splits, std::size_t n, std::int64_t n_splits) {
  check_range("split", range_of(splits, n), kNoSplit, n_splits - 1);
}

inline void check_nodes(const std::int64_t* nodes, std::size_t n, std::size_t per_node, std::int64_t n_trees,
                        std::int64_t n_nodes) {
  for (std::size_t i = 0; i < n; ++i, nodes += per_node)
    require(nodes[0] >= 0 && nodes[0] < n_trees && nodes[1] >= n_nodes - 1 && nodes[1] < 2 * n_nodes - 1,
            "a node must be one of the last level of one of the trees");
}

}  // namespace pysirus::python
