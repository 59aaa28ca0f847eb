// A range of trees, on several threads, with the best instruction set of this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "forest/level.hpp"
#include "forest/table.hpp"

namespace pysirus {

// Names of the instruction sets that this machine can run, best first; "plain" is always there.
std::vector<std::string> instruction_sets();

// Writes splits[tree][node] for n_trees trees from first_tree on. `interrupted` is asked on the calling thread about
// twenty times a second; once it says yes the threads stop and the function returns false.
// Where the recipe has lines: lines[tree] is the column whose line wins the tree, kNoLine where a cut does.
bool grow_forest(const Table& table, const Recipe& recipe, std::uint64_t first_tree, std::int64_t n_trees,
                 int n_threads, const std::string& instruction_set, const std::function<bool()>& interrupted,
                 std::int32_t* splits, std::int32_t* lines = nullptr);

// Adds up a level's sums over the rows of a table: sums[level.n_sums()], zero before. False when interrupted.
bool add_level(const Table& table, const Recipe& recipe, const Level& level, int n_threads,
               const std::string& instruction_set, const std::function<bool()>& interrupted, std::int64_t* sums);

}  // namespace pysirus
