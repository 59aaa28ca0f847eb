// Threads that work on blocks of trees. Each leads a block of its own; one that finds none left helps with the rows of
// the others' blocks. Sums are of integers, so they are the same whoever has added what.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "forest/kernel.hpp"
#include "forest/workspace.hpp"

namespace pysirus {

class Crew {
  struct OpenBlock {
    Memory memory;             // the leader's
    RowsToTake rows;           // of the level that is summed
    bool leader_done = false;  // has the leader summed what it took? Then helpers may add theirs
    int n_helpers = 0;
    std::mutex adding = {};

    OpenBlock(const Memory& memory, const Job& job) : memory(memory), rows(job.table.n_rows, job.stop) {}
  };

 public:
  Crew(const Kernel& kernel, std::int64_t n_blocks, int most_helpers)
      : kernel_(kernel), n_blocks_(n_blocks), most_helpers_(most_helpers) {}

  // A block and the thread that leads it.
  class Leader {
   public:
    Leader(Crew& crew, const Job& job, Workspace& own) : crew_(crew), job_(job), block_(own.memory(), job) {
      own.rows = &block_.rows;
      if (is_alone()) return;
      block_.rows.give_up();  // no level is summed as yet
      const std::lock_guard lock(crew.mutex_);
      crew.open_.push_back(&block_);
    }
    Leader(const Leader&) = delete;
    ~Leader() {  // also where something was thrown: helpers read this memory
      if (is_alone()) return;
      block_.rows.give_up();
      wait_for_helpers();
      const std::lock_guard lock(crew_.mutex_);
      std::erase(crew_.open_, &block_);
      ++crew_.n_done_;
      crew_.changed_.notify_all();
    }

    const Memory& memory() const { return block_.memory; }

    // Sums the level that the block has come to; false when the threads are to stop.
    bool sum_level() {
      if (is_alone())
        block_.rows.start_again();
      else
        call_helpers();
      crew_.kernel_.sum_rows(job_, block_.memory, block_.memory);
      if (!is_alone()) wait_for_helpers();
      return !job_.stop;
    }

   private:
    // On small tables nobody helps: locks would take a hundredth of the time.
    bool is_alone() const { return crew_.most_helpers_ == 0; }

    void call_helpers() {
      const std::lock_guard lock(crew_.mutex_);
      block_.leader_done = false;
      block_.rows.start_again();
      crew_.changed_.notify_all();
    }

    void wait_for_helpers() {
      std::unique_lock lock(crew_.mutex_);
      block_.leader_done = true;
      crew_.changed_.notify_all();
      crew_.changed_.wait(lock, [this] { return block_.n_helpers == 0; });
    }

    Crew& crew_;
    const Job& job_;
    OpenBlock block_;
  };

  // What each thread does: calls lead(number, leader) for blocks as long as there are some, then helps.
  template <class Lead>
  void work(const Job& job, Workspace& own, const Lead& lead) {
    for (std::int64_t number = next_++; number < n_blocks_ && !job.stop; number = next_++) {
      Leader leader(*this, job, own);
      lead(number, leader);
    }
    while (OpenBlock* block = join_block(job)) help(job, *block, own);
  }

 private:
  // The block with the fewest helpers, as soon as there is one that may have more; null once all blocks are done.
  OpenBlock* join_block(const Job& job) {
    std::unique_lock lock(mutex_);
    while (most_helpers_ > 0 && n_done_ < n_blocks_ && !job.stop) {
      OpenBlock* found = nullptr;
      for (OpenBlock* block : open_)
        if (block->rows.any_left() && block->n_helpers < (found ? found->n_helpers : most_helpers_)) found = block;
      if (found) {
        ++found->n_helpers;
        return found;
      }
      changed_.wait_for(lock, std::chrono::milliseconds(50));  // nobody says when `stop` is set
    }
    return nullptr;
  }

  void help(const Job& job, OpenBlock& block, Workspace& own) {
    struct Leave {
      Crew& crew;
      OpenBlock& block;
      ~Leave() {
        const std::lock_guard lock(crew.mutex_);
        --block.n_helpers;
        crew.changed_.notify_all();
      }
    } const leave{*this, block};
    own.rows = &block.rows;
    kernel_.sum_rows(job, block.memory, own.memory());
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return block.leader_done; });
    }
    const std::lock_guard lock(block.adding);
    kernel_.add_sums(job, block.memory, own.memory());
  }

  const Kernel& kernel_;
  const std::int64_t n_blocks_;
  const int most_helpers_;  // of a block
  std::atomic<std::int64_t> next_{0};
  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  std::vector<OpenBlock*> open_;
  std::int64_t n_done_ = 0;
};

}  // namespace pysirus
