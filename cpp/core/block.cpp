#include "core/block.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace marginloom {
namespace {

constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t narrow = std::size_t{1} << 16;  // positions that 16 bits can tell apart

// Of the rows that stay, and of the parts of the support that they touch: the position of each in the new block.
// Changes of blocks are too frequent to allocate for each.
struct Renumbering {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> places;
  std::vector<WeightIndex> support;  // of the new block
};

Renumbering& renumbering_of_this_thread() {
  thread_local Renumbering result;
  return result;
}

void mark_touched(const Block& block, std::span<const std::uint32_t> rows, std::vector<std::uint32_t>& places) {
  const bool all = rows.size() == block.size();
  places.assign(block.support().size(), all ? 0 : nowhere);
  if (all) return;
  block.with_positions([&](const auto* positions) {
    for (const std::uint32_t r : rows) {
      const Block::Row& row = block.rows()[r];
      for (std::size_t k = 0; k < row.entry_count; ++k) places[positions[row.first_entry + k]] = 0;
    }
  });
}

// Numbers what is touched of the old support together with the new candidate's indices, in the order of the weights,
// and lists them.
void merge_support(std::span<const WeightIndex> old, std::span<const Entry> difference, Renumbering& renumbering) {
  renumbering.support.resize(old.size() + difference.size());
  WeightIndex* next = renumbering.support.data();
  std::size_t j = 0;
  for (std::size_t k = 0; k < old.size(); ++k) {
    if (renumbering.places[k] == nowhere) continue;
    while (j < difference.size() && difference[j].index < old[k]) *next++ = difference[j++].index;
    j += j < difference.size() && difference[j].index == old[k] ? 1 : 0;
    renumbering.places[k] = static_cast<std::uint32_t>(next - renumbering.support.data());
    *next++ = old[k];
  }
  while (j < difference.size()) *next++ = difference[j++].index;
  renumbering.support.resize(static_cast<std::size_t>(next - renumbering.support.data()));
}

bool fits_single_precision(std::span<const Entry> difference) {
  constexpr double largest = std::numeric_limits<float>::max();
  return std::ranges::all_of(difference, [](const Entry& entry) {
    return std::abs(entry.value) <= largest && static_cast<float>(entry.value) == entry.value;
  });
}

}  // namespace

Block::Sums Block::sums() const {
  Sums result{.duals = duals_elsewhere()};
  for (const Row& row : rows()) {
    result.duals += row.dual;
    result.losses += row.dual * row.loss;
  }
  return result;
}

bool Block::has_zero_duals() const {
  return std::ranges::any_of(rows(), [](const Row& row) { return row.dual == 0; });
}

Block::Row* Block::find(std::uint64_t key) {
  const auto found = std::ranges::find(rows(), key, &Row::key);
  return found == rows().end() ? nullptr : &*found;
}

void Block::make_room(const Header& header) {
  const std::size_t needed = layout_of(header).end;
  if (needed >= nowhere) throw std::length_error("the block of one example exceeds 2^32 bytes");
  std::uint32_t capacity = piece_ ? this->header().capacity : 0;
  if (needed > capacity) {
    piece_.reset(static_cast<std::byte*>(std::malloc(needed)));
    if (!piece_) throw std::bad_alloc();
    capacity = static_cast<std::uint32_t>(needed);
  }
  this->header() = header;
  this->header().capacity = capacity;
}

