// How much faster a forest grows on more threads, by the clock on the wall:
// `threads rows features trees [threads ...]` prints seconds, the factor over one thread and a hash of all splits.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "check/problem.hpp"

namespace {

using namespace pysirus;

constexpr int kRounds = 3;  // of which the fastest counts

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "threads rows features trees [threads ...]\n");
    return 2;
  }
  std::vector<int> threads;
  for (int i = 4; i < argc; ++i) threads.push_back(std::atoi(argv[i]));
  if (threads.empty()) threads = {1, 2, 4, 8, 16};
  check::Problem problem;
  check::make_problem(problem, std::atoll(argv[1]), std::atoi(argv[2]), 2, 0);
  const std::string set = instruction_sets()[0];
  std::printf("%s x %s, %s trees, %s\nthreads  seconds  factor  hash\n", argv[1], argv[2], argv[3], set.c_str());
  double first = 0.0;
  for (const int n_threads : threads) {
    double best = 1e30;
    std::uint64_t hash = 0;
    for (int round = 0; round < kRounds; ++round) {
      const auto start = std::chrono::steady_clock::now();
      const auto splits = check::grow(problem, std::atoll(argv[3]), n_threads, set);
      best = std::min(best, seconds_since(start));
      hash = check::hash_of(splits);
    }
    if (first == 0.0) first = best;
    std::printf("%7d  %7.3f  %6.2f  %016llx\n", n_threads, best, first / best, static_cast<unsigned long long>(hash));
    std::fflush(stdout);
  }
}
