// The task of finding dependency trees, and features of their arcs, for Python.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/inputs.hpp"
#include "bindings/resources.hpp"
#include "bindings/structs.hpp"
#include "core/kernels.hpp"
#include "tasks/parse/parse.hpp"
#include "tasks/parse/transition.hpp"
#include "tasks/parse/tree_labels.hpp"

namespace marginloom::python {
namespace {

using Kind = ArcTemplates::Kind;

// Of arcs or of states.
template <class Extractor, Scope scope>
void make_extractor(Extractor* self, const std::string& templates, std::size_t word_column,
                    std::optional<std::size_t> pos_column, std::optional<std::size_t> xpos_column,
                    WrittenColumns columns, const Vocabulary& cluster_words, std::vector<std::string> cluster_paths,
                    const NamedPhrases& gazetteers) {
  new (self) Extractor(parse_templates(templates, scope), {word_column, pos_column, xpos_column, std::move(columns)},
                       make_resources(cluster_words, std::move(cluster_paths), gazetteers));
}

template <class Extractor>
OutputArray<std::uint64_t> word_values_of(const Extractor& self, const TokenColumns& table, int threads) {
  auto values = [&](StopRequest& stop) { return self.values(table, threads, stop); };
  return to_numpy(interruptible(values));
}

template <class Extractor>
auto learn(const Extractor& self, const std::vector<const TokenColumns*>& tables,
           const InputArray<std::uint16_t>& heads, const OptionalArray<std::uint8_t>& left_out, std::size_t min_count) {
  auto learn = [&](StopRequest& stop) {
    return self.learn(tables, view(heads), view_or_empty(left_out), min_count, stop);
  };
  return interruptible(learn);
}

template <class Extractor>
std::vector<std::string> template_names(const Extractor& self) {
  std::vector<std::string> names;
  for (const Template& line : self.templates()) names.push_back(line.name);
  return names;
}

template <class Extractor, Scope scope>
nb::class_<Extractor> bind_views(nb::module_& module, const char* name) {
  return nb::class_<Extractor>(module, name)
      .def("__init__", &make_extractor<Extractor, scope>, nb::arg("templates"), nb::arg("word_column"),
           nb::arg("pos_column").none(), nb::arg("xpos_column").none(), nb::arg("columns"), nb::arg("cluster_words"),
           nb::arg("cluster_paths"), nb::arg("gazetteers"))
      .def("templates", &template_names<Extractor>)
      .def_prop_ro("views", &Extractor::views)
      .def("values", &word_values_of<Extractor>, nb::arg("table"), nb::arg("threads"));
}

template <class Extractor, Scope scope>
nb::class_<Extractor> bind_extractor(nb::module_& module, const char* name) {
  return bind_views<Extractor, scope>(module, name)
      .def("learn", &learn<Extractor>, nb::arg("tables"), nb::arg("heads"), nb::arg("left_out").none(),
           nb::arg("min_count"));
}

ByKind<std::size_t> feature_counts(const ArcFeatures& self) {
  return {self.numbers(Kind::arc).size(), self.numbers(Kind::sibling).size(), self.numbers(Kind::label).size()};
}

// ParseData as arrays, which it keeps.
struct ParseArrays {
  InputArray<std::uint64_t> sentences = {};
  InputArray<std::uint64_t> values = {};
  OptionalArray<Head> heads = {};
  OptionalArray<std::uint16_t> labels = {};

  [[nodiscard]] ParseData data() const {
    return {view(sentences), view(values), view_or_empty(heads), view_or_empty(labels)};
  }
};

struct ParseChoices {
  bool projective = true;
  bool siblings = false;
  bool one_root = true;
  std::size_t label_count = 0;
  std::vector<std::uint16_t> root_labels = {};
  std::vector<std::uint16_t> other_labels = {};
  std::size_t memory = 0;

