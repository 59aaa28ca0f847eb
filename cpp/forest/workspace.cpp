// What a kernel asks of code that is compiled for every machine.
#include "forest/workspace.hpp"

namespace pysirus {

std::int64_t take_chunk(Workspace& workspace, const Table& table) {
  const std::int64_t first = workspace.rows->take();
  if (first >= 0 && workspace.sorted.rows.empty())
    workspace.sorter.start_chunk(table, first, std::min(kChunk, table.n_rows - first));
  return first;
}

SortedColumn sorted_column(Workspace& workspace, const Table& table, std::int64_t first, std::int32_t feature) {
  const auto view = [](const SortedRows& sorted) -> SortedColumn {
    return {sorted.runs.data(), static_cast<std::int64_t>(sorted.runs.size()), sorted.rows.data(), sorted.digits.data(),
            static_cast<std::int64_t>(sorted.rows.size())};
  };
  if (!workspace.sorted.rows.empty())
    return view(workspace.sorted.rows[static_cast<std::size_t>(first / kChunk * table.n_features + feature)]);
  workspace.sorter.sort(table, feature, workspace.sorted_chunk);
  return view(workspace.sorted_chunk);
}

bool is_set(const std::atomic<bool>& stop) { return stop.load(std::memory_order_relaxed); }

}  // namespace pysirus
