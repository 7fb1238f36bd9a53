#include "tasks/custom/custom_task.hpp"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "bindings/python_calls.hpp"
#include "bindings/weights_for_python.hpp"
#include "core/task.hpp"

namespace marginloom::python {
namespace {

void sum_repeated(CustomTask::Vector& vector) {
  const auto before = [](const auto& left, const auto& right) { return left.index < right.index; };
  if (!std::ranges::is_sorted(vector, before)) std::ranges::stable_sort(vector, before);
  std::size_t last = 0;
  for (std::size_t k = 1; k < vector.size(); ++k) {
    if (vector[k].index == vector[last].index) {
      vector[last].value += vector[k].value;
    } else {
      vector[++last] = vector[k];
    }
  }
  if (!vector.empty()) vector.resize(last + 1);
}

// Appends left - right without zeros.
void append_difference(const CustomTask::Vector& left, const CustomTask::Vector& right, std::vector<Entry>& entries) {
  auto a = left.begin();
  auto b = right.begin();
  while (a != left.end() || b != right.end()) {
    const bool take_a = b == right.end() || (a != left.end() && a->index <= b->index);
    const bool take_b = a == left.end() || (b != right.end() && b->index <= a->index);
    const WeightIndex index = take_a ? a->index : b->index;
    const double value = (take_a ? a++->value : 0.0) - (take_b ? b++->value : 0.0);
    if (value != 0) entries.push_back({index, value});
  }
}

ByteView bytes_of(const nb::bytes& output) {
  return {static_cast<const std::uint8_t*>(output.data()), output.size()};
}

double dot_product(std::span<const Entry> entries, WeightView w) {
  double sum = 0;
  for (const Entry& entry : entries) sum += entry.value * w[entry.index];
  return sum;
}

}  // namespace

// One candidate that owns its parts.
struct CustomTask::Found {
  double violation = 0;
  double loss = 0;
  double squared_norm = 0;
  std::vector<std::uint8_t> output;
  std::vector<Entry> difference;

  void hand_over(std::size_t i, CandidateSink& sink) const {
    sink.accept({.example = i,
                 .loss = loss,
                 .squared_norm = squared_norm,
                 .key = output_key(output),
                 .output = output,
                 .difference = difference});
  }
};

struct CustomTask::Buffers final : Scratch {
  Vector features;
  std::vector<Found> found;
};

CustomTask::CustomTask(nb::object oracle, std::size_t size, std::size_t dimension, Options options)
    : oracle_(std::move(oracle)), size_(size), dimension_(dimension), options_(options), gold_(size) {
  if (dimension == 0 || dimension - 1 > std::numeric_limits<WeightIndex>::max()) {
    throw std::invalid_argument("dimension must be between 1 and 2^32, not " + std::to_string(dimension));
  }
}

Capabilities CustomTask::capabilities() const {
  return {.gold = options_.gold,
          .exact = options_.exact,
          .bounded = options_.exact,
          .k_best = options_.k_best,
          .needs_gil = true};
}

std::unique_ptr<Scratch> CustomTask::make_scratch() const {
  return std::make_unique<Buffers>();
}

nb::object CustomTask::call(const char* method, const nb::tuple& arguments) const {
  if (!oracle_) throw std::logic_error("the Python part of this task is gone");
  const PythonCall call;
  try {
    return oracle_.attr(method)(*arguments);
  } catch (nb::python_error& error) {
    if (error.matches(PyExc_KeyboardInterrupt)) interrupt_other_calls();
    throw;
  }
}

void CustomTask::read_vector(nb::handle indices, nb::handle values, Vector& vector) const {
  const auto where = nb::cast<InputArray<std::int64_t>>(indices);
  const auto what = nb::cast<InputArray<double>>(values);
  if (where.size() != what.size()) throw std::logic_error("a feature vector's arrays differ in length");
  vector.clear();
  for (std::size_t k = 0; k < where.size(); ++k) {
    const std::int64_t index = view(where)[k];
    if (index < 0 || static_cast<std::size_t>(index) >= dimension_) throw std::logic_error("there is no such feature");
    vector.push_back({static_cast<WeightIndex>(index), view(what)[k]});
  }
  sum_repeated(vector);
}

const CustomTask::Vector& CustomTask::gold_features(std::size_t i) const {
  if (!gold_[i]) {
    const nb::object found = call("gold_features", nb::make_tuple(i));
    auto vector = std::make_unique<Vector>();
    read_vector(found[0], found[1], *vector);
    vector->shrink_to_fit();
    // Python may have let another thread run, which then had the same idea; what is there may be in use.
    if (!gold_[i]) gold_[i] = std::move(vector);
  }
  return *gold_[i];
}

CustomTask::Found CustomTask::build(std::size_t i, ByteView output, double loss, nb::handle indices, nb::handle values,
                                    Buffers& buffers) const {
  Found result;
  result.loss = loss;
  result.output.assign(output.begin(), output.end());
  const Vector& gold = gold_features(i);
  read_vector(indices, values, buffers.features);
  append_difference(gold, buffers.features, result.difference);
  for (const Entry& entry : result.difference) result.squared_norm += entry.value * entry.value;
  return result;
}

// Fills buffers.found, most violated first, and returns the largest violation, gold's own 0 included.
double CustomTask::search(std::size_t i, WeightView w, const FindOptions& options, Buffers& buffers) const {
  const nb::gil_scoped_acquire gil;
  buffers.found.clear();
  const nb::object outputs =
      call("search", nb::make_tuple(i, WeightsForPython::array(w), options.loss_scale, std::max(options.k, 1)));
  double greatest = 0;
  for (const nb::handle item : outputs) {
    const auto output = nb::cast<nb::bytes>(item[0]);
    Found found = build(i, bytes_of(output), nb::cast<double>(item[1]), item[2], item[3], buffers);
    found.violation = options.loss_scale * found.loss - dot_product(found.difference, w);
    greatest = std::max(greatest, found.violation);
    buffers.found.push_back(std::move(found));
  }
  std::ranges::stable_sort(buffers.found, std::greater<>(), &Found::violation);
  return greatest;
}

double CustomTask::find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
                        CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  const double bound = search(i, w, options, buffers);
  for (const Found& found : buffers.found) {
    if (found.violation >= options.min_violation) found.hand_over(i, sink);
  }
  return bound;
}

