// Exponential and logarithm that give the same bits on every machine: additions, multiplications and divisions in a
// fixed order, each rounded once (-ffp-contract=off). Those of the C library differ between processors and versions.
// Errors stay below one unit in the last place (tests/core/test_exp_log.py). No branch depends on the argument, so that
// loops over arrays turn into vector code.
#pragma once

#include <cstdint>
#include <limits>

#include "isa/isa.hpp"

namespace pysirus::PYSIRUS_ISA {

namespace series {

// The bits of a number as another number: std::bit_cast without a function of the standard library (isa/isa.hpp).
template <class To, class From>
constexpr To bits_as(From from) {
  return __builtin_bit_cast(To, from);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kLargest = std::numeric_limits<double>::max();
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

constexpr double kLn2High = 0x1.62e42feep-1;       // 32 bits of ln 2: its products with exponents are exact
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;  // the rest
constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kRound = 0x1.8p52;  // x + kRound - kRound is x rounded to a whole number

// 2^n for a whole number -1022 <= n <= 1023: the sum has n + 1023 in its last bits. Conversions between 64-bit
// integers and doubles, and arithmetic shifts, would keep compilers from vector code on older processors.
inline double power_of_two(double n) { return bits_as<double>(bits_as<std::uint64_t>(n + (kRound + 1023.0)) << 52); }

// log(m) for m in [1/sqrt 2, sqrt 2) without its leading term m - 1: with f = m - 1, s = f / (2 + f) and z = s s,
// log(1 + f) = 2 s + 2/3 s z + 2/5 s z^2 + ... and 2 s = f - s f. The sum of the series is s * tail(z).
inline double log_tail(double z) {
  const double z2 = z * z, z4 = z2 * z2;
  const double a = (2.0 / 3 + z * (2.0 / 5)) + z2 * (2.0 / 7 + z * (2.0 / 9));
  const double b = (2.0 / 11 + z * (2.0 / 13)) + z2 * (2.0 / 15 + z * (2.0 / 17));
  const double c = (2.0 / 19 + z * (2.0 / 21)) + z2 * (2.0 / 23 + z * (2.0 / 25));
  return z * (a + z4 * (b + z4 * c));
}

// log(u) for positive normal u. With a rest, of at most half a unit in the last place of u, log(u + rest) for u in
// [1, 2].
template <bool has_rest>
inline double log_of(double u, double rest = 0.0) {
  // the exponent that leaves a mantissa in [1/sqrt 2, sqrt 2), plus 1023
  constexpr std::uint64_t one = bits_as<std::uint64_t>(1.0);
  const std::uint64_t bits = bits_as<std::uint64_t>(u);
  const std::uint64_t n = (bits - bits_as<std::uint64_t>(0x1.6a09e667f3bcdp-1) + one) >> 52;
  const double m = bits_as<double>(bits - (n << 52) + one);
  const double e = bits_as<double>(n | bits_as<std::uint64_t>(0x1p52)) - (0x1p52 + 1023.0);
  const double f = m - 1.0, s = f / (2.0 + f), half = 0.5 * f * f;
  double last = e * kLn2Low;
  // rest / u, where 1 / m is (1 - s) / (1 + s), and three digits of it are enough
  if constexpr (has_rest) last += rest * power_of_two(-e) * ((1.0 - s) * (1.0 - s + s * s));
  // f - f^2/2 + s (f^2/2 + tail), the small parts first
  const double small = s * (half + log_tail(s * s)) + last;
  return e * kLn2High + (f - (half - small));
}

}  // namespace series

// e^x; 0 below -745.2, infinity above 709.79.
inline double own_exp(double x) {
  using namespace series;
  const double low = x < -746.0 ? -746.0 : x, inside = low > 710.0 ? 710.0 : low;  // not a number stays what it is
  const double whole = (inside * kLog2E + kRound) - kRound;
  const double high = inside - whole * kLn2High, rest = whole * kLn2Low, r = high - rest;
  const double r2 = r * r, r4 = r2 * r2;
  // 1/2 + r/6 + r^2/24 + ... up to r^11/13!, in pairs so that the chain is short
  const double a = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
  const double b = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
  const double c = (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
  const double tail = r2 * (a + r4 * (b + r4 * c));
  const double value = 1.0 + (high + (tail - rest));
  // 2^whole in two steps, as it may lie outside the exponents of normal numbers
  const double first = (whole * 0.5 + kRound) - kRound;
  return value * power_of_two(first) * power_of_two(whole - first);
}

// log(x); minus infinity at 0, not a number below.
inline double own_log(double x) {
  const bool tiny = x < 0x1p-1022;
  const double value = series::log_of<false>(tiny ? x * 0x1p54 : x) - (tiny ? 54 * 0.69314718055994530942 : 0.0);
  if (x > 0.0 && x <= series::kLargest) return value;
  if (x == 0.0) return -series::kInfinity;
  return x > 0.0 ? x : series::kNotANumber;
}

// log(1 + t) for t in [0, 1].
inline double own_log1p(double t) {
  const double u = 1.0 + t;
  return series::log_of<true>(u, t - (u - 1.0));
}

}  // namespace pysirus::PYSIRUS_ISA
