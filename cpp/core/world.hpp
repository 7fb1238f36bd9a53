// Training in several processes: a driver asks, parts answer.
//
// The driver has the learner and makes every decision. A part has the examples and settings, and nothing that changes,
// so its answer follows from the question alone: any process may give it, and it may be given twice. What travels are
// named arrays. Whoever works without a world calls the functions directly that parts answer with, and copies nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/state.hpp"
#include "core/task.hpp"

namespace marginloom {

using ArrayView = std::variant<std::span<const double>, std::span<const std::uint64_t>, std::span<const std::uint8_t>>;
using ArrayViews = std::map<std::string, ArrayView, std::less<>>;

class World {
 public:
  // Called with the number of an answer and the answer.
  using Take = std::function<void(std::size_t, StateArrays)>;

  virtual ~World() = default;
  [[nodiscard]] virtual std::size_t parts() const = 0;
  // How to divide the work of a question whose answers are used one by one: numbers in proportion to it, in the order
  // of the answers. There may be more of them than parts, and a part may have less work than another.
  [[nodiscard]] virtual std::vector<double> shares(const std::string& question) const;

  // Puts a question to all parts, divided as `own` is, and calls take(number, answer) for the answers in that order,
  // each as soon as it is there: parts may still work on those that follow. Where an array of `common` differs little
  // from the one of that name in the question before, `changed` may say where, as ChangedWeights::numbers(): a world
  // may then send these places alone. None of the arrays is read any more once the first answer is taken. Throws
  // Interrupted if it was stopped, and what take() throws.
  virtual void ask(const std::string& question, const ArrayViews& common, const ArrayViews& changed,
                   std::vector<StateArrays> own, const Take& take) = 0;
};

// The same, until all answers are there.
[[nodiscard]] std::vector<StateArrays> all_answers(World& world, const std::string& question, const ArrayViews& common,
                                                   const ArrayViews& changed, std::vector<StateArrays> own);

[[nodiscard]] ArrayViews views(const StateArrays& arrays);

// The array of that name and type; std::invalid_argument if there is none, or another number of values than expected.
template <class T>
[[nodiscard]] std::span<const T> array_of(const ArrayViews& arrays, std::string_view name) {
  const auto found = arrays.find(name);
  if (found == arrays.end()) throw std::invalid_argument("there is no array '" + std::string(name) + "'");
  const auto* values = std::get_if<std::span<const T>>(&found->second);
  if (!values) throw std::invalid_argument("the array '" + std::string(name) + "' has the wrong type");
  return *values;
}
template <class T>
[[nodiscard]] std::span<const T> array_of(const ArrayViews& arrays, std::string_view name, std::size_t size) {
  const auto values = array_of<T>(arrays, name);
  if (values.size() != size) {
    throw std::invalid_argument("the array '" + std::string(name) + "' has " + std::to_string(values.size()) +
                                " values instead of " + std::to_string(size));
  }
  return values;
}

// The weights of a question. Who receives them from another process looks whether they are finite.
[[nodiscard]] WeightView weights_of(const ArrayViews& common, const Task& task);
// The examples of a question; they must be those of the task.
[[nodiscard]] std::vector<std::size_t> examples_in(const ArrayViews& own, const Task& task);

// Calls take(answer); what it throws is told with the part and the question.
void take_answer(const std::string& question, std::size_t part, const StateArrays& answer,
                 const std::function<void(const ArrayViews&)>& take);
// The same for all answers in their order, take(part, answer). Nothing should be changed until all have been taken.
void take_answers(const std::string& question, const std::vector<StateArrays>& answers,
                  const std::function<void(std::size_t, const ArrayViews&)>& take);

// Where to cut a list of examples into as many shares of about the same work: `shares` + 1 places, which are multiples
// of `grain` but for the last.
[[nodiscard]] std::vector<std::size_t> cut_by_work(const Task& task, std::span<const std::size_t> examples,
                                                   std::size_t shares, std::size_t grain = 1);
// The same where the work of the shares is to be in proportion to these numbers, which are finite and not negative.
[[nodiscard]] std::vector<std::size_t> cut_by_work(const Task& task, std::span<const std::size_t> examples,
                                                   std::span<const double> shares, std::size_t grain = 1);
// The same for any list, given the work of each of its items.
[[nodiscard]] std::vector<std::size_t> cut_by_work(std::span<const double> work, std::span<const double> shares,
                                                   std::size_t grain = 1);
[[nodiscard]] std::vector<std::size_t> cut_by_work(std::span<const double> work, std::size_t shares,
                                                   std::size_t grain = 1);

}  // namespace marginloom
