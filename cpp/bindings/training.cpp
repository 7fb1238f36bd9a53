// Training: what engines do, and what is said of it.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <cmath>
#include <stdexcept>

#include "bindings/bindings.hpp"
#include "bindings/structs.hpp"
#include "bindings/weights_for_python.hpp"
#include "bindings/worlds.hpp"
#include "core/example_numbers.hpp"
#include "core/objective.hpp"
#include "engines/engine.hpp"
#include "engines/part.hpp"
#include "learners/hildreth.hpp"

namespace marginloom::python {
namespace {

// Holds an engine, or a part of one, for one call; a second one at the same time is an error, since nothing in it is
// locked.
class Hold {
 public:
  explicit Hold(const Engine& engine) : Hold(engine.busy, "this engine is at work in another thread") {}
  explicit Hold(const Part& part) : Hold(part.busy, "this part is at work in another thread") {}
  ~Hold() { busy_ = false; }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  Hold(std::atomic<bool>& busy, const char* refusal) : busy_(busy) {
    if (busy.exchange(true)) throw std::runtime_error(refusal);
  }

  std::atomic<bool>& busy_;
};

// Does work(stop) without the GIL until it is done or told to stop, which what it returns says. `progress` is None or
// called with how far the work is.
template <class Work>
auto stoppable(const StopFlag* flag, nb::handle progress, Work work) {
  PythonSignals signals(flag);
  StopRequest stop = signals.request(progress);
  auto result = [&] {
    const nb::gil_scoped_release release;
    return work(stop);
  }();
  signals.finish();
  return result;
}

World* address(std::optional<PythonWorld>& world) {
  return world ? &*world : nullptr;
}

PassReport run_pass(Engine& engine, const StopFlag* flag, nb::handle given) {
  const Hold hold(engine);
  auto world = world_of(given);
  const WeightsForPython weights_for_python(engine.weights()->values(), engine.weights());
  return stoppable(flag, nb::none(), [&](StopRequest& stop) { return engine.run_pass(stop, address(world)); });
}

std::optional<Certificate> certify(Engine& engine, int threads, const StopFlag* flag, nb::handle progress,
                                   nb::handle given) {
  const Hold hold(engine);
  auto world = world_of(given);
  const WeightsForPython weights_for_python(engine.weights()->values(), engine.weights());
  return stoppable(flag, progress, [&](StopRequest& stop) { return engine.certify(threads, stop, address(world)); });
}

// The objective of any weights.
Primal primal(const Task& task, const InputArray<double>& weights, const InputArray<double>& costs, Loss loss,
              int threads, const StopFlag* flag, nb::handle progress, nb::handle given) {
  if (weights.size() != task.dimension()) throw std::invalid_argument("one weight per dimension of the task is needed");
  const auto numbers = checked_numbers(costs);
  const ExampleNumbers of_examples(numbers, task.examples_per_row());
  if (of_examples.size() != task.size()) throw std::invalid_argument("one cost per example is needed");
  if (!task.capabilities().gold) throw std::invalid_argument("the examples have no gold outputs");
  std::vector<std::size_t> examples;
  examples.reserve(of_examples.count_positive());
  for (std::size_t i = 0; i < of_examples.size(); ++i) {
    if (of_examples[i] > 0) examples.push_back(i);
  }
  const auto cost = [&](std::size_t i) { return of_examples[i]; };
  auto world = world_of(given);
  return stoppable(flag, progress, [&](StopRequest& stop) {
    return primal_value(task, view(weights), examples, cost, loss, threads, stop, address(world));
  });
}

// The duals of MIRA's quadratic programme, given its matrix row by row.
OutputArray<double> hildreth(const InputArray<double>& gram, const InputArray<double>& missing,
                             const InputArray<double>& costs, const InputArray<std::uint64_t>& examples,
                             double tolerance, int max_sweeps) {
  const std::size_t size = missing.size();
  if (gram.size() != size * size || costs.size() != size || examples.size() != size)
    throw std::invalid_argument("the parts of the programme differ in size");
  Hildreth programme;
  programme.reset(size);
  for (std::size_t j = 0; j < size; ++j) {
    programme.set(j, view(examples)[j], view(costs)[j], view(missing)[j], view(gram)[j * size + j]);
    for (std::size_t k = 0; k < j; ++k) programme.set_product(j, k, view(gram)[j * size + k]);
  }
  const auto duals = programme.solve({tolerance, max_sweeps});
  return to_numpy(std::vector<double>(duals.begin(), duals.end()));
}

// The weights being trained, as memory that lives as long as the array.
OutputArray<double> weights(const Engine& engine) {
  auto* buffer = new std::shared_ptr<WeightBuffer>(engine.weights());
  const nb::capsule owner(buffer,
                          [](void* memory) noexcept { delete static_cast<std::shared_ptr<WeightBuffer>*>(memory); });
  const auto values = (*buffer)->values();
  return OutputArray<double>(values.data(), {values.size()}, owner);
}

OutputArray<double> final_weights(const Engine& engine) {
  const Hold hold(engine);
  std::vector<double> result(engine.task().dimension());
  engine.final_weights(result);
  return to_numpy(std::move(result));
}

// Turns the weights being trained into those of a model, in place; nothing more can be done with the engine then.
void finish(Engine& engine) {
  const Hold hold(engine);
  if (!engine.weights_are_final()) engine.final_weights(engine.weights()->values());
}

OwnedArrays export_state(const Engine& engine) {
  const Hold hold(engine);
  return to_numpy(engine.export_state());
}

void import_state(Engine& engine, const GivenArrays& arrays) {
  const Hold hold(engine);
  engine.import_state(copied_arrays(arrays, "the state"));
}

// The arrays of a question, where they are.
class QuestionArrays {
 public:
  explicit QuestionArrays(const GivenArrays& arrays) {
    for (const nb::handle item : arrays.items()) {
      const nb::object key = item[0];
      const nb::object value = item[1];
      const std::string name(text_of(key));
      if (!take<double>(name, value) && !take<std::uint64_t>(name, value) && !take<std::uint8_t>(name, value)) {
        throw std::invalid_argument("'" + name + "' of the question is not an array of the right type");
      }
    }
  }

