// Engines by name, for each kind of learner that they drive. The source file of an engine has one EngineRegistration
// for each kind; nothing else names it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/named_bytes.hpp"
#include "core/parameters.hpp"
#include "core/task.hpp"
#include "engines/engine.hpp"
#include "engines/part.hpp"
#include "engines/pass_order.hpp"
#include "learners/learner_kinds.hpp"

namespace marginloom {

// What every engine is given: a learner of a task, which rows to visit, in which order, and by how many threads.
template <class Learner>
struct Job {
  std::shared_ptr<const Task> task;
  std::shared_ptr<Learner> learner;
  std::vector<std::size_t> rows;
  OrderOptions order;
  int threads = 1;

  [[nodiscard]] std::vector<std::size_t> examples() const { return examples_of(*task, rows); }
};

using OnlineJob = Job<OnlineLearner>;
using BlockJob = Job<BlockLearner>;
using PassJob = Job<PassLearner>;

template <class Learner>
struct RegisteredEngine {
  std::string name;
  std::vector<ParameterType> parameters;  // of its options
  std::function<std::shared_ptr<Engine>(const Job<Learner>&, const ParameterValues&)> make;
  std::function<NamedBytes(const Task&, int threads, const ParameterValues&)> needs;
  // The half that answers the questions of the other one (engines/part.hpp); empty if the engine has no such halves.
  std::function<std::shared_ptr<Part>(const Job<Learner>&, const ParameterValues&)> make_part;
};

// Defined for every kind of learner. Looking up a name throws std::invalid_argument if no engine has it, or
// more than one.
template <class Learner>
[[nodiscard]] const std::vector<RegisteredEngine<Learner>>& registered_engines();
template <class Learner>
[[nodiscard]] const RegisteredEngine<Learner>& registered_engine(const std::string& name);
template <class Learner>
void register_engine(RegisteredEngine<Learner> engine);

struct NoOptions {};

template <class Learner, class Options = NoOptions>
class EngineRegistration {
  using Make = std::function<std::shared_ptr<Engine>(const Job<Learner>&, Options)>;
  using Needs = std::function<NamedBytes(const Task&, int threads, const Options&)>;
  using MakePart = std::function<std::shared_ptr<Part>(const Job<Learner>&, Options)>;

 public:
  EngineRegistration(const char* name, Make make) : EngineRegistration(name, {}, std::move(make)) {}
  EngineRegistration(const char* name, ParameterList<Options> parameters, Make make, Needs needs = nullptr,
                     MakePart make_part = nullptr) {
    RegisteredEngine<Learner> engine{
        name, parameters.types(),
        [parameters, make = std::move(make)](const Job<Learner>& job, const ParameterValues& values) {
          return make(job, parameters.filled(values));
        },
        [parameters, needs = std::move(needs)](const Task& task, int threads, const ParameterValues& values) {
          return needs ? needs(task, threads, parameters.filled(values)) : NamedBytes{};
        },
        nullptr};
    if (make_part) {
      engine.make_part = [parameters, make = std::move(make_part)](const Job<Learner>& job,
                                                                   const ParameterValues& values) {
        return make(job, parameters.filled(values));
      };
    }
    register_engine<Learner>(std::move(engine));
  }
};

}  // namespace marginloom
