// Learners by name. The source file of a learner has one LearnerRegistration; nothing else names it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/example_numbers.hpp"
#include "core/named_bytes.hpp"
#include "core/parameters.hpp"
#include "core/task.hpp"
#include "learners/learner_kinds.hpp"

namespace marginloom {

// What a learner is given of every row, which is what users see as an example: its C_i, or its weight.
enum class RowNumbers { costs, instance_weights };

struct RegisteredLearner {
  std::string name;
  std::string kind;
  RowNumbers numbers;
  std::vector<ParameterType> parameters;
  std::function<AnyLearner(std::shared_ptr<const Task>, ExampleNumbers, const ParameterValues&)> make;
  std::function<NamedBytes(const Task&, int threads)> needs;  // null if only training shows them
};

[[nodiscard]] const std::vector<RegisteredLearner>& registered_learners();
// Throws std::invalid_argument if there is none of that name, or more than one.
[[nodiscard]] const RegisteredLearner& registered_learner(const std::string& name);
void register_learner(RegisteredLearner learner);

template <class Learner>
class LearnerRegistration {
  using Parameters = typename Learner::Parameters;
  using TaskPointer = std::shared_ptr<const Task>;
  using Kind = KindOf<Learner>;
  using Needs = std::function<NamedBytes(const Task&, int threads)>;

 public:
  LearnerRegistration(const char* name, RowNumbers numbers, ParameterList<Parameters> parameters,
                      Needs needs = nullptr) {
    auto types = parameters.types();
    register_learner(
        {name, kind_name<Kind>, numbers, std::move(types),
         [parameters = std::move(parameters)](TaskPointer task, ExampleNumbers rows, const ParameterValues& values) {
           return AnyLearner(made(std::move(task), std::move(rows), parameters.filled(values)));
         },
         std::move(needs)});
  }

 private:
  // Learners keep their numbers by row, or, those without a dual, by example.
  static std::shared_ptr<Kind> made(TaskPointer task, ExampleNumbers rows, Parameters parameters) {
    if constexpr (std::is_constructible_v<Learner, TaskPointer, ExampleNumbers, Parameters>) {
      return std::make_shared<Learner>(std::move(task), std::move(rows), std::move(parameters));
    } else {
      return std::make_shared<Learner>(std::move(task), std::move(rows).expanded(), std::move(parameters));
    }
  }
};

}  // namespace marginloom
