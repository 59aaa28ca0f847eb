// Lists of Python in, vectors out, and back. nanobind has the same, but promises there that nothing is thrown: a list for
// which there is no memory would end the process, where it must end in a MemoryError.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace nanobind::detail {

template <class T>
struct type_caster<std::vector<T>> {
  NB_TYPE_CASTER(std::vector<T>,
                 io_name("collections.abc.Sequence", "list") + const_name("[") + make_caster<T>::Name + const_name("]"))

  bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) {
    if (!PySequence_Check(source.ptr()) || PyUnicode_Check(source.ptr()) || PyBytes_Check(source.ptr())) return false;
    const object list = steal(PySequence_List(source.ptr()));
    if (!list.is_valid()) {
      PyErr_Clear();
      return false;
    }
    const Py_ssize_t n = PyList_Size(list.ptr());
    value.clear();
    value.reserve(static_cast<std::size_t>(n));
    flags = flags_for_local_caster<T>(flags);
    for (Py_ssize_t i = 0; i < n; ++i) {
      make_caster<T> caster;
      if (!caster.from_python(PyList_GetItem(list.ptr(), i), flags, cleanup) || !caster.template can_cast<T>())
        return false;
      value.push_back(caster.operator cast_t<T>());
    }
    return true;
  }

  template <class Given>
  static handle from_cpp(Given&& given, rv_policy policy, cleanup_list* cleanup) {
    object list = steal(PyList_New(static_cast<Py_ssize_t>(given.size())));
    if (!list.is_valid()) return handle();
    Py_ssize_t at = 0;
    for (auto&& entry : given) {
      const handle made = make_caster<T>::from_cpp(forward_like_<Given>(entry), policy, cleanup);
      if (!made.is_valid()) return handle();
      PyList_SetItem(list.ptr(), at++, made.ptr());
    }
    return list.release();
  }
};

}  // namespace nanobind::detail
