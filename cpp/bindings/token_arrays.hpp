// The features of the tokens of sentences, as numpy arrays.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "features/extractor.hpp"
#include "features/token_rows.hpp"

namespace marginloom::python {

struct TokenArrays {
  OutputArray<std::uint64_t> sentences;  // sentence i has the tokens sentences[i] .. sentences[i + 1] - 1
  OutputArray<std::uint64_t> tokens;     // token t has the features tokens[t] .. tokens[t + 1] - 1
  OutputArray<std::uint32_t> features;
  std::optional<OutputArray<float>> values;  // of the features; none if all are 1
};

[[nodiscard]] inline TokenArrays to_arrays(std::vector<std::uint64_t> sentences, SparseRows rows) {
  return {.sentences = to_numpy(std::move(sentences)),
          .tokens = to_numpy(std::move(rows.tokens)),
          .features = to_numpy(std::move(rows.features)),
          .values = std::nullopt};
}

[[nodiscard]] inline TokenArrays to_arrays(std::vector<std::uint64_t> sentences, TokenRows rows) {
  TokenArrays arrays = to_arrays(std::move(sentences), SparseRows{std::move(rows.tokens), std::move(rows.features)});
  if (!rows.indicators()) arrays.values = to_numpy(std::move(rows.values));
  return arrays;
}

}  // namespace marginloom::python
