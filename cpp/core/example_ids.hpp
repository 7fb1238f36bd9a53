// The names of a task's examples in states. An example is named by its place, unless the task has some of the examples
// of a larger set: then by the place there, so that states of parts fit together, and into the whole.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/state.hpp"

namespace marginloom {

class ExampleIds {
 public:
  explicit ExampleIds(std::size_t examples) : size_(examples) {}
  // Throws std::invalid_argument if two examples have the same name.
  explicit ExampleIds(std::vector<std::uint64_t> ids) : size_(ids.size()), ids_(std::move(ids)) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (!places_.emplace(ids_[i], i).second) throw std::invalid_argument("two examples have the same id");
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool is_part() const { return !ids_.empty(); }
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const { return is_part() ? ids_[i] : i; }

  // The place of an example here; none if it belongs to another part. Throws std::invalid_argument if there is no such
  // example at all, as far as is known.
  [[nodiscard]] std::optional<std::size_t> place(std::uint64_t id) const {
    if (is_part()) {
      const auto found = places_.find(id);
      return found == places_.end() ? std::nullopt : std::optional(found->second);
    }
    if (id >= size_)
      throw std::invalid_argument("the state has an example " + std::to_string(id) + " of " + std::to_string(size_));
    return id;
  }

  // A state that does not hold a whole set names its examples; what it holds of each follows in the same order.
  void add_to(StateArrays& state) const {
    if (is_part()) state["examples"] = ids_;
  }
  // The places here of the examples of a state that holds `count`, in its order.
  [[nodiscard]] std::vector<std::optional<std::size_t>> places_in(const StateArrays& state, std::size_t count) const {
    const auto held = held_by(state, count);
    if (!is_part() && !state.contains("examples") && count != size_) {
      throw std::invalid_argument("the state has " + std::to_string(count) + " examples, and there are " +
                                  std::to_string(size_));
    }
    std::vector<std::optional<std::size_t>> result;
    std::vector<std::uint8_t> seen(size_);
    for (const std::uint64_t id : held) {
      const auto here = result.emplace_back(place(id));
      if (here && std::exchange(seen[*here], 1)) throw std::invalid_argument("the state has an example twice");
    }
    return result;
  }
  // The names of the examples of a state that holds `count`.
  [[nodiscard]] static std::vector<std::uint64_t> held_by(const StateArrays& state, std::size_t count) {
    if (state.contains("examples")) {
      const auto& ids = state_array<std::uint64_t>(state, "examples");
      if (ids.size() != count) throw std::invalid_argument("'examples' of the state has another length");
      return ids;
    }
    std::vector<std::uint64_t> result(count);
    std::iota(result.begin(), result.end(), std::uint64_t{0});
    return result;
  }

 private:
  std::size_t size_;
  std::vector<std::uint64_t> ids_;  // empty: the examples are the whole set
  std::unordered_map<std::uint64_t, std::size_t> places_;
};

}  // namespace marginloom
