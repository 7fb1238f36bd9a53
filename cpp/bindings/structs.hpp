// Structs that cross from Python to C++ or back: what a field is called on one side, it is called on the other.
//
// Arrays that C++ has made are fields of their own memory (to_numpy): reading such a field copies nothing, and what is
// kept of one array does not keep the others.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include "bindings/bindings.hpp"

namespace marginloom::python {

template <class Struct, class Value>
struct Field {
  const char* name;
  Value Struct::* member;
};

template <class Struct, class Value>
Field(const char*, Value Struct::*) -> Field<Struct, Value>;

template <class Value>
[[nodiscard]] auto argument_of_type(const char* name, const Value*) {
  return nb::arg(name);
}

template <class Value>
[[nodiscard]] auto argument_of_type(const char* name, const std::optional<Value>*) {
  return nb::arg(name).none();
}

// A struct that C++ makes: its fields can be read.
template <class Struct, class... Values>
nb::class_<Struct> bind_result(nb::module_& module, const char* name, Field<Struct, Values>... fields) {
  nb::class_<Struct> bound(module, name);
  (bound.def_prop_ro(
       fields.name, [member = fields.member](const Struct& self) { return self.*member; }, nb::rv_policy::automatic),
   ...);
  return bound;
}

// A struct that Python makes as well, which names every field: there are no defaults but those that users see.
template <class Struct, class... Values>
nb::class_<Struct> bind_options(nb::module_& module, const char* name, Field<Struct, Values>... fields) {
  nb::class_<Struct> bound = bind_result(module, name, fields...);
  bound.def(
      "__init__",
      [fields...](Struct* self, Values... values) {
        new (self) Struct{};
        ((self->*fields.member = std::move(values)), ...);
      },
      nb::kw_only(), argument_of_type(fields.name, static_cast<const Values*>(nullptr))...);
  return bound;
}

}  // namespace marginloom::python
