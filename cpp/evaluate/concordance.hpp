// Times, events and scores in, pairs in the right order out: Harrell's concordance. A pair counts where the earlier of
// two times is an event, or where of two equal times one is an event; it is right where the higher score goes first,
// and half right where scores are equal. O(n log n).
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace pysirus {

struct PairSums {
  double right = 0.0, tied = 0.0, all = 0.0;  // sums of products of weights
};

// Weights of rows by the rank of their score: sums of those below a rank take log(n) additions.
class RankSums {
 public:
  explicit RankSums(std::int64_t n) : below_(n + 1), at_(n) {}
  void add(std::int64_t rank, double weight) {
    at_[rank] += weight;
    total_ += weight;
    for (std::int64_t i = rank + 1; i < static_cast<std::int64_t>(below_.size()); i += i & -i) below_[i] += weight;
  }
  double below(std::int64_t rank) const {
    double sum = 0.0;
    for (std::int64_t i = rank; i > 0; i -= i & -i) sum += below_[i];
    return sum;
  }
  double at(std::int64_t rank) const { return at_[rank]; }
  double total() const { return total_; }

 private:
  std::vector<double> below_, at_;
  double total_ = 0.0;
};

inline PairSums concordance(std::int64_t n, const double* time, const std::uint8_t* event, const double* score,
                            const double* weight) {
  std::vector<std::int64_t> order(n), rank(n);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t k) { return score[i] < score[k]; });
  std::int64_t n_ranks = 0;
  for (std::int64_t at = 0; at < n; ++at) {
    if (at > 0 && score[order[at]] != score[order[at - 1]]) ++n_ranks;
    rank[order[at]] = n_ranks;
  }
  // the latest first; of equal times those without an event, which outlive the others
  std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t k) {
    if (time[i] != time[k]) return time[i] > time[k];
    return event[i] != event[k] ? event[i] < event[k] : i < k;
  });
  const auto of = [&](std::int64_t i) { return weight ? weight[i] : 1.0; };
  RankSums later(n_ranks + 1);
  PairSums sums;
  for (std::int64_t start = 0; start < n;) {
    std::int64_t end = start;
    for (; end < n && time[order[end]] == time[order[start]] && event[order[end]] == event[order[start]]; ++end) {
      const std::int64_t i = order[end];
      if (!event[i]) continue;
      sums.right += of(i) * later.below(rank[i]);
      sums.tied += of(i) * later.at(rank[i]);
      sums.all += of(i) * later.total();
    }
    for (; start < end; ++start) later.add(rank[order[start]], of(order[start]));
  }
  return sums;
}

}  // namespace pysirus
