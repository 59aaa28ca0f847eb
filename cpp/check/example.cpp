// The worked example of cpp/README.md: eight rows, two features, two trees, every number that leads to their paths.
// `example` prints it; `example FILE` fails if FILE does not hold it word for word.
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "bins/encode.hpp"
#include "forest/forest.hpp"
#include "forest/paths.hpp"
#include "forest/reference.hpp"

namespace {

using namespace pysirus;

constexpr std::int64_t kRows = 8;
constexpr std::int32_t kFeatures = 2;
constexpr std::int64_t kTrees = 2;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
const double kHeat[kRows] = {14, 17, 18, 21, 22, 26, 28, 31};
const double kWind[kRows] = {12, 9, kMissing, 14, 6, 8, kMissing, 5};
const double kHeatCuts[] = {20, 25};
const double kWindCuts[] = {10};
const std::int32_t kValue[kRows] = {-3, -2, -3, -1, 1, 2, 2, 4};
const std::int32_t kBins[kFeatures] = {3, 3};  // wind: below the cut, above it, missing
const std::uint8_t kHasMissing[kFeatures] = {0, 1};
const std::int32_t kOffset[kFeatures + 1] = {0, 2, 5};
const char* const kSplitNames[] = {"heat < 20", "heat < 25", "wind < 10", "wind < 10 or missing", "wind is known"};
const char* const kFeatureNames[] = {"heat", "wind"};

std::string text;

[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text += line;
}

void end_line() {
  text.erase(text.find_last_not_of(' ') + 1);
  text += '\n';
}

void say_table(const Table& table) {
  say("row        ");
  for (int row = 0; row < kRows; ++row) say("%9d", row);
  end_line();
  const double* columns[] = {kHeat, kWind};
  for (int f = 0; f < kFeatures; ++f) {
    say("%-11s", kFeatureNames[f]);
    for (int row = 0; row < kRows; ++row)
      columns[f][row] == columns[f][row] ? say("%9g", columns[f][row]) : say("%9s", "-");
    end_line();
    say("bin        ");
    for (int row = 0; row < kRows; ++row) say("%9d", table.bins[f * kRows + row]);
    end_line();
  }
  say("response   ");
  for (const std::int32_t value : kValue) say("%9d", value);
  end_line();
  say("\nsplit ");
  for (int split = 0; split < kOffset[kFeatures]; ++split)
    say("%s%d: %s", split ? ", " : "", split, kSplitNames[split]);
  end_line();
  say("A path goes through a split on its left (code 2 * split) or on its right (code 2 * split + 1).\n");
}

// Every split of a candidate, from its cells.
void say_splits(const Table& table, std::int32_t feature, const reference::Sums& node,
                const std::vector<reference::Sums>& cells) {
  const std::int32_t n_cuts = n_known_bins(table, feature) - 1;
  for (std::int32_t local = 0; local < kOffset[feature + 1] - kOffset[feature]; ++local) {
    reference::Sums left(2);
    for (std::size_t bin = 0; bin < cells.size(); ++bin)
      if (goes_left(static_cast<std::int32_t>(bin), local, n_cuts)) reference::add_to(left, cells[bin].data());
    const std::int32_t split = kOffset[feature] + local;
    say("    split %d, %-21s n_L %2lld  s_L %3lld", split, (std::string(kSplitNames[split]) + ":").c_str(),
        static_cast<long long>(left[0]), static_cast<long long>(left[1]));
    const std::int64_t n_right = node[0] - left[0], s_right = node[1] - left[1];
    const std::int64_t d = left[1] * n_right - s_right * left[0];
    if (left[0] == 0 || n_right == 0)
      say("  one side is empty\n");
    else
      say("  D = %lld * %lld - %lld * %lld = %lld  D^2 / (n_L n_R) = %lld / %lld = %.4f\n",
          static_cast<long long>(left[1]), static_cast<long long>(n_right), static_cast<long long>(s_right),
          static_cast<long long>(left[0]), static_cast<long long>(d), static_cast<long long>(d * d),
          static_cast<long long>(left[0] * n_right), reference::score_of(node, left));
  }
}

void say_node(const Table& table, const Recipe& recipe, std::uint64_t key, int node,
              const std::vector<reference::DrawnRow>& rows) {
  reference::Sums total(2);
  say("  node %d: rows", node);
  for (const auto& r : rows) say(" %lld", static_cast<long long>(r.row));
  for (const auto& r : rows) reference::add_row(table, r.row, r.count, total.data());
  say("; n = %lld, s = %lld\n", static_cast<long long>(total[0]), static_cast<long long>(total[1]));
  if (total[0] <= recipe.min_node_size)
    return say("    not split: it holds no more than %d drawn rows\n", recipe.min_node_size);
  if (reference::is_constant(table, rows)) return say("    not split: all rows answer the same\n");
  std::vector<std::int32_t> candidates(static_cast<std::size_t>(recipe.max_features));
  reference::draw_candidates(key, kFeatures, recipe.max_features, candidates.data());
  for (const std::int32_t feature : candidates) {
    std::vector<reference::Sums> cells(static_cast<std::size_t>(kBins[feature]), reference::Sums(2));
    for (const auto& r : rows)
      reference::add_row(table, r.row, r.count, cells[table.bins[feature * kRows + r.row]].data());
    say("    %s, draws %08x; (size, sum) of each bin:", kFeatureNames[feature],
        tie_bits(key, static_cast<std::uint32_t>(feature)));
    for (const auto& cell : cells)
      say(" (%lld, %lld)", static_cast<long long>(cell[0]), static_cast<long long>(cell[1]));
    end_line();
    say_splits(table, feature, total, cells);
  }
}

void say_tree(const Table& table, const Recipe& recipe, std::uint64_t tree, const std::vector<std::int32_t>& splits) {
  const std::uint64_t key = tree_key(recipe.seed, tree);
  say("\ntree %llu, key %016llx\n", static_cast<unsigned long long>(tree), static_cast<unsigned long long>(key));
  say("  bits     ");
  for (std::uint32_t row = 0; row < kRows; ++row)
    say("%9x", row_bits(static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32), row));
  end_line();
  say("  count    ");
  for (std::uint64_t row = 0; row < kRows; ++row)
    say("%9lld", static_cast<long long>(reference::draw_count(recipe, key, row)));
  end_line();
  auto rows = reference::draw_rows(table, recipe, key);
  for (int node = 0; node < static_cast<int>(splits.size()); ++node) {
    std::vector<reference::DrawnRow> inside;
    for (const auto& r : rows)
      if (r.node == node) inside.push_back(r);
    if (node > 0 && splits[static_cast<std::size_t>((node - 1) / 2)] == kNoSplit) continue;
    say_node(table, recipe, node_key(key, static_cast<std::uint64_t>(node)), node, inside);
    const std::int32_t split = splits[static_cast<std::size_t>(node)];
    if (split == kNoSplit) continue;
    say("    best: split %d, %s\n", split, kSplitNames[split]);
    for (auto& r : rows)
      if (r.node == node) r.node = 2 * node + (reference::row_goes_left(table, recipe, split, r.row) ? 1 : 2);
  }
}

