// Integers of 128 bits, for sums that 64 bits cannot hold: added, and made of a product. The compiler's own where it has
// them.
#pragma once

#include <cstdint>

#include "forest/random.hpp"

namespace pysirus {

#if defined(__SIZEOF_INT128__) && !defined(PYSIRUS_PORTABLE)

using Wide = __int128;

inline Wide wide_product(std::int64_t a, std::int64_t b) { return Wide{a} * b; }
inline std::int64_t upper_half(Wide number) { return static_cast<std::int64_t>(number >> 48); }
inline std::int64_t lower_half(Wide number) { return static_cast<std::int64_t>(number & ((Wide{1} << 48) - 1)); }

#else

struct Wide {
  std::uint64_t low = 0, high = 0;  // in two's complement

  Wide& operator+=(const Wide& other) {
    low += other.low;
    high += other.high + (low < other.low);
    return *this;
  }
  bool operator==(const Wide&) const = default;
};

// The product of the same bits without signs, less what a sign adds to it.
inline Wide wide_product(std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  return {x * y, high_product(x, y) - (a < 0 ? y : 0) - (b < 0 ? x : 0)};
}
inline std::int64_t upper_half(const Wide& number) {
  return static_cast<std::int64_t>(number.high << 16 | number.low >> 48);
}
inline std::int64_t lower_half(const Wide& number) {
  return static_cast<std::int64_t>(number.low & ((std::uint64_t{1} << 48) - 1));
}

#endif

}  // namespace pysirus
