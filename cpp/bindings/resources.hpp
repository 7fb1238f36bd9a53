// What atoms look up besides a sentence, from Python.
#pragma once

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "features/atom_reader.hpp"

namespace marginloom::python {

using NamedPhrases = std::vector<std::pair<std::string, const Vocabulary*>>;
using WrittenColumns = std::map<std::string, std::size_t>;

[[nodiscard]] inline Resources make_resources(const Vocabulary& cluster_words, std::vector<std::string> cluster_paths,
                                              const NamedPhrases& gazetteers) {
  if (cluster_paths.size() != cluster_words.size()) {
    throw std::invalid_argument("every word with a cluster needs a path");
  }
  Resources resources;
  resources.cluster_words = cluster_words;
  resources.cluster_paths = std::move(cluster_paths);
  for (const auto& [name, phrases] : gazetteers) {
    Resources::Gazetteer gazetteer{name, *phrases, 0};
    for (std::size_t id = 0; id < phrases->size(); ++id) {
      const auto spaces = static_cast<std::size_t>(std::ranges::count(phrases->name(id), ' '));
      gazetteer.longest = std::max(gazetteer.longest, 1 + spaces);
    }
    resources.gazetteers.push_back(std::move(gazetteer));
  }
  return resources;
}

}  // namespace marginloom::python
