// What is compiled once for each instruction set to weigh rules by likelihood: a loss at many scores, and sums of products
// of many rows. Each number comes from the same operations in the same order, whatever the set.
#pragma once

#include <cstdint>

namespace pysirus {

enum class LossName : std::uint8_t { logistic, poisson, gamma, tweedie, squared };

// A loss at some scores, its functions side by side (losses.hpp).
struct Curves {
  static constexpr std::int64_t kMost = 256;
  double a[kMost], a1[kMost], a2[kMost];
  double b[kMost], b1[kMost], b2[kMost];
};

// Rows of numbers, `n` of each followed by zeros up to `stride`, a multiple of kRowsUnit, and two numbers of each row.
struct RowBlock {
  std::int64_t n_rows, n, stride;
  const double* rows;               // [row][stride]
  const double *slope, *curvature;  // [row]
  double* scratch;                  // [row][stride]
};

constexpr std::int64_t kRowsUnit = 8;

struct WeightKernel {
  // At most Curves::kMost scores.
  void (*curves)(LossName name, double power, const double* eta, std::int64_t n, Curves& to);
  // The loss of cells, each at its own score.
  void (*values)(LossName name, double power, const double* eta, const double* weight, const double* sum,
                 std::int64_t n, double* value);
  // Adds (curvature[row] * rows[row][i]) * rows[row][j] to products[i][j] for every j <= i < n, and to some more, and
  // slope[row] * rows[row][j] to sums[j]: one row after the other.
  void (*add_products)(const RowBlock& block, double* products, double* sums);
};

namespace plain {
extern const WeightKernel weight_kernel;
}
namespace avx2 {
extern const WeightKernel weight_kernel;
}
namespace avx512 {
extern const WeightKernel weight_kernel;
}

}  // namespace pysirus
