// Text in LIBSVM's format: one example a line, its labels and then its entries as index:value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/parallel.hpp"
#include "features/vocabulary.hpp"

namespace marginloom {

// Fields are separated by blanks or tabs. The first holds the labels, with commas between them; a first field with a
// colon is an entry already, and the example has no label. `qid:N` after the labels, a whole number, says to which
// group the example belongs; what follows a `#` is passed over. Lines without a field are no examples. Indices count
// from 1 and rise; values are finite.
struct LibsvmRows {
  std::vector<std::uint64_t> offsets{0};  // where the entries of each example begin
  std::vector<std::int32_t> indices;      // from 0
  std::vector<double> values;
  std::vector<std::uint64_t> label_offsets{0};
  std::vector<std::uint32_t> labels;  // numbers in `names`
  Vocabulary names;
  std::vector<std::uint64_t> lines;  // on which each example stands
  std::vector<std::int64_t> groups;  // the number after qid, or no_group
  static constexpr std::int64_t no_group = -1;
};

// Throws std::invalid_argument, with `name` and the line, if the text is not as said above. `first_line` is the number
// of the text's first line.
[[nodiscard]] LibsvmRows parse_libsvm(std::string_view text, const std::string& name, std::size_t first_line,
                                      StopRequest stop = {});

// The text of examples: `labels` has the first field of each, `indices` count from 0. Values are written so that
// reading gives the same number. An example with neither label nor entry gets the entry 1:0, or it would be no example.
template <class Value>
[[nodiscard]] std::string format_libsvm(std::span<const std::string_view> labels,
                                        std::span<const std::uint64_t> offsets, std::span<const std::int32_t> indices,
                                        std::span<const Value> values);

}  // namespace marginloom