void say_paths(const std::vector<std::int32_t>& splits, int depth) {
  PathCounts counts;
  counts.add_forest(splits.data(), kTrees, depth);
  say("\npaths, and in how many of the trees they stand\n");
  for (const auto& [path, count] : counts.sorted()) {
    std::string words, codes;
    for (const std::int32_t code : path) {
      if (code < 0) continue;
      codes += codes.empty() ? "" : " ";
      codes += std::to_string(code);
      words += words.empty() ? "" : " and ";
      words += code % 2 ? "not " : "";
      words += kSplitNames[code / 2];
    }
    say("  %lld  codes %-5s %s\n", static_cast<long long>(count), codes.c_str(), words.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::uint8_t> bins(kFeatures * kRows);
  encode_column(kHeat, kRows, 1, kHeatCuts, 2, std::uint8_t{0}, bins.data());
  encode_column(kWind, kRows, 1, kWindCuts, 1, std::uint8_t{2}, bins.data() + kRows);
  const Table table{bins.data(), kRows, 0, kFeatures, kBins, kHasMissing, kValue, nullptr, 1, nullptr};
  const Recipe recipe{
      1, 2, 2, 2, 6, {1580030168u, 3160060337u, 3950075421u, 4213413783u, 4279248373u, 4292415291u}, kOffset};
  say_table(table);
  std::vector<std::int32_t> splits;
  for (std::uint64_t tree = 0; tree < kTrees; ++tree) {
    const auto more = reference::grow_tree(table, recipe, tree);
    say_tree(table, recipe, tree, more);
    splits.insert(splits.end(), more.begin(), more.end());
  }
  say_paths(splits, recipe.max_depth);
  if (argc < 2) return std::fputs(text.c_str(), stdout) < 0;

  int n_wrong = 0;
  for (const auto& set : instruction_sets()) {
    std::vector<std::int32_t> grown(splits.size());
    grow_forest(table, recipe, 0, kTrees, 1, set, [] { return false; }, grown.data());
    n_wrong += grown != splits;
  }
  std::ifstream file(argv[1]);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const bool found = page.find(text) != std::string::npos;
  std::printf("example: %d kernels grow other trees; %s %s it\n", n_wrong, argv[1], found ? "holds" : "does not hold");
  return n_wrong || !found;
}
