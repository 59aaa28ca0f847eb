// Rows with values and two numbers each in, sums of their products out: those of a Newton step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "forest/forest.hpp"
#include "weights/kernel.hpp"
#include "weights/nonnegative.hpp"

namespace pysirus {

inline const WeightKernel& weight_kernel_of([[maybe_unused]] const std::string& instruction_set) {
#if defined(PYSIRUS_AVX512)
  if (instruction_set == "avx512") return avx512::weight_kernel;
#endif
#if defined(PYSIRUS_AVX2)
  if (instruction_set == "avx2") return avx2::weight_kernel;
#endif
  return plain::weight_kernel;
}

// That of the best instruction set of this machine: all give the same bits.
inline const WeightKernel& weight_kernel_here() {
  static const WeightKernel& kernel = weight_kernel_of(instruction_sets()[0]);
  return kernel;
}

// Slopes and curvatures of one model, from rows that come one after the other and are added up some at a time.
class RowSums {
 public:
  void reset(std::int64_t n) {
    if (n != n_) {
      n_ = n;
      stride_ = (n + kRowsUnit - 1) / kRowsUnit * kRowsUnit;
      rows_.assign(kRows * stride_ + 8, 0.0);  // whole bytes of rules may end behind the last row
      scratch_.resize(kRows * stride_);
      slopes_.resize(kRows);
      curvatures_.resize(kRows);
    }
    products_.assign(stride_ * stride_, 0.0);
    sums_.assign(stride_, 0.0);
    n_rows_ = 0;
  }

  // Where the values of the next row go; what is behind them is 0, and stays so.
  double* next() { return rows_.data() + n_rows_ * stride_; }

  void add(double slope, double curvature) {
    slopes_[n_rows_] = slope;
    curvatures_[n_rows_] = curvature;
    if (++n_rows_ == kRows) flush();
  }

  void finish(Quadratic& model) {
    flush();
    std::copy_n(sums_.data(), n_, model.slope.data());
    for (std::int64_t i = 0; i < n_; ++i)
      std::copy_n(products_.data() + i * stride_, i + 1, model.curvature.data() + i * n_);
  }

 private:
  static constexpr std::int64_t kRows = 32;  // those of a list of 25 terms stay in the cache

  void flush() {
    const RowBlock block{n_rows_, n_, stride_, rows_.data(), slopes_.data(), curvatures_.data(), scratch_.data()};
    weight_kernel_here().add_products(block, products_.data(), sums_.data());
    n_rows_ = 0;
  }

  std::int64_t n_ = 0, stride_ = 0, n_rows_ = 0;
  std::vector<double> rows_, scratch_, slopes_, curvatures_, products_, sums_;
};

}  // namespace pysirus
