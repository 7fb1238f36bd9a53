// Worlds and parts: arrays that go to Python and come back (core/world.hpp).
#pragma once

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bindings/bindings.hpp"
#include "core/state.hpp"
#include "core/world.hpp"

namespace marginloom::python {

using OwnedArray = std::variant<OutputArray<double>, OutputArray<std::uint64_t>, OutputArray<std::uint8_t>>;
using OwnedArrays = std::map<std::string, OwnedArray>;
using GivenArrays = nb::typed<nb::mapping, nb::str, nb::object>;

// Arrays as Python owns them, without a copy.
[[nodiscard]] OwnedArrays to_numpy(StateArrays arrays);

// Copies of arrays of Python's. std::invalid_argument, with `whose` array it is, if one has another type.
[[nodiscard]] StateArrays copied_arrays(nb::handle arrays, const std::string& whose);

// A world that is a Python object with `parts`, `shares` and `ask`, which are called with the GIL held.
class PythonWorld final : public World {
 public:
  explicit PythonWorld(nb::object world);

  std::size_t parts() const override { return parts_; }
  std::vector<double> shares(const std::string& question) const override;
  void ask(const std::string& question, const ArrayViews& common, const ArrayViews& changed,
           std::vector<StateArrays> own, const Take& take) override;

 private:
  [[nodiscard]] std::size_t count_parts() const;

  nb::object world_;
  std::size_t parts_;  // for the next question: processes may come and go between two
};

// The world of an argument; none if it is None.
[[nodiscard]] std::optional<PythonWorld> world_of(nb::handle given);

}  // namespace marginloom::python
