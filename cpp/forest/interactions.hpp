// Which features may stand in one path: settled where a node draws its candidates, from the features above it.
#pragma once

#include <cstdint>

#include "isa/isa.hpp"

namespace pysirus {

// Nothing set: any features may. Nothing here is owned.
struct InteractionConstraint {
  std::int32_t most = 0;                  // distinct features of a path; 0: any number
  std::int32_t n_words = 0;               // of 64 groups each; 0: there are no groups
  const std::uint64_t* groups = nullptr;  // [feature][word], the groups of a feature: those of a path share one
  const std::uint8_t* apart = nullptr;    // [feature][feature]: not in one path; beside itself: in none
};

namespace PYSIRUS_ISA {

constexpr int kMaxPath = 4;

inline bool is_limited(const InteractionConstraint& together) {
  return together.most || together.n_words || together.apart;
}

inline bool may_join(const InteractionConstraint& together, std::int32_t n_features, const std::int32_t* path,
                     int length, std::int32_t feature) {
  if (together.apart && together.apart[std::int64_t{feature} * n_features + feature]) return false;
  int n_distinct = 0;
  for (int i = 0; i < length; ++i) {
    if (path[i] == feature) return true;
    if (together.apart && together.apart[std::int64_t{path[i]} * n_features + feature]) return false;
    bool first = true;
    for (int k = 0; k < i; ++k) first &= path[k] != path[i];
    n_distinct += first;
  }
  if (together.most && n_distinct >= together.most) return false;
  if (!together.n_words) return true;
  for (std::int32_t word = 0; word < together.n_words; ++word) {
    std::uint64_t shared = together.groups[std::int64_t{feature} * together.n_words + word];
    for (int i = 0; i < length; ++i) shared &= together.groups[std::int64_t{path[i]} * together.n_words + word];
    if (shared) return true;
  }
  return false;
}

// The features that may be tried below a path, in rising order; how many.
inline std::int32_t list_allowed(const InteractionConstraint& together, std::int32_t n_features,
                                 const std::int32_t* path, int length, std::int32_t* allowed) {
  std::int32_t n = 0;
  for (std::int32_t feature = 0; feature < n_features; ++feature)
    if (may_join(together, n_features, path, length, feature)) allowed[n++] = feature;
  return n;
}

}  // namespace PYSIRUS_ISA

}  // namespace pysirus