void Block::assemble(const Block& from, std::span<const std::uint32_t> rows, const Candidate* first, Keep keep,
                     std::span<const double> products) {
  Renumbering& renumbering = renumbering_of_this_thread();
  const auto& places = renumbering.places;
  const std::span<const Entry> difference = first && keep.support ? first->difference : std::span<const Entry>();
  const bool supported = keep.support && (from.empty() || from.has_support());
  const bool multiplied = keep.products && (from.empty() || from.has_products());
  Header header;
  header.rows = static_cast<std::uint32_t>(rows.size() + (first ? 1 : 0));
  header.has_support = supported;
  header.has_products = multiplied;
  std::size_t entries = first ? difference.size() : 0;
  std::size_t bytes = first ? first->output.size() : 0;
  for (const std::uint32_t r : rows) {
    entries += from.rows()[r].entry_count;
    bytes += from.rows()[r].byte_count;
  }
  if (entries >= nowhere || bytes >= nowhere) throw std::length_error("the block of one example exceeds 2^32 entries");
  header.bytes = static_cast<std::uint32_t>(bytes);
  if (supported) {
    mark_touched(from, rows, renumbering.places);
    merge_support(from.support(), difference, renumbering);
    header.entries = static_cast<std::uint32_t>(entries);
    header.support = static_cast<std::uint32_t>(renumbering.support.size());
    header.wide = renumbering.support.size() > narrow;
    header.doubles = (!rows.empty() && from.header().doubles) || !fits_single_precision(difference);
  }
  make_room(header);

  const Layout layout = this->layout();
  auto* support = at<WeightIndex>(layout.support);
  auto* outputs = at<std::uint8_t>(layout.bytes);
  if (supported) std::ranges::copy(renumbering.support, support);
  std::uint32_t entry = 0;
  std::uint32_t byte = 0;
  std::size_t place = 0;
  const auto add = [&](Row row, ByteView output) {
    row.first_entry = entry;
    row.first_byte = byte;
    std::ranges::copy(output, outputs + byte);
    byte += row.byte_count;
    entry += row.entry_count;
    at<Row>(sizeof(Header))[place++] = row;
  };
  with_entries([&]<class Position, class Value>(const Position* constant_positions, const Value* constant_values) {
    auto* positions = const_cast<Position*>(constant_positions);
    auto* values = const_cast<Value*>(constant_values);
    if (first) {
      std::size_t k = 0;
      for (std::size_t e = 0; e < difference.size() && supported; ++e) {
        while (support[k] != difference[e].index) ++k;
        positions[e] = static_cast<Position>(k);
        values[e] = static_cast<Value>(difference[e].value);
      }
      add({.loss = first->loss,
           .squared_norm = first->squared_norm,
           .key = first->key,
           .entry_count = static_cast<std::uint32_t>(supported ? difference.size() : 0),
           .byte_count = static_cast<std::uint32_t>(first->output.size())},
          first->output);
    }
    for (const std::uint32_t r : rows) {
      Row row = from.rows()[r];
      if (supported) {
        from.with_entries([&](const auto* old, const auto* old_values) {
          for (std::size_t k = 0; k < row.entry_count; ++k) {
            positions[entry + k] = static_cast<Position>(places[old[row.first_entry + k]]);
            values[entry + k] = static_cast<Value>(old_values[row.first_entry + k]);
          }
        });
      } else {
        row.entry_count = 0;
      }
      add(row, from.output(from.rows()[r]));
    }
  });
  if (!multiplied) return;
  const std::size_t size = this->size();
  const std::size_t shift = first ? 1 : 0;
  double* matrix = at<double>(layout.products);
  if (first) {
    matrix[0] = products[0];
    for (std::size_t j = 0; j < rows.size(); ++j) matrix[j + 1] = matrix[(j + 1) * size] = products[rows[j] + 1];
  }
  for (std::size_t j = 0; j < rows.size(); ++j) {
    for (std::size_t k = 0; k < rows.size(); ++k) {
      matrix[(j + shift) * size + k + shift] = from.products()[rows[j] * from.size() + rows[k]];
    }
  }
}

void Block::put_first(const Candidate& candidate, Keep keep, std::span<const double> products) {
  if (!keep.support && !keep.products && is_plain()) return put_first_in_place(candidate);
  auto& all = renumbering_of_this_thread().rows;
  all.resize(size());
  std::iota(all.begin(), all.end(), 0U);
  Block result;
  result.assemble(*this, all, &candidate, keep, products);
  *this = std::move(result);
}

void Block::move_first(Row& row) {
  const auto place = static_cast<std::size_t>(&row - rows().data());
  if (place == 0) return;
  std::rotate(rows().begin(), rows().begin() + static_cast<std::ptrdiff_t>(place),
              rows().begin() + static_cast<std::ptrdiff_t>(place) + 1);
  if (!has_products()) return;
  const auto rotate = [&](double* first, std::size_t stride) {
    const double moved = first[place * stride];
    for (std::size_t j = place; j > 0; --j) first[j * stride] = first[(j - 1) * stride];
    first[0] = moved;
  };
  for (std::size_t j = 0; j < size(); ++j) rotate(products().data() + j * size(), 1);
  for (std::size_t j = 0; j < size(); ++j) rotate(products().data() + j, size());
}

void Block::copy(const Block& from, std::span<const std::uint32_t> rows, Keep keep) {
  const bool everything = keep.support >= from.has_support() && keep.products >= from.has_products();
  if (rows.size() == from.size() && std::ranges::is_sorted(rows) && everything && from.piece_) {
    make_room(from.header());
    std::memcpy(piece_.get() + sizeof(Header), from.piece_.get() + sizeof(Header), from.layout().end - sizeof(Header));
    return;
  }
  double elsewhere = from.duals_elsewhere();
  if (rows.size() < from.size()) {
    elsewhere = from.sums().duals;
    for (const std::uint32_t r : rows) elsewhere -= from.rows()[r].dual;
  }
  assemble(from, rows, nullptr, {keep.support && from.has_support(), keep.products && from.has_products()}, {});
  header().elsewhere = elsewhere;
}

void Block::put_first_in_place(const Candidate& candidate) {
  Header header = piece_ ? this->header() : Header();
  const std::size_t old_end = piece_ ? layout().end : sizeof(Header);
  ++header.rows;
  header.bytes += static_cast<std::uint32_t>(candidate.output.size());
  if (layout_of(header).end > this->memory()) {
    Block larger;
    larger.make_room(header);
    if (piece_)
      std::memcpy(larger.piece_.get() + sizeof(Header), piece_.get() + sizeof(Header), old_end - sizeof(Header));
    *this = std::move(larger);
  } else {
    make_room(header);
  }
  std::byte* rows = piece_.get() + sizeof(Header);
  std::memmove(rows + sizeof(Row), rows, old_end - sizeof(Header));
  const auto first_byte = static_cast<std::uint32_t>(header.bytes - candidate.output.size());
  this->rows()[0] = {.loss = candidate.loss,
                     .squared_norm = candidate.squared_norm,
                     .key = candidate.key,
                     .first_byte = first_byte,
                     .byte_count = static_cast<std::uint32_t>(candidate.output.size())};
  std::ranges::copy(candidate.output, at<std::uint8_t>(layout().bytes) + first_byte);
}

