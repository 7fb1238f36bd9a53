// Which types the two spans of a relation may have: the declarative constraints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace marginloom {

// Of relations labels are numbered from 1; label 0 is none, which every pair of types may have.
class TypeTable {
 public:
  struct Line {
    std::uint8_t label;  // from 1
    std::uint8_t head;
    std::uint8_t tail;
  };

  // Throws std::invalid_argument if a line is beyond the numbers of types and labels, which include none.
  TypeTable(std::size_t types, std::size_t labels, std::span<const Line> lines);

  [[nodiscard]] std::size_t types() const { return types_; }
  [[nodiscard]] std::size_t labels() const { return labels_; }
  [[nodiscard]] bool allows(std::size_t label, std::size_t head, std::size_t tail) const {
    return label == 0 || allowed_[(label * types_ + head) * types_ + tail] != 0;
  }
  // What a relation may connect, as head * types + tail, in order.
  [[nodiscard]] std::span<const std::uint16_t> pairs_of(std::size_t label) const {
    return std::span(pairs_).subspan(first_pair_[label], first_pair_[label + 1] - first_pair_[label]);
  }

 private:
  std::size_t types_;
  std::size_t labels_;
  std::vector<std::uint8_t> allowed_;
  std::vector<std::uint16_t> pairs_;
  std::vector<std::size_t> first_pair_;
};

}  // namespace marginloom
