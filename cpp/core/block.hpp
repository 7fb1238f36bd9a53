// The candidates that a dual learner holds for one example, with their duals, in coordinates of their own.
//
// The coordinates are the weights that any of the candidates touches: their sorted list is the block's support, and a
// candidate is a row of positions in that list with values. A visit reads the weights of the support once, solves on
// what it has read, and writes once. Where differences are implicit a block has no support, and its coordinates are the
// scores w.d of its candidates, which move by the products d.d' of their differences.
//
// A block lies in one piece of memory: copying it is copying bytes, and a copy is a block like any other. It can be
// given to another thread and taken back, and written as bytes. Duals change in place; other changes make a new piece.
//
// Values are kept in single precision where that changes none of them: those of indicators and counts are whole
// numbers. Duals belong to the differences as they are, so rounded ones would make the dual objective that of another
// problem.
//
// A block may do without its support and rows, or its products, to save memory. Outputs and duals are always there, and
// the task rebuilds the rest from the outputs.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/candidate.hpp"
#include "core/prefetch.hpp"

namespace marginloom {

// The dual of the candidate with this key.
struct KeyedDual {
  std::uint64_t key = 0;
  double dual = 0;
};

class Block {
 public:
  struct Row {
    double dual = 0;
    double loss = 0;
    double squared_norm = 0;
    std::uint64_t key = 0;
    std::uint32_t first_entry = 0;
    std::uint32_t entry_count = 0;
    std::uint32_t first_byte = 0;
    std::uint32_t byte_count = 0;
  };

  Block() = default;
  Block(Block&&) noexcept = default;
  Block& operator=(Block&&) noexcept = default;

  [[nodiscard]] bool empty() const { return !piece_ || header().rows == 0; }
  [[nodiscard]] std::size_t size() const { return piece_ ? header().rows : 0; }
  [[nodiscard]] std::span<Row> rows() { return {at<Row>(sizeof(Header)), size()}; }
  [[nodiscard]] std::span<const Row> rows() const { return {at<Row>(sizeof(Header)), size()}; }
  [[nodiscard]] ByteView output(const Row& row) const {
    return {at<std::uint8_t>(layout().bytes) + row.first_byte, row.byte_count};
  }
  // The outputs of all rows, in place of what is in the list.
  void list_outputs(std::vector<ByteView>& result) const {
    const std::uint8_t* const bytes = at<std::uint8_t>(layout().bytes);
    const auto rows = this->rows();
    result.resize(rows.size());
    for (std::size_t j = 0; j < rows.size(); ++j) result[j] = {bytes + rows[j].first_byte, rows[j].byte_count};
  }

  // Whether the block has what its candidates are made of: support and rows.
  [[nodiscard]] bool has_support() const { return piece_ && header().has_support; }
  [[nodiscard]] std::span<const WeightIndex> support() const {
    return {at<WeightIndex>(layout().support), has_support() ? header().support : 0};
  }
  // Calls function(positions), an array of 16 or, where the support is larger, 32 bits, one position for every value.
  template <class Function>
  decltype(auto) with_positions(Function function) const {
    const std::size_t place = layout().positions;
    if (header().wide) return function(at<std::uint32_t>(place));
    return function(at<std::uint16_t>(place));
  }
  // Calls function(positions, values), the values in single precision if it holds all of them to the last bit.
  template <class Function>
  decltype(auto) with_entries(Function function) const {
    return with_positions([&](const auto* positions) -> decltype(auto) {
      const std::size_t place = layout().values;
      if (header().doubles) return function(positions, at<double>(place));
      return function(positions, at<float>(place));
    });
  }

  // The products of all pairs of differences, row by row, if it has them.
  [[nodiscard]] bool has_products() const { return piece_ && header().has_products; }
  [[nodiscard]] std::span<double> products() {
    return {at<double>(layout().products), has_products() ? size() * size() : 0};
  }
  [[nodiscard]] std::span<const double> products() const {
    return {at<double>(layout().products), has_products() ? size() * size() : 0};
  }

  // Duals of the example that are not in this block, because it is a copy of a part.
  [[nodiscard]] double duals_elsewhere() const { return piece_ ? header().elsewhere : 0; }
  void set_duals_elsewhere(double sum) { header().elsewhere = sum; }
  struct Sums {
    double duals = 0;
    double losses = 0;  // each times its dual
  };
  [[nodiscard]] Sums sums() const;
  [[nodiscard]] bool has_zero_duals() const;

  // The row of the candidate with this key, or none.
  [[nodiscard]] Row* find(std::uint64_t key);

