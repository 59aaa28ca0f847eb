// Vectors of one element a tree.
//
// Functions are always inlined: left to itself GCC calls some of them once a file is large, and a forest takes three
// times as long.
//
// Sixteen lanes are as many machine vectors as it takes. (One type of sixteen lanes, wider than the machine's vectors,
// was tried: GCC 12 takes it apart through memory, 2.5 times slower with AVX2.)
#pragma once

#include "forest/table.hpp"
#include "isa/vector.hpp"

namespace pysirus::PYSIRUS_ISA {

template <class T, int kCount = kLanes>
struct Lanes {
  static constexpr int kWidth = kVectorBytes / int{sizeof(T)} < kCount ? kVectorBytes / int{sizeof(T)} : kCount;
  static constexpr int kParts = kCount / kWidth;
  using Part = Vector<T, kWidth>;
  Part part[kParts];

  T operator[](int lane) const { return part[lane / kWidth][lane % kWidth]; }
  void set(int lane, T value) { part[lane / kWidth][lane % kWidth] = value; }

  [[gnu::always_inline]] Lanes& operator+=(const Lanes& other) {
    for (int i = 0; i < kParts; ++i) part[i] += other.part[i];
    return *this;
  }
  [[gnu::always_inline]] Lanes& operator-=(const Lanes& other) {
    for (int i = 0; i < kParts; ++i) part[i] -= other.part[i];
    return *this;
  }
  [[gnu::always_inline]] Lanes& operator*=(const Lanes& other) {
    for (int i = 0; i < kParts; ++i) part[i] *= other.part[i];
    return *this;
  }
  [[gnu::always_inline]] Lanes& operator/=(const Lanes& other) {
    for (int i = 0; i < kParts; ++i) part[i] /= other.part[i];
    return *this;
  }
  [[gnu::always_inline]] Lanes& operator&=(const Lanes& other) {
    for (int i = 0; i < kParts; ++i) part[i] &= other.part[i];
    return *this;
  }
  [[gnu::always_inline]] Lanes& operator|=(const Lanes& other) {
    for (int i = 0; i < kParts; ++i) part[i] |= other.part[i];
    return *this;
  }
};

using RowCounts = Lanes<std::uint8_t, kBlock>;  // of a row in every tree of a block
using i16x = Lanes<std::int16_t>;
using u32x = Lanes<std::uint32_t>;
using i32x = Lanes<std::int32_t>;
using i64x = Lanes<std::int64_t>;
using f64x = Lanes<double>;

template <class T>
[[gnu::always_inline]]
inline Lanes<T> fill(T value) {
  Lanes<T> result;
  for (auto& part : result.part) part = splat<typename Lanes<T>::Part>(value);
  return result;
}

template <class T, int kCount>
[[gnu::always_inline]]
inline Lanes<T, kCount> operator+(Lanes<T, kCount> a, const Lanes<T, kCount>& b) {
  return a += b;
}
template <class T, int kCount>
[[gnu::always_inline]]
inline Lanes<T, kCount> operator-(Lanes<T, kCount> a, const Lanes<T, kCount>& b) {
  return a -= b;
}
template <class T, int kCount>
[[gnu::always_inline]]
inline Lanes<T, kCount> operator*(Lanes<T, kCount> a, const Lanes<T, kCount>& b) {
  return a *= b;
}
template <class T, int kCount>
[[gnu::always_inline]]
inline Lanes<T, kCount> operator&(Lanes<T, kCount> a, const Lanes<T, kCount>& b) {
  return a &= b;
}

[[gnu::always_inline]]
inline i32x at_least(const i32x& a, std::int32_t b) {
  i32x result;
  for (int i = 0; i < i32x::kParts; ++i) result.part[i] = a.part[i] >= b;
  return result;
}

template <class T>
[[gnu::always_inline]]
inline void assign_where(const i64x& mask, Lanes<T>& target, const Lanes<T>& value) {
  for (int i = 0; i < i64x::kParts; ++i) target.part[i] = choose(mask.part[i], value.part[i], target.part[i]);
}

// Where `score` is greater than `best`, it takes its place, and `value` that of `target`.
[[gnu::always_inline]]
inline void assign_where_greater(const f64x& score, f64x& best, const i64x& value, i64x& target) {
  for (int i = 0; i < f64x::kParts; ++i) {
    const i64x::Part better = score.part[i] > best.part[i];
    best.part[i] = choose(better, score.part[i], best.part[i]);
    target.part[i] = choose(better, value.part[i], target.part[i]);
  }
}

// The larger of two numbers in every lane.
[[gnu::always_inline]]
inline f64x larger(const f64x& a, const f64x& b) {
  f64x result;
  for (int i = 0; i < f64x::kParts; ++i) {
    const i64x::Part greater = a.part[i] > b.part[i];
    result.part[i] = choose(greater, a.part[i], b.part[i]);
  }
  return result;
}

// Every lane as another type of number.
template <class To, class From>
[[gnu::always_inline]]
inline Lanes<To> convert(const Lanes<From>& from) {
  if constexpr (std::is_same_v<To, From>) return from;
  constexpr int kWidth = Lanes<To>::kWidth < Lanes<From>::kWidth ? Lanes<To>::kWidth : Lanes<From>::kWidth;
  Lanes<To> result;
  for (int lane = 0; lane < kLanes; lane += kWidth) {
    Vector<From, kWidth> source;
    std::memcpy(&source, reinterpret_cast<const char*>(&from) + lane * sizeof(From), sizeof source);
    const Vector<To, kWidth> target = convert_vector<To, kWidth, From>(source);
    std::memcpy(reinterpret_cast<char*>(&result) + lane * sizeof(To), &target, sizeof target);
  }
  return result;
}

template <class T>
[[gnu::always_inline]]
inline bool any(const Lanes<T>& v) {
  auto all = v.part[0];
  for (int i = 1; i < Lanes<T>::kParts; ++i) all |= v.part[i];
  std::int64_t words[sizeof all / 8];
  std::memcpy(words, &all, sizeof all);
  std::int64_t seen = 0;
  for (auto word : words) seen |= word;
  return seen != 0;
}

// All ones in the lanes whose bit is set.
[[gnu::always_inline]]
inline i64x spread(std::uint16_t bits) {
  i64x result;
  for (int i = 0; i < i64x::kParts; ++i) {
    i64x::Part lane_bit{};
    for (int k = 0; k < i64x::kWidth; ++k) lane_bit[k] = std::int64_t{1} << (i * i64x::kWidth + k);
    result.part[i] = (lane_bit & std::int64_t{bits}) != 0;
  }
  return result;
}

// A bit for each lane in which `a` is greater than `b`, and one for each in which they are equal.
struct Order {
  std::uint16_t greater = 0, equal = 0;
};
[[gnu::always_inline]]
inline Order compare(const f64x& a, const f64x& b) {
  Order order;
#if defined(__AVX512F__) && !defined(PYSIRUS_PORTABLE)
  const auto bits = [](unsigned low, unsigned high) { return static_cast<std::uint16_t>(low | high << 8); };
  order.greater =
      bits(_mm512_cmp_pd_mask(a.part[0], b.part[0], _CMP_GT_OQ), _mm512_cmp_pd_mask(a.part[1], b.part[1], _CMP_GT_OQ));
  order.equal =
      bits(_mm512_cmp_pd_mask(a.part[0], b.part[0], _CMP_EQ_OQ), _mm512_cmp_pd_mask(a.part[1], b.part[1], _CMP_EQ_OQ));
#elif defined(__AVX2__) && !defined(PYSIRUS_PORTABLE)
  for (int i = 0; i < f64x::kParts; ++i) {
    const int greater = _mm256_movemask_pd(_mm256_cmp_pd(a.part[i], b.part[i], _CMP_GT_OQ));
    const int equal = _mm256_movemask_pd(_mm256_cmp_pd(a.part[i], b.part[i], _CMP_EQ_OQ));
    order.greater |= static_cast<std::uint16_t>(greater << (4 * i));
    order.equal |= static_cast<std::uint16_t>(equal << (4 * i));
  }
#else
  for (int lane = 0; lane < kLanes; ++lane) {
    order.greater |= static_cast<std::uint16_t>((a[lane] > b[lane]) << lane);
    order.equal |= static_cast<std::uint16_t>((a[lane] == b[lane]) << lane);
  }
#endif
  return order;
}

}  // namespace pysirus::PYSIRUS_ISA