  [[nodiscard]] const ArrayViews& views() const { return views_; }
  // Lets Python code that the work calls have the weights without a copy.
  [[nodiscard]] std::unique_ptr<WeightsForPython> lend() const {
    const auto owner = owners_.find("weights");
    const auto* weights =
        owner == owners_.end() ? nullptr : std::get_if<std::span<const double>>(&views_.at("weights"));
    return weights ? std::make_unique<WeightsForPython>(*weights, owner->second) : nullptr;
  }

 private:
  template <class T>
  bool take(const std::string& name, nb::handle value) {
    auto array = std::make_shared<InputArray<T>>();
    if (!nb::try_cast<InputArray<T>>(value, *array, false)) return false;
    if (reinterpret_cast<std::uintptr_t>(array->data()) % alignof(T) != 0) {
      throw std::invalid_argument("'" + name + "' of the question is not aligned in memory");
    }
    views_[name] = view(*array);
    owners_[name] = std::move(array);
    return true;
  }

  ArrayViews views_;
  std::map<std::string, std::shared_ptr<const void>> owners_;
};

OwnedArrays answer(Part& part, const std::string& question, const GivenArrays& common, const GivenArrays& own,
                   const StopFlag* flag) {
  const Hold hold(part);
  const QuestionArrays shared(common);
  const QuestionArrays given(own);
  const auto lent = shared.lend();
  PythonSignals signals(flag);
  StopRequest stop = signals.request();
  try {
    StateArrays result;
    {
      const nb::gil_scoped_release release;
      result = part.answer(question, shared.views(), given.views(), stop);
    }
    signals.finish();
    return to_numpy(std::move(result));
  } catch (const Interrupted&) {
    signals.raise();
  }
}

void bind_reports(nb::module_& module) {
  bind_result(module, "ThreadTime", Field{"inference", &ThreadTime::inference}, Field{"update", &ThreadTime::update},
              Field{"publishing", &ThreadTime::publishing}, Field{"waiting", &ThreadTime::waiting});
  using Cascaded = CascadeReport;
  bind_result(module, "CascadeReport", Field{"solutions", &Cascaded::solutions}, Field{"runs", &Cascaded::runs},
              Field{"layers", &Cascaded::layers}, Field{"candidates", &Cascaded::candidates},
              Field{"support_vectors", &Cascaded::support_vectors}, Field{"sent", &Cascaded::sent},
              Field{"received", &Cascaded::received}, Field{"computing", &Cascaded::computing},
              Field{"last", &Cascaded::last}, Field{"seconds", &Cascaded::seconds});
  using Report = PassReport;
  bind_result(module, "PassReport", Field{"inferences", &Report::inferences}, Field{"updates", &Report::updates},
              Field{"wrong", &Report::wrong}, Field{"training_loss", &Report::training_loss},
              Field{"threads", &Report::threads}, Field{"found", &Report::found}, Field{"accepted", &Report::accepted},
              Field{"weights_age", &Report::weights_age}, Field{"stopped", &Report::stopped},
              Field{"primal_estimate", &Report::primal_estimate}, Field{"dual", &Report::dual},
              Field{"active", &Report::active}, Field{"working_set_bytes", &Report::working_set_bytes},
              Field{"cascade", &Report::cascade});
  bind_options(module, "Certificate", Field{"primal", &Certificate::primal}, Field{"dual", &Certificate::dual},
               Field{"proven", &Certificate::proven}, Field{"complete", &Certificate::complete});
  bind_result(module, "Primal", Field{"value", &Primal::value}, Field{"squared_norm", &Primal::squared_norm},
              Field{"complete", &Primal::complete});
}

}  // namespace

std::vector<std::size_t> checked_rows(const Task& task, const InputArray<std::uint64_t>& rows) {
  if (!task.capabilities().gold) throw std::invalid_argument("the examples have no gold outputs");
  for (const std::uint64_t r : view(rows)) {
    if (r >= task.size() / task.examples_per_row()) {
      throw std::invalid_argument("there is no example " + std::to_string(r));
    }
  }
  return {view(rows).begin(), view(rows).end()};
}

std::vector<double> checked_numbers(const InputArray<double>& numbers) {
  std::vector<double> result(view(numbers).begin(), view(numbers).end());
  for (const double number : result) {
    if (!(number >= 0) || !std::isfinite(number))
      throw std::invalid_argument("weights of examples must not be negative");
  }
  return result;
}

void bind_training(nb::module_& module) {
  bind_reports(module);
  bind_learners(module);
  module.def("hildreth", &hildreth, nb::arg("gram"), nb::arg("missing"), nb::arg("costs"), nb::arg("examples"),
             nb::arg("tolerance"), nb::arg("max_sweeps"));
  module.def("primal_value", &primal, nb::arg("task"), nb::arg("weights"), nb::arg("costs"), nb::arg("loss"),
             nb::arg("threads"), nb::arg("stop") = nb::none(), nb::arg("progress") = nb::none(),
             nb::arg("world") = nb::none());

  nb::class_<Engine>(module, "Engine")
      .def("run_pass", &run_pass, nb::arg("stop") = nb::none(), nb::arg("world") = nb::none())
      .def("certify", &certify, nb::arg("threads"), nb::arg("stop") = nb::none(), nb::arg("progress") = nb::none(),
           nb::arg("world") = nb::none())
      .def("final_weights", &final_weights)
      .def("finish", &finish)
      .def("export_state", &export_state)
      .def("import_state", &import_state)
      .def("forget_averages",
           [](Engine& engine) {
             const Hold hold(engine);
             engine.forget_averages();
           })
      .def_prop_ro("weights_are_final", &Engine::weights_are_final)
      .def_prop_ro("weights", &weights, nb::rv_policy::automatic);
  nb::class_<Part>(module, "Part")
      .def("answer", &answer, nb::arg("question"), nb::arg("common"), nb::arg("own"), nb::arg("stop") = nb::none());
  bind_engines(module);
}

}  // namespace marginloom::python
