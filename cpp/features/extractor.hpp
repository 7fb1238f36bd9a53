// Features of tokens in columns, by templates.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "features/atom_reader.hpp"
#include "features/sparse_rows.hpp"
#include "features/templates.hpp"
#include "features/vocabulary.hpp"

namespace marginloom {

class Extractor {
 public:
  Extractor(std::vector<Template> templates, AtomColumns columns, Resources resources);

  [[nodiscard]] const std::vector<Template>& templates() const { return templates_; }
  [[nodiscard]] std::size_t columns_needed() const { return columns_.needed(templates_); }

  // A feature's key is its template's number, a colon, and the values of its atoms, separated by the character 0x1F.
  // Features that the vocabulary does not have are left out.
  [[nodiscard]] SparseRows encode(const TokenColumns& table, const Vocabulary& vocabulary, int threads,
                                  StopRequest stop = {}) const;

  // Adds the features to the vocabulary, numbered as they are first seen whatever the number of threads.
  [[nodiscard]] SparseRows learn(const TokenColumns& table, Vocabulary& vocabulary, int threads,
                                 StopRequest stop = {}) const;

  // Numbers features by the lowest `bits` bits of a hash of their key.
  [[nodiscard]] SparseRows hash(const TokenColumns& table, int bits, int threads, StopRequest stop = {}) const;

 private:
  class Workspace;

  [[nodiscard]] auto workspaces(const TokenColumns& table) const;

  std::vector<Template> templates_;
  AtomColumns columns_;
  Resources resources_;
};

}  // namespace marginloom
