// Engines, by their names: a job, and options of their own.
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/structs.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom::python {
namespace {

// An engine of a learner of the task, to visit these rows of it.
template <class Learner>
std::shared_ptr<Engine> make_engine(const std::string& name, const std::shared_ptr<Task>& task,
                                    const std::shared_ptr<Learner>& learner, const InputArray<std::uint64_t>& examples,
                                    std::uint64_t seed, bool shuffle, int threads, const ParameterValues& options) {
  if (&learner->task() != task.get()) throw std::invalid_argument("the learner belongs to another task");
  const Job<Learner> job{task, learner, checked_rows(*task, examples), {.seed = seed, .shuffle = shuffle}, threads};
  return registered_engine<Learner>(name).make(job, options);
}

struct EngineName {
  std::string name;
  std::string kind;  // of the learners that it drives
  std::vector<ParameterType> parameters;
};

template <class Learner>
void list(std::vector<EngineName>& names) {
  for (const auto& engine : registered_engines<Learner>()) {
    names.push_back({engine.name, kind_name<Learner>, engine.parameters});
  }
}

std::vector<EngineName> all_engines() {
  std::vector<EngineName> names;
  list<OnlineLearner>(names);
  list<BlockLearner>(names);
  list<PassLearner>(names);
  return names;
}

// What an engine takes for learners of any kind, at most.
NamedBytes engine_needs(const std::string& name, const Task& task, int threads, const ParameterValues& options) {
  NamedBytes most;
  const auto note = [&](const auto& engines) {
    for (const auto& engine : engines) {
      if (engine.name != name) continue;
      for (const auto& [what, bytes] : engine.needs(task, threads, options)) most[what] = std::max(most[what], bytes);
    }
  };
  note(registered_engines<OnlineLearner>());
  note(registered_engines<BlockLearner>());
  note(registered_engines<PassLearner>());
  return most;
}

template <class Learner>
void bind_making(nb::module_& module) {
  module.def("make_engine", &make_engine<Learner>, nb::arg("name"), nb::arg("task"), nb::arg("learner"),
             nb::arg("examples"), nb::kw_only(), nb::arg("seed"), nb::arg("shuffle"), nb::arg("threads"),
             nb::arg("options"));
}

}  // namespace

void bind_engines(nb::module_& module) {
  bind_result(module, "RegisteredEngine", Field{"name", &EngineName::name}, Field{"kind", &EngineName::kind},
              Field{"parameters", &EngineName::parameters});
  module.def("registered_engines", &all_engines);
  bind_making<OnlineLearner>(module);
  bind_making<BlockLearner>(module);
  bind_making<PassLearner>(module);
  module.def("engine_needs", &engine_needs, nb::arg("name"), nb::arg("task"), nb::arg("threads"), nb::arg("options"));
}

}  // namespace marginloom::python
