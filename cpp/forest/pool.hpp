// Numbered pieces of work on several threads, with a way out.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace pysirus {

// Joins its threads, whichever way it is left. (std::jthread does, where there is one: Apple's library has none.)
struct Threads {
  std::vector<std::thread> all;
  Threads() = default;
  Threads(const Threads&) = delete;
  ~Threads() {
    for (std::thread& thread : all) thread.join();
  }
};

// Each of n_threads threads calls make_worker() for a worker of its own, and that for pieces 0, 1, ... as long as there
// are some; `stop` is set when they should leave early. `interrupted` is asked on the calling thread about twenty times
// a second; once it says yes the threads stop and the answer is false. Where the system gives fewer threads they do it.
template <class MakeWorker, class Interrupted>
bool run_pieces(std::int64_t n_pieces, int n_threads, const Interrupted& interrupted, const MakeWorker& make_worker) {
  const auto n_workers = static_cast<int>(std::clamp<std::int64_t>(n_pieces, 1, std::max(1, n_threads)));
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::condition_variable done;
  int n_running = n_workers;
  std::exception_ptr failure;

  const auto work = [&] {
    try {
      auto worker = make_worker();
      for (std::int64_t piece = next++; piece < n_pieces && !stop; piece = next++) worker(piece, stop);
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      stop = true;
    }
    const std::lock_guard lock(mutex);
    if (--n_running == 0) done.notify_one();
  };

  {
    Threads workers;
    workers.all.reserve(static_cast<std::size_t>(n_workers));
    try {
      for (int i = 0; i < n_workers; ++i) workers.all.emplace_back(work);
    } catch (const std::system_error&) {
      const std::size_t n_started = workers.all.size();
      if (n_started == 0) throw std::runtime_error("the system starts no thread: it has too little memory or too many");
      const std::lock_guard lock(mutex);
      n_running -= n_workers - static_cast<int>(n_started);
    }
    std::unique_lock lock(mutex);
    while (!done.wait_for(lock, std::chrono::milliseconds(50), [&] { return n_running == 0; })) {
      lock.unlock();
      if (!stop && interrupted()) stop = true;
      lock.lock();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return !stop;
}

}  // namespace pysirus