bool CustomTask::candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  buffers.found.clear();
  {
    const nb::gil_scoped_acquire gil;
    const nb::object rebuilt = call("rebuild", nb::make_tuple(i, nb::bytes(output.data(), output.size())));
    if (rebuilt.is_none()) return false;
    buffers.found.push_back(build(i, output, nb::cast<double>(rebuilt[0]), rebuilt[1], rebuilt[2], buffers));
  }
  buffers.found.front().hand_over(i, sink);
  return true;
}

void CustomTask::predict(std::size_t i, WeightView w, int k, Scratch&, std::vector<Output>& outputs) const {
  const nb::gil_scoped_acquire gil;
  outputs.clear();
  const nb::object best = call("predict", nb::make_tuple(i, WeightsForPython::array(w), k));
  for (const nb::handle item : best) {
    const auto encoded = nb::cast<nb::bytes>(item[0]);
    Output& output = outputs.emplace_back();
    output.bytes.assign(bytes_of(encoded).begin(), bytes_of(encoded).end());
    output.score = nb::cast<double>(item[1]);
    output.upper_bound = options_.exact ? outputs.front().score : std::numeric_limits<double>::infinity();
  }
}

namespace {

// The user's task owns the native one, whose oracle refers to the user's task: only Python's collector can free them.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  Py_VISIT(nb::inst_ptr<CustomTask>(self)->oracle().ptr());
  return 0;
}

int clear(PyObject* self) {
  if (nb::inst_ready(self)) nb::inst_ptr<CustomTask>(self)->release_oracle();
  return 0;
}

PyType_Slot collector_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

std::pair<OutputArray<std::uint32_t>, OutputArray<double>> gold_features(const CustomTask& task, std::size_t i) {
  if (i >= task.size()) throw nb::index_error("there is no such example");
  if (!task.capabilities().gold) throw std::invalid_argument("the examples have no gold outputs");
  std::vector<std::uint32_t> indices;
  std::vector<double> values;
  for (const CustomTask::Term& term : task.gold_features(i)) {
    indices.push_back(term.index);
    values.push_back(term.value);
  }
  return {to_numpy(std::move(indices)), to_numpy(std::move(values))};
}

void bind(nb::module_& module) {
  nb::class_<CustomTask, Task>(module, "CustomTask", nb::type_slots(collector_slots))
      .def(
          "__init__",
          [](CustomTask* self, nb::object oracle, std::size_t size, std::size_t dimension, bool gold, bool exact,
             bool k_best) {
            new (self) CustomTask(std::move(oracle), size, dimension, {.gold = gold, .exact = exact, .k_best = k_best});
          },
          nb::arg("oracle"), nb::arg("size"), nb::arg("dimension"), nb::arg("gold"), nb::arg("exact"),
          nb::arg("k_best"))
      .def("gold_features", &gold_features, nb::arg("example"));
}

const TaskBinding binding(bind);

}  // namespace
}  // namespace marginloom::python
