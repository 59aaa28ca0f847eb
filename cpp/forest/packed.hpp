// The size and the sums of a cell in one integer of 64 bits, which adds up like they do: one addition serves all. It has
// room for one column of numbers, or for three classes, of rows without weights.
#pragma once

#include <cstdint>

#include "forest/kernel.hpp"
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

  // As Kernel::score_cuts takes it.
  std::int32_t n_classes() const { return n_classes_; }

 private:
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

}  // namespace pysirus
