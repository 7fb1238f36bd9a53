// Probabilities of outputs and their parts, for all examples of a task.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "bindings/bindings.hpp"
#include "bindings/inputs.hpp"
#include "bindings/structs.hpp"
#include "core/marginals.hpp"
#include "core/task.hpp"

namespace marginloom::python {
namespace {

// What is asked of all examples.
struct MarginalRequest {
  InputArray<double> scales = {};                    // inverse temperatures
  OptionalArray<double> offsets = {};                // of choices, see core/marginals.hpp
  OptionalArray<std::uint32_t> outputs = {};         // as choices, in a row
  OptionalArray<std::uint64_t> example_bounds = {};  // of the outputs of every example; without: one for each
  bool tables = false;                               // of all choices, for one scale
  std::size_t first = 0;                             // only examples from this one on, which the arrays are of
};

// The answers; log probabilities for one scale after the other.
struct TaskMarginals {
  OutputArray<double> parts;   // by output and part
  OutputArray<double> wholes;  // by output
  OutputArray<double> table;   // of all examples in a row
};

const Marginals& marginals_of(const Task& task) {
  const auto* marginals = dynamic_cast<const Marginals*>(&task);
  if (!marginals) throw std::invalid_argument("this task has no probabilities");
  const std::string why = marginals->why_no_marginals();
  if (!why.empty()) throw std::invalid_argument(why);
  return *marginals;
}

// Where the outputs, their parts and the tables of examples begin.
struct Places {
  std::vector<std::size_t> outputs{0}, parts{0}, tables{0};
};

Places checked_places(const Task& task, const Marginals& marginals, const MarginalRequest& request) {
  const auto bounds = view_or_empty(request.example_bounds);
  const auto choices = view_or_empty(request.outputs);
  const std::size_t examples = task.size() - std::min(request.first, task.size());
  if (request.example_bounds &&
      (bounds.size() != examples + 1 || bounds.front() != 0 || !std::ranges::is_sorted(bounds))) {
    throw std::invalid_argument("there must be bounds of the outputs of every example");
  }
  Places places;
  for (std::size_t k = 0; k < examples; ++k) {
    const std::size_t i = request.first + k;
    const std::size_t count = !request.outputs ? 0 : bounds.empty() ? 1 : bounds[k + 1] - bounds[k];
    const std::size_t parts = marginals.part_count(i);
    places.outputs.push_back(places.outputs.back() + count);
    places.parts.push_back(places.parts.back() + count * parts);
    places.tables.push_back(places.tables.back() + (request.tables ? parts * marginals.choice_count(i) : 0));
    if (places.parts.back() > choices.size()) break;
    for (std::size_t part = places.parts[k]; part < places.parts[k + 1]; ++part) {
      if (choices[part] == no_choice || choices[part] < marginals.choice_count(i)) continue;
      throw std::invalid_argument("choice " + std::to_string(choices[part]) + " of example " + std::to_string(i) +
                                  " is beyond the last one");
    }
  }
  if (places.parts.size() != examples + 1 || places.parts.back() != choices.size()) {
    throw std::invalid_argument("there must be a choice for every part of every output");
  }
  return places;
}

void check_request(const Marginals& marginals, const MarginalRequest& request) {
  const auto scales = view(request.scales);
  const auto offsets = view_or_empty(request.offsets);
  const auto is_scale = [](double scale) { return scale > 0 && std::isfinite(scale); };
  if (scales.empty() || !std::ranges::all_of(scales, is_scale)) {
    throw std::invalid_argument("inverse temperatures must be positive and finite");
  }
  if (!offsets.empty() && offsets.size() != marginals.offset_count()) {
    throw std::invalid_argument("there must be " + std::to_string(marginals.offset_count()) + " offsets, not " +
                                std::to_string(offsets.size()));
  }
  if (!std::ranges::all_of(offsets, [](double offset) { return std::isfinite(offset); })) {
    throw std::invalid_argument("offsets must be finite");
  }
  if (request.tables && scales.size() != 1) throw std::invalid_argument("tables are for one temperature");
}

TaskMarginals all_marginals(const Task& task, const InputArray<double>& weights, const MarginalRequest& request,
                            int threads) {
  const Marginals& marginals = marginals_of(task);
  require_weights(task, weights);
  check_request(marginals, request);
  const Places places = checked_places(task, marginals, request);
  const auto scales = view(request.scales);
  const auto choices = view_or_empty(request.outputs);
  const std::size_t outputs = places.outputs.back();
  std::vector<double> parts(scales.size() * choices.size());
  std::vector<double> wholes(scales.size() * outputs);
  std::vector<double> table(places.tables.back());
  const auto compute = [&](std::size_t k, Scratch& scratch) {
    const std::size_t i = request.first + k;
    marginals.score_choices(i, view(weights), scratch);
    const std::size_t first = places.parts[k];
    const std::size_t count = places.parts[k + 1] - first;
    const std::size_t own = places.outputs[k + 1] - places.outputs[k];
    for (std::size_t s = 0; s < scales.size(); ++s) {
      const MarginalQuery query{
          .outputs = choices.subspan(first, count),
          .parts = std::span(parts).subspan(s * choices.size() + first, count),
          .wholes = std::span(wholes).subspan(s * outputs + places.outputs[k], own),
          .table = std::span(table).subspan(places.tables[k], places.tables[k + 1] - places.tables[k])};
      marginals.marginals(i, {scales[s], view_or_empty(request.offsets)}, query, scratch);
    }
  };
  constexpr std::size_t chunk = 8;
  PythonSignals signals;
  StopRequest stop = signals.request();
  bool complete = false;
  {
    const nb::gil_scoped_release release;
    std::vector<std::unique_ptr<Scratch>> scratch(static_cast<std::size_t>(std::max(threads, 1)));
    complete = parallel_for(places.parts.size() - 1, chunk, threads, stop,
                            [&](int thread, std::size_t begin, std::size_t end) {
                              auto& own = scratch[static_cast<std::size_t>(thread)];
                              if (!own) own = task.make_scratch();
                              for (std::size_t k = begin; k < end; ++k) compute(k, *own);
                            });
  }
  signals.finish();
  if (!complete) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  return {
      .parts = to_numpy(std::move(parts)), .wholes = to_numpy(std::move(wholes)), .table = to_numpy(std::move(table))};
}

OutputArray<std::uint64_t> counts(const Task& task, std::size_t (Marginals::*count)(std::size_t) const) {
  const Marginals& marginals = marginals_of(task);
  std::vector<std::uint64_t> result(task.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = (marginals.*count)(i);
  return to_numpy(std::move(result));
}

}  // namespace

void bind_marginals(nb::module_& module, nb::class_<Task>& task) {
  using Request = MarginalRequest;
  bind_options(module, "MarginalRequest", Field{"scales", &Request::scales}, Field{"offsets", &Request::offsets},
               Field{"outputs", &Request::outputs}, Field{"example_bounds", &Request::example_bounds},
               Field{"tables", &Request::tables}, Field{"first", &Request::first});
  bind_result(module, "Marginals", Field{"parts", &TaskMarginals::parts}, Field{"wholes", &TaskMarginals::wholes},
              Field{"table", &TaskMarginals::table});
  task.def("marginals", &all_marginals, nb::arg("weights"), nb::arg("request"), nb::arg("threads") = 1)
      .def_prop_ro(
          "part_counts", [](const Task& self) { return counts(self, &Marginals::part_count); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "choice_counts", [](const Task& self) { return counts(self, &Marginals::choice_count); },
          nb::rv_policy::automatic)
      .def_prop_ro("offset_count",
                   [](const Task& self) {
                     const auto* marginals = dynamic_cast<const Marginals*>(&self);
                     return marginals ? marginals->offset_count() : std::size_t{0};
                   })
      .def_prop_ro("has_marginals",
                   [](const Task& self) {
                     const auto* marginals = dynamic_cast<const Marginals*>(&self);
                     return marginals && marginals->why_no_marginals().empty();
                   })
      .def_prop_ro("why_no_marginals", [](const Task& self) {
        const auto* marginals = dynamic_cast<const Marginals*>(&self);
        return marginals ? marginals->why_no_marginals() : std::string();
      });
}

}  // namespace marginloom::python
