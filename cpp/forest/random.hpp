// Counter-based draws: each is a function of (seed, tree, row) or (seed, tree, node, feature) and of nothing else,
// so threads, shards and engines all grow the same trees.
#pragma once

#include <cstdint>

#include "isa/isa.hpp"

namespace pysirus::PYSIRUS_ISA {

constexpr std::uint64_t kGolden64 = 0x9E3779B97F4A7C15ull;
constexpr std::uint32_t kGolden32 = 0x9E3779B9u;

// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection in which every output bit depends on every
// input bit.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// A tree's key: element `tree` of the SplitMix64 sequence that starts at `seed`.
constexpr std::uint64_t tree_key(std::uint64_t seed, std::uint64_t tree) {
  return mix64(mix64(seed + kGolden64) + (tree + 1) * kGolden64);
}

// A node's key, from which its candidate features are drawn. Nodes are numbered in heap order, the root is 0.
constexpr std::uint64_t node_key(std::uint64_t tree_key, std::uint64_t node) {
  return mix64(tree_key ^ mix64((node + 1) * kGolden64));
}

// The key of a block of rows in a tree, from whose sequence it draws which of its rows count.
constexpr std::uint64_t block_key(std::uint64_t tree_key, std::uint64_t block) {
  return mix64(~tree_key ^ mix64((block + 1) * kGolden64));
}

// 64 bits at position `index` of the sequence of a key.
constexpr std::uint64_t bits_at(std::uint64_t key, std::uint64_t index) { return mix64(key + (index + 1) * kGolden64); }

// The upper 64 bits of a product.
constexpr std::uint64_t high_product(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__) && !defined(PYSIRUS_PORTABLE)
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
#else
  const std::uint64_t low_a = a & 0xFFFFFFFFu, high_a = a >> 32, low_b = b & 0xFFFFFFFFu, high_b = b >> 32;
  const std::uint64_t middle = high_a * low_b + (low_a * low_b >> 32);  // no overflow: (2^32 - 1)^2 + 2^32 - 1 < 2^64
  const std::uint64_t other = low_a * high_b + (middle & 0xFFFFFFFFu);
  return high_a * high_b + (middle >> 32) + (other >> 32);
#endif
}

// The integer in [0, bound) at position `index` of a node's sequence; its bias is below bound / 2^64.
inline std::uint64_t below(std::uint64_t node_key, std::uint64_t index, std::uint64_t bound) {
  return high_product(bits_at(node_key, index), bound);
}

// The fold of a row in the cross-validation of the ridge penalty.
inline std::uint32_t fold_of_row(std::uint64_t seed, std::uint64_t row, std::uint32_t n_folds) {
  const std::uint64_t bits = mix64(mix64(~seed + kGolden64) + (row + 1) * kGolden64);
  return static_cast<std::uint32_t>(high_product(bits, n_folds));
}

// Whether a row is in the sample on which that penalty is chosen: its own bits are at most `most`, whatever its fold.
inline bool in_sample(std::uint64_t seed, std::uint64_t row, std::uint64_t most) {
  return mix64(~bits_at(mix64(~seed + kGolden64), row)) <= most;
}

// 32 bits for (tree, row): two multiply-xorshift rounds with half of the tree's key before each. `T` is an unsigned
// 32-bit integer or a vector of them, one lane a tree. Two rounds are what it takes to pass the tests of
// independence in tests/forest/test_random.py; Philox and Threefry pass them too at three times the cost.
template <class T>
[[gnu::always_inline]]
inline T row_bits(T key_low, T key_high, std::uint32_t row) {
  T x = key_low + row * kGolden32;
  x ^= x >> 16;
  x *= 0x21F0AAADu;
  x += key_high;
  x ^= x >> 15;
  x *= 0x735A2D97u;
  return x ^ (x >> 15);
}

// What decides between features that split a node equally well: the larger number wins. The halves of the node's key take
// the place of the tree's. Each step of row_bits is a bijection, so no two features of a node draw the same number.
inline std::uint32_t tie_bits(std::uint64_t node_key, std::uint32_t feature) {
  return row_bits(static_cast<std::uint32_t>(node_key), static_cast<std::uint32_t>(node_key >> 32), feature);
}

}  // namespace pysirus::PYSIRUS_ISA
