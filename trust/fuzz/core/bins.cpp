// A column of any type: bins are counts of cuts, order statistics are what a sort puts there.
#include "bins/encode.hpp"
#include "bins/quantiles.hpp"

#include "input.hpp"

namespace {

using namespace pysirus;
using fuzz::ensure;

template <class T>
std::vector<T> read_values(fuzz::Input& input, std::size_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto reals = input.reals(n, true);
    return {reals.begin(), reals.end()};
  } else {
    return input.numbers<T>(n, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  }
}

template <class T>
void check_encode(fuzz::Input& input, const std::vector<T>& values) {
  auto cuts = input.reals(input.number<std::size_t>(0, input.number<int>(0, 7) ? 20 : 255), false);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  const auto stride = input.number<std::size_t>(1, 3);
  const std::size_t n = values.size() / stride;
  const auto missing = input.number<std::uint8_t>(0, 255);
  std::vector<std::uint8_t> bins(n);
  encode_column(values.data(), static_cast<std::int64_t>(n), static_cast<std::int64_t>(stride), cuts.data(),
                static_cast<std::int32_t>(cuts.size()), missing, bins.data());
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(values[i * stride]);
    const auto bin = std::count_if(cuts.begin(), cuts.end(), [x](double cut) { return cut <= x; });
    ensure(bins[i] == (x == x ? bin : missing), "a bin is not the number of cuts at or below the value");
  }
}

template <class T>
void check_ranks(fuzz::Input& input, const std::vector<T>& values) {
  std::vector<T> known, sorted;
  std::copy_if(values.begin(), values.end(), std::back_inserter(known), [](T x) { return x == x; });
  if (known.empty()) return;
  sorted = known;
  std::sort(sorted.begin(), sorted.end());
  const auto most = static_cast<std::int64_t>(known.size()) - 1;
  auto ranks = input.numbers<std::int64_t>(input.number<std::size_t>(0, 24), 0, most);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  const auto found = order_statistics(known, ranks);
  ensure(found.size() == ranks.size(), "not as many numbers as ranks");
  for (std::size_t i = 0; i < ranks.size(); ++i)
    ensure(found[i] == sorted[static_cast<std::size_t>(ranks[i])], "an order statistic is wrong");
}

template <class T>
void check_column(fuzz::Input& input) {
  const auto n = input.number<std::size_t>(0, input.number<int>(0, 255) ? 40 : 9000);
  const auto values = read_values<T>(input, n);
  check_encode(input, values);
  check_ranks(input, values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  switch (input.number<int>(0, 5)) {
    case 0: check_column<float>(input); break;
    case 1: check_column<std::int64_t>(input); break;
    case 2: check_column<std::uint64_t>(input); break;
    case 3: check_column<std::int8_t>(input); break;
    case 4: check_column<std::uint16_t>(input); break;
    default: check_column<double>(input);
  }
  return 0;
}
