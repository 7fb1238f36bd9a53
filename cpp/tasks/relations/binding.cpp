// The task of finding types and relations of spans, and features of spans, for Python.
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/inputs.hpp"
#include "bindings/python_calls.hpp"
#include "bindings/resources.hpp"
#include "bindings/structs.hpp"
#include "core/common.hpp"
#include "tasks/relations/branch_and_bound.hpp"
#include "tasks/relations/python_solver.hpp"
#include "tasks/relations/relations.hpp"
#include "tasks/relations/span_extractor.hpp"

namespace marginloom::python {
namespace {

OutputArray<double> without_padding(const std::vector<double>& padded_rows, std::size_t stride, std::size_t columns) {
  std::vector<double> rows;
  for (std::size_t first = 0; first < padded_rows.size(); first += stride) {
    const auto row = padded_rows.begin() + static_cast<std::ptrdiff_t>(first);
    rows.insert(rows.end(), row, row + static_cast<std::ptrdiff_t>(columns));
  }
  return to_numpy(std::move(rows));
}

std::vector<std::uint8_t> numbers_below(nb::handle given, std::size_t count, std::size_t limit) {
  const auto bytes = nb::cast<nb::bytes>(given);
  const auto* first = static_cast<const std::uint8_t*>(bytes.data());
  std::vector<std::uint8_t> numbers(first, first + bytes.size());
  if (numbers.size() != count || std::ranges::any_of(numbers, [=](std::uint8_t number) { return number >= limit; })) {
    throw std::logic_error("a solver returned something else than a type for every span and a label for every pair");
  }
  return numbers;
}

}  // namespace

JointOptimum PythonSolver::solve(const TypeTable& table, const JointScores& scores, Scratch&,
                                 JointOutput& output) const {
  JointOptimum found;
  {
    const nb::gil_scoped_acquire gil;
    const PythonCall call;
    try {
      const nb::object result = search_(without_padding(scores.types, scores.type_stride, table.types()),
                                        without_padding(scores.pairs, scores.pair_stride, table.labels()));
      const std::size_t pairs = scores.pairs.size() / std::max<std::size_t>(scores.pair_stride, 1);
      output.types = numbers_below(result[0], scores.spans, table.types());
      output.labels = numbers_below(result[1], pairs, table.labels());
      found.bound = nb::cast<double>(result[2]);
      found.complete = nb::cast<bool>(result[3]);
    } catch (nb::python_error& error) {
      if (error.matches(PyExc_KeyboardInterrupt)) interrupt_other_calls();
      throw;
    }
  }
  std::size_t pair = 0;
  for (std::size_t a = 0; a < scores.spans; ++a) {
    for (std::size_t b = 0; b < scores.spans; ++b) {
      if (a != b && !table.allows(output.labels[pair++], output.types[a], output.types[b])) {
        throw std::logic_error("a solver returned a relation between types that the table forbids");
      }
    }
  }
  found.score = score_of(scores, output);
  found.bound = std::max(found.bound, found.score);
  return found;
}

namespace {

// RelationsData as arrays, which it keeps.
struct RelationsArrays {
  InputArray<std::uint64_t> sentences = {};
  InputArray<std::uint64_t> span_rows = {};
  InputArray<std::uint32_t> span_features = {};
  InputArray<std::uint64_t> pair_rows = {};
  InputArray<std::uint32_t> pair_features = {};
  OptionalArray<std::uint8_t> types = {};
  OptionalArray<std::uint8_t> labels = {};

  [[nodiscard]] RelationsData data() const {
    return {.sentences = view(sentences),
            .spans = {view(span_rows), view(span_features)},
            .pairs = {view(pair_rows), view(pair_features)},
            .gold = types.has_value(),
            .types = view_or_empty(types),
            .labels = view_or_empty(labels)};
  }
};

struct RelationsChoices {
  std::size_t types = 1;
  std::size_t labels = 1;
  std::vector<std::array<std::uint8_t, 3>> table = {};
  std::size_t span_features = 0;
  std::size_t pair_features = 0;
  double entity_loss = 1;
  double pair_loss = 1;
  double missed_loss = 1;

