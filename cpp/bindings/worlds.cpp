#include "bindings/worlds.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
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

// Answers that come one by one. Whoever gives them hears of it if they are not wanted any more.
class Answers {
 public:
  explicit Answers(const nb::object& iterable) : iterator_(nb::iter(iterable)) {}
  ~Answers() {
    if (!nb::hasattr(iterator_, "close")) return;
    try {
      iterator_.attr("close")();
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("World.ask");
    }
  }
  Answers(const Answers&) = delete;
  Answers& operator=(const Answers&) = delete;

  // The next one; not valid if there is none.
  nb::object next() {
    nb::object answer = nb::steal(PyIter_Next(iterator_.ptr()));
    if (!answer.is_valid() && PyErr_Occurred()) nb::raise_python_error();
    return answer;
  }

 private:
  nb::object iterator_;
};

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

std::vector<double> PythonWorld::shares(const std::string& question) const {
  const nb::gil_scoped_acquire gil;
  const auto shares = nb::cast<std::vector<double>>(world_.attr("shares")(question));
  const bool sound = std::ranges::all_of(shares, [](double share) { return share >= 0 && std::isfinite(share); });
  if (!sound || std::ranges::count(shares, 0.0) == std::ssize(shares)) {
    throw std::invalid_argument("the world's shares of the work are not positive numbers");
  }
  return shares;
}

void PythonWorld::ask(const std::string& question, const ArrayViews& common, const ArrayViews& changed,
                      std::vector<StateArrays> own, const Take& take) {
  const nb::gil_scoped_acquire gil;
  const std::size_t wanted = own.size();
  nb::list each;
  for (StateArrays& arrays : own) each.append(nb::cast(to_numpy(std::move(arrays))));
  std::size_t given = 0;
  try {
    Answers answers(world_.attr("ask")(question, arrays_to_keep(common), each, arrays_to_keep(changed)));
    for (nb::object answer = answers.next(); answer.is_valid(); answer = answers.next()) {
      const std::size_t number = given++;
      if (given > wanted) continue;
      auto arrays = copied_arrays(answer, "the answer of part " + std::to_string(number) + " to '" + question + "'");
      answer.reset();
      const nb::gil_scoped_release others;
      take(number, std::move(arrays));
    }
  } catch (nb::python_error& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) throw Interrupted();
    throw;
  }
  if (given != wanted) {
    throw std::invalid_argument("the world has given " + std::to_string(given) + " answers to '" + question +
                                "', and it was asked for " + std::to_string(wanted));
  }
  parts_ = count_parts();
}

std::optional<PythonWorld> world_of(nb::handle given) {
  if (given.is_none()) return std::nullopt;
  return PythonWorld(nb::borrow(given));
}

}  // namespace marginloom::python
