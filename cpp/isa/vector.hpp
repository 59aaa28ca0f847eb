// A few numbers that are added, compared and chosen from together: the vectors of GCC and Clang, which become AVX-512, AVX2,
// SSE2 or NEON code by the flags they are compiled with; elsewhere an array and its loops. Comparing gives a vector of
// integers, all bits or none.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "isa/isa.hpp"

#if defined(__AVX2__) && !defined(PYSIRUS_PORTABLE)
#include <immintrin.h>
#endif

namespace pysirus::PYSIRUS_ISA {

#if defined(__AVX512F__) && !defined(PYSIRUS_PORTABLE)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__) && !defined(PYSIRUS_PORTABLE)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

#if !defined(PYSIRUS_PORTABLE)

template <class T, int kWidth>
using Vector __attribute__((vector_size(kWidth * sizeof(T)))) = T;

template <class V, class T>
[[gnu::always_inline]] inline V splat(T value) {
  return value - V{};
}

// Where the mask has all bits, a; where it has none, b.
template <class Mask, class V>
[[gnu::always_inline]] inline V choose(const Mask& mask, const V& a, const V& b) {
  return mask ? a : b;
}

// A vector of other numbers. Sizes change by a factor of two at a time: compilers have instructions for that, and take
// larger steps element by element.
template <class To, int kWidth, class From>
[[gnu::always_inline]] inline Vector<To, kWidth> convert_vector(const Vector<From, kWidth>& from) {
#if defined(__AVX512F__)
  // GCC 12 does this one in two halves. (The masked form, of all lanes: the other one warns of what it leaves open.)
  if constexpr (std::is_same_v<From, std::int32_t> && std::is_same_v<To, double> && kWidth == 8)
    return reinterpret_cast<Vector<double, 8>>(_mm512_maskz_cvtepi32_pd(0xFF, reinterpret_cast<__m256i>(from)));
#endif
  if constexpr (sizeof(From) == 1 && sizeof(To) > 2) {
    return convert_vector<To, kWidth, std::uint16_t>(__builtin_convertvector(from, Vector<std::uint16_t, kWidth>));
  } else if constexpr (sizeof(From) == 2 && sizeof(To) > 4) {
    return convert_vector<To, kWidth, std::int32_t>(__builtin_convertvector(from, Vector<std::int32_t, kWidth>));
  } else if constexpr (sizeof(From) == 4 && sizeof(To) == 1) {
    return convert_vector<To, kWidth, std::uint16_t>(__builtin_convertvector(from, Vector<std::uint16_t, kWidth>));
  } else {
    return __builtin_convertvector(from, Vector<To, kWidth>);
  }
}

#else

template <class T>
using MaskOf = std::conditional_t<
    sizeof(T) == 8, std::int64_t,
    std::conditional_t<sizeof(T) == 4, std::int32_t, std::conditional_t<sizeof(T) == 2, std::int16_t, std::int8_t>>>;

template <class T, int kWidth>
struct Vector {
  T lane[kWidth];

  T& operator[](int i) { return lane[i]; }
  T operator[](int i) const { return lane[i]; }

  template <class To, class Operation>
  Vector<To, kWidth> each(Operation operation) const {
    Vector<To, kWidth> result{};
    for (int i = 0; i < kWidth; ++i) result.lane[i] = static_cast<To>(operation(lane[i], i));
    return result;
  }