  [[nodiscard]] TypeTable type_table() const {
    std::vector<TypeTable::Line> lines;
    for (const auto& [label, head, tail] : table) lines.push_back({label, head, tail});
    return {types, labels, lines};
  }
};

// One search, for comparisons of solvers.
struct SolvedSentence {
  nb::bytes output;
  double score = 0;
  double bound = 0;
  bool complete = true;
  std::size_t nodes = 0;
  double seconds = 0;  // in the solver, without making scores
};

SolvedSentence solve(const RelationsTask& task, std::size_t i, const InputArray<double>& weights, double loss_scale) {
  if (i >= task.size()) throw nb::index_error("there is no such example");
  require(weights.size() == task.dimension(), "the task has another number of weights");
  require(loss_scale == 0 || task.capabilities().gold, "the examples have no gold outputs");
  RelationsTask::Solved solved = [&] {
    const nb::gil_scoped_release release;
    return task.solve(i, view(weights), loss_scale);
  }();
  std::vector<std::uint8_t>& bytes = solved.output.types;
  bytes.insert(bytes.end(), solved.output.labels.begin(), solved.output.labels.end());
  return {nb::bytes(bytes.data(), bytes.size()),
          solved.optimum.score,
          solved.optimum.bound,
          solved.optimum.complete,
          solved.optimum.nodes,
          solved.seconds};
}

void make_span_extractor(SpanExtractor* self, const std::string& templates, std::size_t word_column,
                         std::optional<std::size_t> pos_column, std::optional<std::size_t> feats_column,
                         const Vocabulary& cluster_words, std::vector<std::string> cluster_paths,
                         const NamedPhrases& gazetteers) {
  AtomColumns columns{word_column, pos_column, std::nullopt, {}};
  if (feats_column) columns.written.emplace("feats", *feats_column);
  new (self) SpanExtractor(parse_templates(templates, Scope::spans), std::move(columns),
                           make_resources(cluster_words, std::move(cluster_paths), gazetteers));
}

// The spans of sentences, as arrays.
struct SpanArrays {
  InputArray<std::uint64_t> offsets = {};
  InputArray<std::uint32_t> starts = {};
  InputArray<std::uint32_t> ends = {};

