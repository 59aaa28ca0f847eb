// What the bindings share: arrays in, arrays out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/checks.hpp"
#include "bindings/lists.hpp"
#include "evaluate/rules.hpp"

namespace pysirus::python {

namespace nb = nanobind;
using namespace nb::literals;

template <class T, int N>
using Array = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using AnyArray = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;  // of any number of dimensions
template <class T>
using Out = nb::ndarray<nb::numpy, T>;

// Moves a vector into a NumPy array of the given shape.
template <class T>
Out<T> to_numpy(std::vector<T>&& data, std::vector<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(data));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T>(owned->data(), shape.size(), shape.data(), owner);
}

template <class... Which>
auto pointer(const std::optional<nb::ndarray<Which...>>& array) {
  return array ? array->data() : nullptr;
}

template <class... Which>
Range range_of(const std::optional<nb::ndarray<Which...>>& array) {
  return array ? range_of(array->data(), array->size()) : Range{};
}

// A response of numbers is an entry per row; or several columns of these, [column][row].
template <class T>
std::size_t n_columns(const AnyArray<T>& value) {
  require(value.ndim() == 1 || value.ndim() == 2, "value must have one dimension, or two: columns and rows");
  return value.ndim() == 1 ? 1 : value.shape(0);
}
template <class T>
bool has_rows(const std::optional<AnyArray<T>>& value, std::size_t n_rows) {
  return !value || value->shape(value->ndim() - 1) == n_rows;
}

// A column, or a matrix, of whatever numbers.
using AnyColumn = nb::ndarray<nb::ro, nb::device::cpu>;

inline NumberType number_type(nb::dlpack::dtype dtype) {
  const bool real = dtype.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float);
  const bool is_signed = dtype.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Int);
  const bool is_unsigned = dtype.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt);
  switch (dtype.bits) {
    case 64:
      if (real) return NumberType::f64;
      if (is_signed) return NumberType::i64;
      if (is_unsigned) return NumberType::u64;
      break;
    case 32:
      if (real) return NumberType::f32;
      if (is_signed) return NumberType::i32;
      if (is_unsigned) return NumberType::u32;
      break;
    case 16:
      if (is_signed) return NumberType::i16;
      if (is_unsigned) return NumberType::u16;
      break;
    case 8:
      if (is_signed) return NumberType::i8;
      if (is_unsigned) return NumberType::u8;
      break;
    default: break;
  }
  throw std::invalid_argument("columns must hold integers or numbers of 32 or 64 bits");
}

inline ColumnView column_view(const AnyColumn& column, std::size_t n_rows) {
  require(column.ndim() == 1 && column.shape(0) == n_rows, "columns must have an entry per row");
  return {column.data(), column.stride(0), number_type(column.dtype())};
}

void bind_forest(nb::module_& m);
void bind_likelihood(nb::module_& m);
void bind_cox(nb::module_& m);
void bind_remember(nb::module_& m);

}  // namespace pysirus::python
