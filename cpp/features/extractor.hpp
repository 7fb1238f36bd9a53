// Features of tokens in columns, by templates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "features/templates.hpp"
#include "features/vocabulary.hpp"

namespace marginloom {

// Sentences of tokens with columns, whatever they are read from.
class TokenColumns {
 public:
  virtual ~TokenColumns() = default;
  [[nodiscard]] virtual std::size_t columns() const = 0;
  [[nodiscard]] virtual const std::vector<std::uint64_t>& sentences() const = 0;  // offsets into tokens
  [[nodiscard]] virtual std::string_view cell(std::size_t token, std::size_t column) const = 0;
};

// What atoms can look up besides the sentence.
struct Resources {
  Vocabulary cluster_words;
  std::vector<std::string> cluster_paths;  // of the words, by number
  struct Gazetteer {
    std::string name;
    Vocabulary phrases;       // tokens joined by spaces
    std::size_t longest = 0;  // tokens
  };
  std::vector<Gazetteer> gazetteers;
};

// Sparse rows of indicators, one per token.
struct SparseRows {
  std::vector<std::uint64_t> tokens{0};
  std::vector<std::uint32_t> features;
};

class Extractor {
 public:
  struct Columns {
    std::size_t word = 0;
    std::optional<std::size_t> pos;
  };

  Extractor(std::vector<Template> templates, Columns columns, Resources resources);

  [[nodiscard]] const std::vector<Template>& templates() const { return templates_; }
  [[nodiscard]] std::size_t columns_needed() const;  // a table must have at least so many

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

  template <class MakeNumbering>
  std::vector<SparseRows> by_threads(const TokenColumns& table, int threads, const MakeNumbering& numbering,
                                     StopRequest& stop) const;

  std::vector<Template> templates_;
  Columns columns_;
  Resources resources_;
};

}  // namespace marginloom
