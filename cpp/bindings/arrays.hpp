// What the bindings share: arrays in, arrays out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/checks.hpp"

namespace pysirus::python {

namespace nb = nanobind;
using namespace nb::literals;

template <class T, int N>
using Array = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T>;

// Moves a vector into a NumPy array of the given shape.
template <class T>
Out<T> to_numpy(std::vector<T>&& data, std::vector<std::size_t> shape) {
  auto* owned = new std::vector<T>(std::move(data));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T>(owned->data(), shape.size(), shape.data(), owner);
}

template <class T>
const T* pointer(const std::optional<Array<T, 1>>& array) {
  return array ? array->data() : nullptr;
}

template <class T>
Range range_of(const std::optional<Array<T, 1>>& array) {
  return array ? range_of(array->data(), array->shape(0)) : Range{};
}

void bind_forest(nb::module_& m);
void bind_likelihood(nb::module_& m);
void bind_cox(nb::module_& m);

}  // namespace pysirus::python
