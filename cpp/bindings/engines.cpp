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

template <class Learner>
Job<Learner> checked_job(const std::shared_ptr<Task>& task, const std::shared_ptr<Learner>& learner,
                         const InputArray<std::uint64_t>& examples, std::uint64_t seed, bool shuffle, int threads) {
  if (&learner->task() != task.get()) throw std::invalid_argument("the learner belongs to another task");
  return {task, learner, checked_rows(*task, examples), {.seed = seed, .shuffle = shuffle}, threads};
}

// An engine of a learner of the task, to visit these rows of it.
template <class Learner>
std::shared_ptr<Engine> make_engine(const std::string& name, const std::shared_ptr<Task>& task,
                                    const std::shared_ptr<Learner>& learner, const InputArray<std::uint64_t>& examples,
                                    std::uint64_t seed, bool shuffle, int threads, const ParameterValues& options) {
  return registered_engine<Learner>(name).make(checked_job(task, learner, examples, seed, shuffle, threads), options);
}

// The half of such an engine that answers the questions of the other one.
template <class Learner>
std::shared_ptr<Part> make_part(const std::string& name, const std::shared_ptr<Task>& task,
                                const std::shared_ptr<Learner>& learner, const InputArray<std::uint64_t>& examples,
                                std::uint64_t seed, bool shuffle, int threads, const ParameterValues& options) {
  const auto& engine = registered_engine<Learner>(name);
  if (!engine.make_part) throw std::invalid_argument("the engine " + name + " does not work in parts");
  return engine.make_part(checked_job(task, learner, examples, seed, shuffle, threads), options);
}

struct EngineName {
  std::string name;
  std::string kind;  // of the learners that it drives
  bool in_parts;     // whether it works in a world of parts
  std::vector<ParameterType> parameters;
};

template <class Learner>
void list(std::vector<EngineName>& names) {
  for (const auto& engine : registered_engines<Learner>()) {
    names.push_back({engine.name, kind_name<Learner>, engine.make_part != nullptr, engine.parameters});
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
  const auto bind = [&](const char* name, auto make) {
    module.def(name, make, nb::arg("name"), nb::arg("task"), nb::arg("learner"), nb::arg("examples"), nb::kw_only(),
               nb::arg("seed"), nb::arg("shuffle"), nb::arg("threads"), nb::arg("options"));
  };
  bind("make_engine", &make_engine<Learner>);
  bind("make_part", &make_part<Learner>);
}

}  // namespace

void bind_engines(nb::module_& module) {
  bind_result(module, "RegisteredEngine", Field{"name", &EngineName::name}, Field{"kind", &EngineName::kind},
              Field{"in_parts", &EngineName::in_parts}, Field{"parameters", &EngineName::parameters});
  module.def("registered_engines", &all_engines);
  bind_making<OnlineLearner>(module);
  bind_making<BlockLearner>(module);
  bind_making<PassLearner>(module);
  module.def("engine_needs", &engine_needs, nb::arg("name"), nb::arg("task"), nb::arg("threads"), nb::arg("options"));
}

}  // namespace marginloom::python
