// Bytes of a fuzzer in, sizes and arrays out. Arrays repeat a short run of bytes, so that inputs stay small, and what the
// fuzzer learns about one row holds for many.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

namespace pysirus::fuzz {

// Ends the process: the fuzzer keeps the input.
inline void ensure(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "WRONG: %s\n", what);
  std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data, size) {}

  template <class T>
  T number(T least, T most) {
    return data_.ConsumeIntegralInRange<T>(least, most);
  }
  bool yes() { return data_.ConsumeBool(); }

  // n numbers from least to most.
  template <class T>
  std::vector<T> numbers(std::size_t n, T least, T most) {
    std::vector<T> run(number<std::size_t>(1, 24));
    for (T& entry : run) entry = number<T>(least, most);
    std::vector<T> all(n);
    const auto step = number<std::size_t>(1, 7);
    for (std::size_t i = 0; i < n; ++i) all[i] = run[i * step % run.size()];
    return all;
  }

  double real(bool missing) {
    const double known[] = {0.0, -0.0, 1.0, 2.5, 1e300, -1e300, 5e-324, 0.1};
    const int choice = number<int>(0, 9);
    if (choice == 8) return missing ? std::numeric_limits<double>::quiet_NaN() : -7.0;
    if (choice == 9) return static_cast<double>(number<std::int32_t>(-1000, 1000)) / 8.0;
    return known[choice];
  }
  std::vector<double> reals(std::size_t n, bool missing) {
    std::vector<double> run(number<std::size_t>(1, 24));
    for (double& entry : run) entry = real(missing);
    std::vector<double> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = run[(i + i / run.size() * 5) % run.size()];
    return all;
  }

 private:
  FuzzedDataProvider data_;
};

}  // namespace pysirus::fuzz
