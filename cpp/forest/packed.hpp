// The size and the sums of a cell in one integer of 64 bits, which adds up like they do: one addition serves all. It has
// room for one column of numbers, or for three classes, of rows without weights.
#pragma once

#include <cstdint>

#include "forest/reference.hpp"
#include "forest/table.hpp"

namespace pysirus {

class Packing {
 public:
  static constexpr std::size_t kMostDraws = 1 << 20;  // of a node

  explicit Packing(const Table& table)
      : n_classes_(table.class_code ? table.n_sums : 0), fits_(!table.weight && table.n_sums <= (n_classes_ ? 3 : 1)) {}

  bool fits() const { return fits_; }

  // What a row adds to a cell, from its value or its class.
  std::int64_t of(std::int32_t answer) const {
    return n_classes_ ? std::int64_t{1} << (kClassBits * answer) : std::int64_t{answer} * (1 << kSizeBits) + 1;
  }

  // Size and sums, as elsewhere.
  void unpack(std::int64_t cell, std::int64_t* to) const {
    *to = size_of(cell);
    if (n_classes_ == 0) *++to = cell >> kSizeBits;
    for (std::int32_t k = 0; k < n_classes_; ++k) *++to = class_size(cell, k);
  }

  // reference::score_of, operation by operation.
  double score_of(std::int64_t node, std::int64_t left) const {
    const std::int64_t right = node - left;
    const auto n_left = static_cast<double>(size_of(left)), n_right = static_cast<double>(size_of(right));
    if (!(n_left > 0.0) || !(n_right > 0.0)) return -1.0;
    const auto square = [&](std::int64_t sum_left, std::int64_t sum_right) {
      const double d = static_cast<double>(sum_left) * n_right - static_cast<double>(sum_right) * n_left;
      return d * d;
    };
    double score = 0.0;
    if (n_classes_ == 0) score += square(left >> kSizeBits, right >> kSizeBits);
    for (std::int32_t k = 0; k < n_classes_; ++k) score += square(class_size(left, k), class_size(right, k));
    return score / (n_left * n_right);
  }

 private:
  static constexpr int kSizeBits = 22, kClassBits = 21;  // numbers: the size below, the sum above; classes side by side

  static std::int64_t class_size(std::int64_t cell, std::int32_t k) {
    return cell >> (kClassBits * k) & ((1 << kClassBits) - 1);
  }
  std::int64_t size_of(std::int64_t cell) const {
    if (n_classes_ == 0) return cell & ((1 << kSizeBits) - 1);
    return class_size(cell, 0) + class_size(cell, 1) + class_size(cell, 2);
  }

  std::int32_t n_classes_;
  bool fits_;
};

// reference::search_feature in packed cells.
inline void search_packed(const Table& table, const Recipe& recipe, const Packing& packing, std::int64_t node,
                          std::int32_t feature, const std::int64_t* cell, reference::Best& best) {
  const std::int32_t n_cuts = n_known_bins(table, feature) - 1, first = recipe.split_offset[feature];
  const std::int64_t missing = table.has_missing[feature] ? cell[n_cuts + 1] : 0;
  std::int64_t left = 0;
  for (std::int32_t cut = 0; cut < n_cuts; ++cut) {
    left += cell[cut];
    best.offer(packing.score_of(node, left), first + cut);
    if (missing) best.offer(packing.score_of(node, left + missing), first + n_cuts + cut);
  }
  if (table.has_missing[feature]) best.offer(packing.score_of(node, left + cell[n_cuts]), first + 2 * n_cuts);
}

}  // namespace pysirus
