// How much faster a forest grows on more threads, by the clock on the wall:
// `threads rows features trees drawn [threads ...]` prints seconds, processor seconds, the factor over one thread and a
// hash of all splits; trees draw `drawn` rows in blocks, 0: every row draws for itself. Then what the machine itself
// gives: as many whole forests at once, each on one thread, on one table and on tables of their own.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <thread>

#include "check/problem.hpp"

namespace {

using namespace pysirus;

constexpr int kRounds = 3;  // of which the fastest counts

struct Took {
  double seconds = 1e30, processor = 0.0;
};

Took fastest(const std::function<void()>& job) {
  Took best;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t used = std::clock();
    job();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds < best.seconds) best = {seconds, static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC};
  }
  return best;
}

std::unique_ptr<check::Problem> problem_of(char** argv) {
  auto problem = std::make_unique<check::Problem>();
  check::make_problem(*problem, std::atoll(argv[1]), std::atoi(argv[2]), 2, 0);
  if (const double drawn = std::atof(argv[4]); drawn > 0)
    check::draw_in_blocks(*problem, drawn * kDrawBlock / static_cast<double>(problem->table.n_rows));
  return problem;
}

// One forest a thread, all at once.
void grow_side_by_side(const std::vector<const check::Problem*>& problems, std::int64_t n_trees,
                       const std::string& set) {
  std::vector<std::thread> threads;
  for (const check::Problem* problem : problems) threads.emplace_back([=] { check::grow(*problem, n_trees, 1, set); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "threads rows features trees drawn [threads ...]\n");
    return 2;
  }
  std::vector<int> threads;
  for (int i = 5; i < argc; ++i) threads.push_back(std::atoi(argv[i]));
  if (threads.empty()) threads = {1, 2, 4, 8, 16};
  const auto problem = problem_of(argv);
  const std::int64_t n_trees = std::atoll(argv[3]);
  const std::string set = instruction_sets()[0];
  std::printf("%s x %s, %s trees that draw %s, %s\n", argv[1], argv[2], argv[3],
              problem->recipe.block_thresholds ? argv[4] : "all rows", set.c_str());
  std::printf("threads  seconds  processor  factor  hash\n");
  double first = 0.0;
  for (const int n_threads : threads) {
    std::uint64_t hash = 0;
    const Took took = fastest([&] { hash = check::hash_of(check::grow(*problem, n_trees, n_threads, set)); });
    if (first == 0.0) first = took.seconds;
    std::printf("%7d  %7.3f  %9.3f  %6.2f  %016llx\n", n_threads, took.seconds, took.processor, first / took.seconds,
                static_cast<unsigned long long>(hash));
    std::fflush(stdout);
  }
  const int most = *std::max_element(threads.begin(), threads.end());
  std::vector<std::unique_ptr<check::Problem>> copies;
  for (int i = 0; i < most; ++i) copies.emplace_back();
  std::vector<std::thread> makers;  // each makes its own, so that its memory lies near a thread
  for (auto& own : copies) makers.emplace_back([&own, argv] { own = problem_of(argv); });
  for (std::thread& maker : makers) maker.join();
  std::vector<const check::Problem*> shared(static_cast<std::size_t>(most), problem.get()), each;
  for (const auto& own : copies) each.push_back(own.get());
  const double at_once = fastest([&] { grow_side_by_side(shared, n_trees, set); }).seconds;
  const double apart = fastest([&] { grow_side_by_side(each, n_trees, set); }).seconds;
  std::printf("%d forests at once, a thread each: on one table %.2f times one, on tables of their own %.2f\n", most,
              most * first / at_once, most * first / apart);
}
