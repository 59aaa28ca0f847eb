// What this machine does at most: products of bytes that are added up in registers, a second, by the instruction that
// the forest uses. Compiled for the machine it runs on; the yardstick of benchmarks/roofline.py.
#include <cstdio>
#include <ctime>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

constexpr int kSums = 10;  // enough of them to hide the time one takes
constexpr long kRounds = 10'000'000;

#if defined(__AVX512VNNI__)
using Sums = __m512i;
constexpr int kProducts = 64;
Sums add(Sums sum, Sums a, Sums b) { return _mm512_dpbusd_epi32(sum, a, b); }
Sums some(int i) { return _mm512_set1_epi8(static_cast<char>(i)); }
#elif defined(__AVX2__)
using Sums = __m256i;
constexpr int kProducts = 32;
Sums add(Sums sum, Sums a, Sums b) { return _mm256_add_epi16(sum, _mm256_maddubs_epi16(a, b)); }
Sums some(int i) { return _mm256_set1_epi8(static_cast<char>(i)); }
#else
typedef short Sums __attribute__((vector_size(16)));
constexpr int kProducts = 8;
Sums add(Sums sum, Sums a, Sums b) { return sum + a * b; }
Sums some(int i) { return static_cast<short>(i) - Sums{}; }
#endif

// Says that a vector is in a register here, and hides what it holds: or the compiler would take rounds together.
void hold(Sums& vector) {
#if defined(__AVX512F__)
  asm volatile("" : "+v"(vector));
#elif defined(__SSE2__)
  asm volatile("" : "+x"(vector));
#else
  asm volatile("" : "+w"(vector));
#endif
}

double products_per_second() {
  // named one by one: GCC 12 leaves an array of them in memory
  Sums s0 = some(0), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0, s8 = s0, s9 = s0;
  Sums a = some(1);
  const Sums b = some(2);
  const auto step = [&](Sums& sum) {
    hold(a);
    sum = add(sum, a, b);
    hold(sum);
  };
  const std::clock_t start = std::clock();
  for (long round = 0; round < kRounds; ++round) {
    step(s0), step(s1), step(s2), step(s3), step(s4), step(s5), step(s6), step(s7), step(s8), step(s9);
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return static_cast<double>(kRounds) * kSums * kProducts / seconds;
}

}  // namespace

int main() {
  double best = 0.0;
  for (int i = 0; i < 5; ++i) {
    const double found = products_per_second();
    best = found > best ? found : best;
  }
  std::printf("%.4g\n", best);
}
