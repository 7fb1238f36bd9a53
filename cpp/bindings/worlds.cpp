#include "bindings/worlds.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bindings/weights_for_python.hpp"
#include "core/interruption.hpp"

namespace marginloom::python {
namespace {

template <class T>
bool copy_array(StateArrays& to, const std::string& name, nb::handle value) {
  InputArray<T> array;
  if (!nb::try_cast<InputArray<T>>(value, array, false)) return false;
  to[name] = std::vector<T>(view(array).begin(), view(array).end());
  return true;
}

// For arrays that others own and that may change when the call is over; weights are lent where their owner is known.
nb::object array_to_keep(std::span<const double> values) {
  return WeightsForPython::array(values);
}
template <class T>
nb::object array_to_keep(std::span<const T> values) {
  return nb::cast(to_numpy(std::vector<T>(values.begin(), values.end())));
}

nb::dict arrays_to_keep(const ArrayViews& arrays) {
  nb::dict result;
  for (const auto& [name, array] : arrays) {
    result[name.c_str()] = std::visit([](const auto& values) { return array_to_keep(values); }, array);
  }
  return result;
}

}  // namespace

OwnedArrays to_numpy(StateArrays arrays) {
  OwnedArrays result;
  for (auto& [name, array] : arrays) {
    result.emplace(name, std::visit([](auto& values) { return OwnedArray(to_numpy(std::move(values))); }, array));
  }
  return result;
}

StateArrays copied_arrays(nb::handle arrays, const std::string& whose) {
  StateArrays result;
  for (const nb::handle item : nb::cast<nb::mapping>(arrays).items()) {
    const nb::object key = item[0];
    const nb::object value = item[1];
    const std::string name(text_of(key));
    if (!copy_array<double>(result, name, value) && !copy_array<std::uint64_t>(result, name, value) &&
        !copy_array<std::uint8_t>(result, name, value)) {
      throw std::invalid_argument("'" + name + "' of " + whose + " is not an array of the right type");
    }
  }
  return result;
}

PythonWorld::PythonWorld(nb::object world) : world_(std::move(world)), parts_(count_parts()) {}

std::size_t PythonWorld::count_parts() const {
  const auto parts = nb::cast<std::size_t>(world_.attr("parts"));
  if (parts == 0) throw std::invalid_argument("a world has at least one part");
  return parts;
}

std::vector<StateArrays> PythonWorld::ask(const std::string& question, const ArrayViews& common,
                                          const ArrayViews& changed, std::vector<StateArrays> own) {
  const nb::gil_scoped_acquire gil;
  nb::list each;
  for (StateArrays& arrays : own) each.append(nb::cast(to_numpy(std::move(arrays))));
  nb::object answers;
  try {
    answers = world_.attr("ask")(question, arrays_to_keep(common), each, arrays_to_keep(changed));
  } catch (nb::python_error& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) throw Interrupted();
    throw;
  }
  if (nb::len(answers) != nb::len(each)) {
    throw std::invalid_argument("the world has given " + std::to_string(nb::len(answers)) + " answers to '" + question +
                                "', and it was asked for " + std::to_string(nb::len(each)));
  }
  std::vector<StateArrays> result;
  for (const nb::handle answer : answers) {
    result.push_back(
        copied_arrays(answer, "the answer of part " + std::to_string(result.size()) + " to '" + question + "'"));
  }
  parts_ = count_parts();
  return result;
}

std::optional<PythonWorld> world_of(nb::handle given) {
  if (given.is_none()) return std::nullopt;
  return PythonWorld(nb::borrow(given));
}

}  // namespace marginloom::python
