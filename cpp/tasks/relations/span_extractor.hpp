// Features of spans of sentences, and of the ordered pairs of two spans of a sentence, by templates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "features/atom_reader.hpp"
#include "features/sparse_rows.hpp"
#include "features/templates.hpp"
#include "features/vocabulary.hpp"

namespace marginloom {

// Sentence i has the spans offsets[i] .. offsets[i + 1] - 1, in the order of the text; a span is the tokens from its
// start to before its end, counted in its sentence.
struct SpanTable {
  std::span<const std::uint64_t> offsets;
  std::span<const std::uint32_t> starts;
  std::span<const std::uint32_t> ends;

  // Throws std::invalid_argument unless spans are inside the sentences of the table, in order and apart.
  void check(const TokenColumns& table) const;
};

class SpanExtractor {
 public:
  // What rows are of: the spans of all sentences, or the pairs of the spans of each, where pairs with the same first
  // span follow each other, and the first span is the head.
  enum class Kind { span, pair };

  // Templates are of the scope `spans`.
  SpanExtractor(std::vector<Template> templates, AtomColumns columns, Resources resources);

  [[nodiscard]] const std::vector<Template>& templates() const { return templates_; }

  // As those of Extractor; a feature's key is its template's number among all templates, a colon, and the values.
  [[nodiscard]] SparseRows encode(Kind kind, const TokenColumns& table, const SpanTable& spans,
                                  const Vocabulary& vocabulary, int threads, StopRequest stop = {}) const;
  [[nodiscard]] SparseRows learn(Kind kind, const TokenColumns& table, const SpanTable& spans, Vocabulary& vocabulary,
                                 int threads, StopRequest stop = {}) const;
  [[nodiscard]] SparseRows hash(Kind kind, const TokenColumns& table, const SpanTable& spans, int bits, int threads,
                                StopRequest stop = {}) const;

 private:
  class Workspace;

  [[nodiscard]] auto workspaces(Kind kind, const TokenColumns& table, const SpanTable& spans) const;

  std::vector<Template> templates_;
  AtomColumns columns_;
  Resources resources_;
};

}  // namespace marginloom