  [[nodiscard]] ParseOptions options() const {
    return {projective, siblings, one_root, label_count, {root_labels, other_labels}, memory};
  }
};

void make_task(ParseTask* self, const ParseArrays& data, const ParseChoices& options,
               std::shared_ptr<const ArcFeatures> features, int threads) {
  interruptible([&](StopRequest& stop) {
    new (self) ParseTask(data.data(), options.options(), std::move(features), threads, stop);
  });
}

void bind_arcs(nb::module_& module) {
  bind_extractor<ArcExtractor, Scope::arcs>(module, "ArcExtractor")
      .def("described", [](const ArcExtractor& self, std::size_t kind, const std::string& name) {
        if (kind > 2) throw std::invalid_argument("there are three kinds of features");
        return self.of(static_cast<Kind>(kind)).described(name);
      });
  nb::class_<ArcFeatures>(module, "ArcFeatures")
      .def_static(
          "by_vocabularies",
          [](const ArcExtractor& extractor, const Vocabulary& arcs, const Vocabulary& siblings,
             const Vocabulary& labels) {
            return std::make_shared<ArcFeatures>(extractor, ByKind<Vocabulary>{arcs, siblings, labels});
          },
          nb::arg("extractor"), nb::arg("arcs"), nb::arg("siblings"), nb::arg("labels"))
      .def_static(
          "by_hashing",
          [](const ArcExtractor& extractor, int hash_bits, std::size_t label_count) {
            return std::make_shared<ArcFeatures>(extractor, hash_bits, padded(label_count));
          },
          nb::arg("extractor"), nb::arg("hash_bits"), nb::arg("label_count"))
      .def_prop_ro("counts", &feature_counts)
      .def_prop_ro("identity", &ArcFeatures::identity)
      .def(
          "named",
          [](const ArcFeatures& self, const ArcExtractor& extractor, const TokenColumns& table, std::size_t sentence,
             std::size_t head, std::size_t modifier, std::size_t sibling) {
            std::vector<std::tuple<std::size_t, std::uint32_t, std::string>> result;
            for (NamedFeature& one : named_features(extractor, self, table, sentence, {head, modifier, sibling})) {
              result.emplace_back(one.kind, one.number, std::move(one.name));
            }
            return result;
          },
          nb::arg("extractor"), nb::arg("table"), nb::arg("sentence"), nb::arg("head"), nb::arg("modifier"),
          nb::arg("sibling"));
  bind_options(module, "ParseData", Field{"sentences", &ParseArrays::sentences}, Field{"values", &ParseArrays::values},
               Field{"heads", &ParseArrays::heads}, Field{"labels", &ParseArrays::labels});
  using Choices = ParseChoices;
  bind_options(module, "ParseOptions", Field{"projective", &Choices::projective}, Field{"siblings", &Choices::siblings},
               Field{"one_root", &Choices::one_root}, Field{"label_count", &Choices::label_count},
               Field{"root_labels", &Choices::root_labels}, Field{"other_labels", &Choices::other_labels},
               Field{"memory", &Choices::memory});
  nb::class_<ParseTask, Task>(module, "ParseTask")
      .def("__init__", &make_task, nb::arg("data"), nb::arg("options"), nb::arg("features"), nb::arg("threads"),
           nb::keep_alive<1, 2>())
      .def_static(
          "weight_count",
          [](const ArcFeatures& features, std::size_t label_count) { return ParseWeights(features, label_count).size; },
          nb::arg("features"), nb::arg("label_count"))
      .def_prop_ro("first_sibling", [](const ParseTask& self) { return self.layout().siblings; })
      .def_prop_ro("first_label_row", [](const ParseTask& self) { return self.layout().labels; })
      .def_prop_ro("stride", [](const ParseTask& self) { return self.layout().stride; })
      .def_prop_ro("bytes_per_label", &ParseTask::bytes_per_label)
      .def_prop_ro("kept_bytes", &ParseTask::kept_bytes);
}

struct TransitionChoices {
  std::size_t beam = 8;
  bool merging = true;
  std::string update = {};
  std::size_t label_count = 0;
  std::vector<std::uint16_t> root_labels = {};
  std::vector<std::uint16_t> other_labels = {};