// The rows that stay move forward, and so do their outputs, in the order in which these lie.
void Block::keep_in_place(std::span<const std::uint32_t> kept) {
  auto& order = renumbering_of_this_thread().places;
  order.resize(kept.size());
  std::iota(order.begin(), order.end(), 0U);
  std::uint8_t* outputs = at<std::uint8_t>(layout().bytes);
  for (std::size_t j = 0; j < kept.size(); ++j) rows()[j] = rows()[kept[j]];
  std::ranges::sort(order, {}, [&](std::uint32_t j) { return rows()[j].first_byte; });
  std::uint32_t byte = 0;
  for (const std::uint32_t j : order) {
    Row& row = rows()[j];
    std::memmove(outputs + byte, outputs + row.first_byte, row.byte_count);
    row.first_byte = byte;
    byte += row.byte_count;
  }
  Header header = this->header();
  header.rows = static_cast<std::uint32_t>(kept.size());
  header.bytes = byte;
  std::memmove(piece_.get() + layout_of(header).bytes, outputs, byte);
  const std::size_t needed = layout_of(header).end;
  constexpr std::size_t little = 128;
  if (memory() > needed + needed / 8 + little) {
    Block smaller;
    smaller.make_room(header);
    std::memcpy(smaller.piece_.get() + sizeof(Header), piece_.get() + sizeof(Header), needed - sizeof(Header));
    *this = std::move(smaller);
  } else {
    make_room(header);
  }
}

void Block::keep_rows(std::span<const std::uint32_t> kept) {
  if (kept.size() == size()) return;
  if (kept.empty()) return piece_.reset();
  if (is_plain()) return keep_in_place(kept);
  Block result;
  result.assemble(*this, kept, nullptr, {has_support(), has_products()}, {});
  *this = std::move(result);
}

void Block::drop_zero_duals(std::span<const KeyedDual> but) {
  auto& kept = renumbering_of_this_thread().rows;
  kept.clear();
  for (std::size_t j = 0; j < size(); ++j) {
    const Row& row = rows()[j];
    if (row.dual != 0 || std::ranges::find(but, row.key, &KeyedDual::key) != but.end())
      kept.push_back(static_cast<std::uint32_t>(j));
  }
  keep_rows(kept);
}

void Block::keep_first(std::size_t count) {
  auto& kept = renumbering_of_this_thread().rows;
  kept.resize(std::min(count, size()));
  std::iota(kept.begin(), kept.end(), 0U);
  keep_rows(kept);
}

void Block::forget_rows() {
  if (!has_support() && !has_products()) return;
  auto& all = renumbering_of_this_thread().rows;
  all.resize(size());
  std::iota(all.begin(), all.end(), 0U);
  Block result;
  result.assemble(*this, all, nullptr, {}, {});
  *this = std::move(result);
}

Block Block::from_bytes(ByteView bytes, std::size_t dimension) {
  const auto require = [](bool holds) {
    if (!holds) throw std::invalid_argument("these bytes are not those of a block");
  };
  Block result;
  if (bytes.empty()) return result;
  require(bytes.size() >= sizeof(Header));
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  require(header.has_support <= 1 && header.has_products <= 1 && header.wide <= 1 && header.doubles <= 1);
  require(header.elsewhere >= 0 && std::isfinite(header.elsewhere));
  require(header.rows > 0 && header.rows <= bytes.size() / sizeof(Row));
  require(layout_of(header).end == bytes.size());
  require(header.wide || header.support <= narrow);
  require(header.has_support || (header.support == 0 && header.entries == 0));
  result.make_room(header);
  std::memcpy(result.piece_.get() + sizeof header, bytes.data() + sizeof header, bytes.size() - sizeof header);
  const auto support = result.support();
  require(std::ranges::adjacent_find(support, std::greater_equal<>()) == support.end());
  require(support.empty() || support.back() < dimension);
  std::uint64_t entries = 0;
  std::uint64_t outputs = 0;
  for (const Row& row : result.rows()) {
    require(row.dual >= 0 && std::isfinite(row.dual) && row.first_entry <= header.entries &&
            row.entry_count <= header.entries - row.first_entry);
    require(row.first_byte <= header.bytes && row.byte_count <= header.bytes - row.first_byte);
    entries += row.entry_count;
    outputs += row.byte_count;
  }
  require(entries == header.entries && outputs == header.bytes);
  result.with_positions([&](const auto* positions) {
    for (std::size_t k = 0; k < header.entries; ++k) require(positions[k] < support.size());
  });
  return result;
}

}  // namespace marginloom
