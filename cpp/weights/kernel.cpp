// The loops of weights by likelihood, compiled once for each instruction set.
#include "weights/kernel.hpp"

#include "isa/vector.hpp"
#include "weights/losses.hpp"

namespace pysirus::PYSIRUS_ISA {
namespace {

constexpr std::int64_t kWidth = kVectorBytes / 8;
using Reals = Vector<double, kWidth>;

template <class Call>
void with_loss(LossName name, double power, Call call) {
  switch (name) {
    case LossName::logistic: return call(Logistic{});
    case LossName::poisson: return call(Poisson{});
    case LossName::gamma: return call(Gamma{});
    case LossName::tweedie: return call(Tweedie{power});
    case LossName::squared: return call(Squared{});
  }
}

void curves(LossName name, double power, const double* eta, std::int64_t n, Curves& to) {
  with_loss(name, power, [&](const auto& loss) {
    for (std::int64_t i = 0; i < n; ++i) {
      const Curve curve = loss.curve(eta[i]);
      to.a[i] = curve.a, to.a1[i] = curve.a1, to.a2[i] = curve.a2;
      to.b[i] = curve.b, to.b1[i] = curve.b1, to.b2[i] = curve.b2;
    }
  });
}

void values(LossName name, double power, const double* eta, const double* weight, const double* sum, std::int64_t n,
            double* value) {
  with_loss(name, power, [&](const auto& loss) {
    for (std::int64_t i = 0; i < n; ++i) value[i] = loss.value(eta[i], weight[i], sum[i]);
  });
}

[[gnu::always_inline]]
inline Reals read(const double* from) {
  Reals to;
  std::memcpy(&to, from, sizeof to);
  return to;
}

// A tile of the products: some rows of them, a vector wide, which stays in registers while the rows of the block pass by.
template <int kTile>
void add_tile(const RowBlock& block, std::int64_t i, std::int64_t j, double* products) {
  Reals sums[kTile];
  for (int t = 0; t < kTile; ++t) sums[t] = read(products + (i + t) * block.stride + j);
  for (std::int64_t row = 0; row < block.n_rows; ++row) {
    const Reals own = read(block.rows + row * block.stride + j);
    const double* scaled = block.scratch + row * block.stride + i;
    for (int t = 0; t < kTile; ++t) sums[t] += splat<Reals>(scaled[t]) * own;
  }
  for (int t = 0; t < kTile; ++t) std::memcpy(products + (i + t) * block.stride + j, &sums[t], sizeof sums[t]);
}

void add_products(const RowBlock& block, double* products, double* sums) {
  constexpr int kTile = kRowsUnit;
  for (std::int64_t row = 0; row < block.n_rows; ++row)
    for (std::int64_t i = 0; i < block.stride; ++i)
      block.scratch[row * block.stride + i] = block.curvature[row] * block.rows[row * block.stride + i];
  for (std::int64_t i = 0; i < block.n; i += kTile)
    for (std::int64_t j = 0; j < i + kTile; j += kWidth) add_tile<kTile>(block, i, j, products);
  for (std::int64_t j = 0; j < block.n; j += kWidth) {
    Reals sum = read(sums + j);
    for (std::int64_t row = 0; row < block.n_rows; ++row)
      sum += splat<Reals>(block.slope[row]) * read(block.rows + row * block.stride + j);
    std::memcpy(sums + j, &sum, sizeof sum);
  }
}

}  // namespace

extern const WeightKernel weight_kernel;
const WeightKernel weight_kernel = {curves, values, add_products};

}  // namespace pysirus::PYSIRUS_ISA