  [[nodiscard]] TransitionOptions options() const {
    const auto rule = update == "early"      ? PrefixUpdate::early
                      : update == "standard" ? PrefixUpdate::standard
                                             : PrefixUpdate::max_violation;
    return {{beam, merging, rule}, label_count, {root_labels, other_labels}};
  }
};

// Trees of all sentences, whose words stand in a row.
struct ReadTrees {
  OutputArray<Head> heads;
  OutputArray<std::uint16_t> labels;
};

ReadTrees read_trees(const TransitionTask& self, const InputArray<std::uint8_t>& outputs,
                     const InputArray<std::uint64_t>& bounds) {
  std::vector<Head> heads;
  std::vector<std::uint16_t> labels;
  self.read_trees(view(outputs), view(bounds), heads, labels);
  return {.heads = to_numpy(std::move(heads)), .labels = to_numpy(std::move(labels))};
}

void bind_states(nb::module_& module) {
  bind_extractor<StateExtractor, Scope::states>(module, "StateExtractor")
      .def("described", [](const StateExtractor& self, std::size_t kind, const std::string& name) {
        if (kind > 1) throw std::invalid_argument("there are two kinds of features");
        return kind == 0 ? self.states().described(name) : self.labels().described(name);
      });
  nb::class_<StateFeatures>(module, "StateFeatures")
      .def_static(
          "by_vocabularies",
          [](const StateExtractor& extractor, const Vocabulary& states, const Vocabulary& labels) {
            return std::make_shared<StateFeatures>(extractor, StatesAndLabels<Vocabulary>{states, labels});
          },
          nb::arg("extractor"), nb::arg("states"), nb::arg("labels"))
      .def_static(
          "by_hashing",
          [](const StateExtractor& extractor, int hash_bits, std::size_t label_count) {
            return std::make_shared<StateFeatures>(extractor, hash_bits, padded(label_count));
          },
          nb::arg("extractor"), nb::arg("hash_bits"), nb::arg("label_count"))
      .def_prop_ro("counts",
                   [](const StateFeatures& self) {
                     return StatesAndLabels<std::size_t>{self.state_numbers().size(), self.label_numbers().size()};
                   })
      .def_prop_ro("identity", &StateFeatures::identity);
  using Choices = TransitionChoices;
  bind_options(module, "TransitionOptions", Field{"beam", &Choices::beam}, Field{"merging", &Choices::merging},
               Field{"update", &Choices::update}, Field{"label_count", &Choices::label_count},
               Field{"root_labels", &Choices::root_labels}, Field{"other_labels", &Choices::other_labels});
  bind_result(module, "ReadTrees", Field{"heads", &ReadTrees::heads}, Field{"labels", &ReadTrees::labels});
  nb::class_<TransitionTask, Task>(module, "TransitionTask")
      .def(
          "__init__",
          [](TransitionTask* self, const ParseArrays& data, const TransitionChoices& options,
             std::shared_ptr<const StateFeatures> features) {
            new (self) TransitionTask(data.data(), options.options(), std::move(features));
          },
          nb::arg("data"), nb::arg("options"), nb::arg("features"), nb::keep_alive<1, 2>())
      .def_static(
          "weight_count",
          [](const StateFeatures& features, std::size_t label_count) {
            return TransitionWeights(features, label_count).size;
          },
          nb::arg("features"), nb::arg("label_count"))
      .def_prop_ro("first_label_row", [](const TransitionTask& self) { return self.layout().labels; })
      .def_prop_ro("stride", [](const TransitionTask& self) { return self.layout().stride; })
      .def_prop_ro("action_stride", [](const TransitionTask&) { return action_stride; })
      .def_prop_ro("state_bytes", [](const TransitionTask&) { return TransitionTask::state_bytes(); })
      .def_prop_ro("step_bytes", &TransitionTask::step_bytes)
      .def("read_trees", &read_trees, nb::arg("outputs"), nb::arg("bounds"));
}

// ArcChains as arrays.
struct ChainArrays {
  OutputArray<std::uint64_t> chains;
  OutputArray<std::uint64_t> words;
  OutputArray<std::uint8_t> kinds;
  OutputArray<std::uint64_t> offsets;
  OutputArray<std::uint32_t> features;
};

ChainArrays encode_chains(const TreeLabelExtractor& self, const InputArray<std::uint64_t>& values,
                          const InputArray<std::uint64_t>& sentences, const InputArray<Head>& heads, int bits,
                          int threads) {
  ArcChains found = interruptible(
      [&](StopRequest& stop) { return self.encode(view(values), view(sentences), view(heads), bits, threads, stop); });
  return {to_numpy(std::move(found.chains)), to_numpy(std::move(found.words)), to_numpy(std::move(found.kinds)),
          to_numpy(std::move(found.offsets)), to_numpy(std::move(found.features))};
}

void bind_tree_labels(nb::module_& module) {
  bind_views<TreeLabelExtractor, Scope::arcs>(module, "TreeLabelExtractor")
      .def("encode", &encode_chains, nb::arg("values"), nb::arg("sentences"), nb::arg("heads"), nb::arg("bits"),
           nb::arg("threads"));
}

void bind(nb::module_& module) {
  bind_arcs(module);
  bind_states(module);
  bind_tree_labels(module);
  using Chains = ChainArrays;
  bind_result(module, "ArcChains", Field{"chains", &Chains::chains}, Field{"words", &Chains::words},
              Field{"kinds", &Chains::kinds}, Field{"offsets", &Chains::offsets}, Field{"features", &Chains::features});
}

const TaskBinding binding(bind);

}  // namespace
}  // namespace marginloom::python
