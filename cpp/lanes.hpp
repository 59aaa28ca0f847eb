// Vectors of one element a tree, in the compilers' portable vector type: the same source becomes AVX-512, AVX2,
// SSE2 or NEON code by the flags it is compiled with. Everything is in the namespace of its instruction set.
#pragma once

#include <cstdint>

#include "table.hpp"

namespace pysirus::PYSIRUS_ISA {

using u8x = std::uint8_t __attribute__((vector_size(kLanes)));
using u32x = std::uint32_t __attribute__((vector_size(4 * kLanes)));
using i32x = std::int32_t __attribute__((vector_size(4 * kLanes)));
using i64x = std::int64_t __attribute__((vector_size(8 * kLanes)));
using f64x = double __attribute__((vector_size(8 * kLanes)));

template <class Sum>
struct SumLanes;
template <>
struct SumLanes<std::int32_t> {
  using type = i32x;
};
template <>
struct SumLanes<std::int64_t> {
  using type = i64x;
};
template <class Sum>
using sums_of = typename SumLanes<Sum>::type;

inline f64x to_double(i32x v) { return __builtin_convertvector(v, f64x); }
inline f64x to_double(i64x v) { return __builtin_convertvector(v, f64x); }

inline bool any(i32x v) {
  std::int64_t halves[kLanes / 2];
  __builtin_memcpy(halves, &v, sizeof halves);
  std::int64_t all = 0;
  for (auto half : halves) all |= half;
  return all != 0;
}

// All ones in the lanes whose bit is set.
inline i64x spread(std::uint16_t bits) {
  i64x lane_bit;
  for (int lane = 0; lane < kLanes; ++lane) lane_bit[lane] = std::int64_t{1} << lane;
  return (lane_bit & static_cast<std::int64_t>(bits)) != 0;
}

}  // namespace pysirus::PYSIRUS_ISA