  [[nodiscard]] SpanTable table() const { return {view(offsets), view(starts), view(ends)}; }
};

using RowArrays = std::pair<OutputArray<std::uint64_t>, OutputArray<std::uint32_t>>;

RowArrays to_arrays(SparseRows rows) {
  return {to_numpy(std::move(rows.tokens)), to_numpy(std::move(rows.features))};
}

SpanExtractor::Kind kind_of(bool pairs) {
  return pairs ? SpanExtractor::Kind::pair : SpanExtractor::Kind::span;
}

void bind_extractor(nb::module_& module) {
  bind_options(module, "SpanArrays", Field{"offsets", &SpanArrays::offsets}, Field{"starts", &SpanArrays::starts},
               Field{"ends", &SpanArrays::ends});
  nb::class_<SpanExtractor>(module, "SpanExtractor")
      .def("__init__", &make_span_extractor, nb::arg("templates"), nb::arg("word_column"), nb::arg("pos_column").none(),
           nb::arg("feats_column").none(), nb::arg("cluster_words"), nb::arg("cluster_paths"), nb::arg("gazetteers"))
      .def(
          "encode",
          [](const SpanExtractor& self, bool pairs, const TokenColumns& table, const SpanArrays& spans,
             const Vocabulary& vocabulary, int threads) {
            return to_arrays(interruptible([&](StopRequest& stop) {
              return self.encode(kind_of(pairs), table, spans.table(), vocabulary, threads, stop);
            }));
          },
          nb::arg("pairs"), nb::arg("table"), nb::arg("spans"), nb::arg("vocabulary"), nb::arg("threads"))
      .def(
          "learn",
          [](const SpanExtractor& self, bool pairs, const TokenColumns& table, const SpanArrays& spans,
             Vocabulary& vocabulary, int threads) {
            const auto learn = [&](StopRequest& stop) {
              return self.learn(kind_of(pairs), table, spans.table(), vocabulary, threads, stop);
            };
            return to_arrays(interruptible(learn, true));  // the vocabulary grows, and is guarded by the GIL
          },
          nb::arg("pairs"), nb::arg("table"), nb::arg("spans"), nb::arg("vocabulary"), nb::arg("threads"))
      .def(
          "hash",
          [](const SpanExtractor& self, bool pairs, const TokenColumns& table, const SpanArrays& spans, int bits,
             int threads) {
            return to_arrays(interruptible([&](StopRequest& stop) {
              return self.hash(kind_of(pairs), table, spans.table(), bits, threads, stop);
            }));
          },
          nb::arg("pairs"), nb::arg("table"), nb::arg("spans"), nb::arg("bits"), nb::arg("threads"));
}

void bind_solvers(nb::module_& module) {
  nb::class_<JointSolver>(module, "JointSolver").def_prop_ro("needs_gil", &JointSolver::needs_gil);
  nb::class_<BranchAndBound, JointSolver>(module, "BranchAndBound").def(nb::init<std::size_t>(), nb::arg("node_limit"));
  nb::class_<PythonSolver, JointSolver>(module, "PythonSolver").def(nb::init<nb::object>(), nb::arg("search"));
  bind_result(module, "SolvedSentence", Field{"output", &SolvedSentence::output},
              Field{"score", &SolvedSentence::score}, Field{"bound", &SolvedSentence::bound},
              Field{"complete", &SolvedSentence::complete}, Field{"nodes", &SolvedSentence::nodes},
              Field{"seconds", &SolvedSentence::seconds});
}

void bind(nb::module_& module) {
  bind_extractor(module);
  bind_solvers(module);
  using Arrays = RelationsArrays;
  bind_options(module, "RelationsData", Field{"sentences", &Arrays::sentences}, Field{"span_rows", &Arrays::span_rows},
               Field{"span_features", &Arrays::span_features}, Field{"pair_rows", &Arrays::pair_rows},
               Field{"pair_features", &Arrays::pair_features}, Field{"types", &Arrays::types},
               Field{"labels", &Arrays::labels});
  using Choices = RelationsChoices;
  bind_options(module, "RelationsOptions", Field{"types", &Choices::types}, Field{"labels", &Choices::labels},
               Field{"table", &Choices::table}, Field{"span_features", &Choices::span_features},
               Field{"pair_features", &Choices::pair_features}, Field{"entity_loss", &Choices::entity_loss},
               Field{"pair_loss", &Choices::pair_loss}, Field{"missed_loss", &Choices::missed_loss});
  using Searches = RelationsTask::Searches;
  bind_result(module, "Searches", Field{"all", &Searches::all}, Field{"cut_off", &Searches::cut_off},
              Field{"nodes", &Searches::nodes}, Field{"most_nodes", &Searches::most_nodes});
  nb::class_<RelationsTask, Task>(module, "RelationsTask")
      .def(
          "__init__",
          [](RelationsTask* self, const RelationsArrays& data, const RelationsChoices& options,
             std::shared_ptr<const JointSolver> solver) {
            new (self) RelationsTask(data.data(), options.type_table(), options.span_features, options.pair_features,
                                     {options.entity_loss, options.pair_loss, options.missed_loss}, std::move(solver));
          },
          nb::arg("data"), nb::arg("options"), nb::arg("solver"), nb::keep_alive<1, 2>())
      .def_prop_ro("span_rows", &RelationsTask::span_weights)
      .def_prop_ro("pair_rows", &RelationsTask::pair_weights)
      .def_prop_ro("searches", &RelationsTask::searches)
      .def("solve", &solve, nb::arg("example"), nb::arg("weights"), nb::arg("loss_scale"));
}

const TaskBinding binding(bind);

}  // namespace
}  // namespace marginloom::python