  // What to make of a candidate or a copy beyond outputs and duals.
  struct Keep {
    bool support = false;
    bool products = false;
  };

  // Puts a candidate that is not in the block before the others, with a dual of 0. `products` are those of its
  // difference with itself and then with the others in their order; needed if they are to be kept. What the block does
  // not have of the others it cannot keep.
  void put_first(const Candidate& candidate, Keep keep, std::span<const double> products = {});

  // Moves a row of the block before the others.
  void move_first(Row& row);

  // Replaces the block by some rows of another one, with those parts of the support that they touch. Reuses memory.
  void copy(const Block& from, std::span<const std::uint32_t> rows, Keep keep);

  void drop_zero_duals(std::span<const KeyedDual> but = {});  // all but these candidates
  void keep_first(std::size_t count);
  void forget_rows();  // support, rows and products

  // Bytes that put_first() would at least take more.
  [[nodiscard]] static std::size_t memory_of(const Candidate& candidate) {
    return sizeof(Row) + candidate.difference.size() * (sizeof(float) + sizeof(std::uint16_t)) +
           candidate.output.size();
  }
  [[nodiscard]] std::size_t memory() const { return piece_ ? header().capacity : 0; }

  // The block as bytes, for this machine's kind of machine; and a block made of such bytes. Throws
  // std::invalid_argument if they are not those of a block over so many weights.
  [[nodiscard]] ByteView as_bytes() const { return {at<std::uint8_t>(0), piece_ ? layout().end : 0}; }
  [[nodiscard]] static Block from_bytes(ByteView bytes, std::size_t dimension);

  // Ask for memory that a visit will read: how large the block is, and some time later the block itself.
  void prefetch_header() const { prefetch_line(piece_.get()); }
  void prefetch() const {
    if (piece_) prefetch_bytes(piece_.get(), layout().end);
  }

 private:
  struct Header {
    std::uint32_t rows = 0;
    std::uint32_t support = 0;
    std::uint32_t entries = 0;
    std::uint32_t bytes = 0;
    double elsewhere = 0;
    std::uint32_t capacity = 0;  // of the piece
    std::uint8_t has_support = 0;
    std::uint8_t has_products = 0;
    std::uint8_t wide = 0;     // positions have 32 bits
    std::uint8_t doubles = 0;  // values have double precision
  };
  // Where the parts begin, in bytes.
  struct Layout {
    std::size_t products;
    std::size_t values;
    std::size_t support;
    std::size_t positions;
    std::size_t bytes;
    std::size_t end;
  };
  struct Free {
    void operator()(std::byte* piece) const { std::free(piece); }
  };

  [[nodiscard]] static Layout layout_of(const Header& header) {
    Layout result;
    result.products = sizeof(Header) + header.rows * sizeof(Row);
    result.values = result.products + (header.has_products ? std::size_t{header.rows} * header.rows * 8 : 0);
    result.support = result.values + std::size_t{header.entries} * (header.doubles ? 8 : 4);
    result.positions = result.support + header.support * sizeof(WeightIndex);
    result.bytes = result.positions + std::size_t{header.entries} * (header.wide ? 4 : 2);
    result.end = result.bytes + header.bytes;
    return result;
  }
  [[nodiscard]] Layout layout() const { return piece_ ? layout_of(header()) : Layout{}; }
  [[nodiscard]] Header& header() { return *reinterpret_cast<Header*>(piece_.get()); }
  [[nodiscard]] const Header& header() const { return *reinterpret_cast<const Header*>(piece_.get()); }
  template <class T>
  [[nodiscard]] T* at(std::size_t place) {
    return piece_ ? reinterpret_cast<T*>(piece_.get() + place) : nullptr;
  }
  template <class T>
  [[nodiscard]] const T* at(std::size_t place) const {
    return piece_ ? reinterpret_cast<const T*>(piece_.get() + place) : nullptr;
  }
  void make_room(const Header& header);
  // Of blocks that are outputs and duals and nothing else, which change too often to be made anew each time.
  [[nodiscard]] bool is_plain() const { return !has_support() && !has_products(); }
  void put_first_in_place(const Candidate& candidate);
  void keep_in_place(std::span<const std::uint32_t> rows);
  void keep_rows(std::span<const std::uint32_t> rows);
  // Makes this block of some rows of another one, after a new candidate if there is one.
  void assemble(const Block& from, std::span<const std::uint32_t> rows, const Candidate* first, Keep keep,
                std::span<const double> products);

  std::unique_ptr<std::byte[], Free> piece_;
};

}  // namespace marginloom
