// Numbers and ranks in, the numbers of those ranks out, by selection: most numbers are only counted.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace pysirus {

// Puts the numbers of the given ranks (rising) where a sort would; halves the ranks, so each number is looked at about
// log2(ranks) times.
template <class T>
void select_ranks(T* begin, T* end, const std::int64_t* rank, const std::int64_t* last, std::int64_t offset) {
  if (rank == last || begin == end) return;
  const std::int64_t* middle = rank + (last - rank) / 2;
  T* at = begin + (*middle - offset);
  std::nth_element(begin, at, end);
  select_ranks(begin, at, rank, middle, offset);
  select_ranks(at + 1, end, middle + 1, last, *middle + 1);
}

// Equal steps between two values, the first and the last open. Rounding keeps order, so whoever is in a lower step is
// smaller.
struct Steps {
  static constexpr std::int32_t kCount = 4096;
  double low, scale;

  Steps(double first, double last) : low(first / 2), scale(kCount / (last / 2 - first / 2)) {  // halves: no overflow
    if (!std::isfinite(scale)) scale = 0.0;
  }

  std::uint16_t of(double x) const {
    // in this order an infinite number, which may become NaN, is still in a step
    return static_cast<std::uint16_t>(std::min(kCount - 1.0, std::max(0.0, (x / 2 - low) * scale)));
  }
};

// Steps over most of a sample: a few values far out must not put all others into one step.
template <class T>
Steps steps_of(const std::vector<T>& values) {
  constexpr std::size_t kSample = 1024;
  T sample[kSample];
  for (std::size_t i = 0; i < kSample; ++i) sample[i] = values[i * values.size() / kSample];
  std::sort(sample, sample + kSample);
  return {static_cast<double>(sample[kSample / 64]), static_cast<double>(sample[kSample - 1 - kSample / 64])};
}

// The values of the steps in which ranks fall; the ranks become ranks among them.
template <class T>
std::vector<T> sift(const std::vector<T>& values, std::vector<std::int64_t>& ranks) {
  const Steps steps = steps_of(values);
  std::vector<std::uint16_t> step(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) step[i] = steps.of(static_cast<double>(values[i]));
  std::vector<std::int64_t> size(Steps::kCount);
  for (const std::uint16_t s : step) ++size[s];
  std::vector<std::uint8_t> wanted(Steps::kCount);
  std::int64_t begin = 0, left_out = 0, n_kept = 0;
  std::size_t r = 0;
  for (std::size_t s = 0; s < size.size(); ++s) {
    for (; r < ranks.size() && ranks[r] < begin + size[s]; ++r) {
      wanted[s] = 1;
      ranks[r] -= left_out;
    }
    (wanted[s] ? n_kept : left_out) += size[s];
    begin += size[s];
  }
  std::vector<T> kept(static_cast<std::size_t>(n_kept) + 1);  // one more: a value is written before it is refused
  std::size_t at = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    kept[at] = values[i];
    at += wanted[step[i]];
  }
  kept.resize(at);
  return kept;
}

template <class T>
std::vector<T> selected(std::vector<T>& values, const std::vector<std::int64_t>& ranks) {
  select_ranks(values.data(), values.data() + values.size(), ranks.data(), ranks.data() + ranks.size(), 0);
  std::vector<T> found;
  for (const std::int64_t rank : ranks) found.push_back(values[static_cast<std::size_t>(rank)]);
  return found;
}

// The numbers of the given ranks (rising, each once) among `values`, none of which is NaN; `values` is used up.
template <class T>
std::vector<T> order_statistics(std::vector<T>& values, std::vector<std::int64_t> ranks) {
  constexpr std::size_t kFew = 4096;
  if (values.size() > kFew) values = sift(values, ranks);
  return selected(values, ranks);
}

}  // namespace pysirus