  friend Vector operator+(const Vector& a, const Vector& b) {
    return a.template each<T>([&](T x, int i) { return x + b[i]; });
  }
  friend Vector operator-(const Vector& a, const Vector& b) {
    return a.template each<T>([&](T x, int i) { return x - b[i]; });
  }
  friend Vector operator*(const Vector& a, const Vector& b) {
    return a.template each<T>([&](T x, int i) { return x * b[i]; });
  }
  friend Vector operator/(const Vector& a, const Vector& b) {
    return a.template each<T>([&](T x, int i) { return x / b[i]; });
  }
  friend Vector operator&(const Vector& a, const Vector& b) {
    return a.template each<T>([&](T x, int i) { return x & b[i]; });
  }
  friend Vector operator|(const Vector& a, const Vector& b) {
    return a.template each<T>([&](T x, int i) { return x | b[i]; });
  }
  friend Vector operator^(const Vector& a, const Vector& b) {
    return a.template each<T>([&](T x, int i) { return x ^ b[i]; });
  }
  friend Vector operator<<(const Vector& a, int n) {
    return a.template each<T>([&](T x, int) { return x << n; });
  }
  friend Vector operator>>(const Vector& a, int n) {
    return a.template each<T>([&](T x, int) { return x >> n; });
  }
  friend Vector operator>>(const Vector& a, const Vector& b) {
    return a.template each<T>([&](T x, int i) { return x >> b[i]; });
  }
  Vector operator~() const {
    return each<T>([](T x, int) { return ~x; });
  }

  friend Vector operator+(const Vector& a, T b) {
    return a.template each<T>([&](T x, int) { return x + b; });
  }
  friend Vector operator*(const Vector& a, T b) {
    return a.template each<T>([&](T x, int) { return x * b; });
  }
  friend Vector operator&(const Vector& a, T b) {
    return a.template each<T>([&](T x, int) { return x & b; });
  }
  friend Vector operator^(const Vector& a, T b) {
    return a.template each<T>([&](T x, int) { return x ^ b; });
  }

  template <class Other>
  Vector& operator+=(const Other& other) {
    return *this = *this + other;
  }
  template <class Other>
  Vector& operator-=(const Other& other) {
    return *this = *this - other;
  }
  template <class Other>
  Vector& operator*=(const Other& other) {
    return *this = *this * other;
  }
  template <class Other>
  Vector& operator/=(const Other& other) {
    return *this = *this / other;
  }
  template <class Other>
  Vector& operator&=(const Other& other) {
    return *this = *this & other;
  }
  template <class Other>
  Vector& operator|=(const Other& other) {
    return *this = *this | other;
  }
  template <class Other>
  Vector& operator^=(const Other& other) {
    return *this = *this ^ other;
  }
  Vector& operator<<=(int n) { return *this = *this << n; }

  using Mask = Vector<MaskOf<T>, kWidth>;
  friend Mask operator<(const Vector& a, const Vector& b) {
    return a.template each<MaskOf<T>>([&](T x, int i) { return -(x < b[i]); });
  }
  friend Mask operator>(const Vector& a, const Vector& b) {
    return a.template each<MaskOf<T>>([&](T x, int i) { return -(x > b[i]); });
  }
  friend Mask operator>=(const Vector& a, const Vector& b) {
    return a.template each<MaskOf<T>>([&](T x, int i) { return -(x >= b[i]); });
  }
  friend Mask operator==(const Vector& a, const Vector& b) {
    return a.template each<MaskOf<T>>([&](T x, int i) { return -(x == b[i]); });
  }
  friend Mask operator>=(const Vector& a, T b) {
    return a.template each<MaskOf<T>>([&](T x, int) { return -(x >= b); });
  }
  friend Mask operator!=(const Vector& a, T b) {
    return a.template each<MaskOf<T>>([&](T x, int) { return -(x != b); });
  }
};

template <class V, class T>
inline V splat(T value) {
  V result{};
  for (auto& lane : result.lane) lane = value;
  return result;
}

template <class Mask, class V>
inline V choose(const Mask& mask, const V& a, const V& b) {
  V result = b;
  for (int i = 0; i < static_cast<int>(sizeof a.lane / sizeof a.lane[0]); ++i)
    if (mask[i]) result[i] = a[i];
  return result;
}

template <class To, int kWidth, class From>
inline Vector<To, kWidth> convert_vector(const Vector<From, kWidth>& from) {
  return from.template each<To>([](From x, int) { return x; });
}

#endif

// The same bits as another vector.
template <class To, class From>
[[gnu::always_inline]] inline To as_vector(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace pysirus::PYSIRUS_ISA
