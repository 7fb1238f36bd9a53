#include "core/block.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "test.hpp"

using marginloom::Block;
using marginloom::ByteView;
using marginloom::Candidate;
using marginloom::Entry;
using marginloom::output_key;
using marginloom::Random;
using marginloom::WeightIndex;

namespace {

constexpr std::size_t dimension = 200'000;

// A candidate that owns what a Candidate views, and the dual that the block should hold for it.
struct Owned {
  std::vector<std::uint8_t> output;
  std::vector<Entry> entries;
  double loss = 0;
  double squared_norm = 0;
  double dual = 0;

  [[nodiscard]] Candidate view() const {
    return {.example = 0,
            .loss = loss,
            .squared_norm = squared_norm,
            .key = output_key(output),
            .output = output,
            .difference = entries};
  }
};

double product(const Owned& a, const Owned& b) {
  double sum = 0;
  for (const Entry& x : a.entries) {
    for (const Entry& y : b.entries) sum += x.index == y.index ? x.value * y.value : 0.0;
  }
  return sum;
}

// The identity is in the output's first byte; sizes vary, and some candidates share all, some or none of their weights.
// Single precision does not hold the values of every third.
Owned make_candidate(std::uint8_t identity, Random& random) {
  Owned result;
  result.output.assign(1 + random.below(5), identity);
  const double little = identity % 3 == 0 ? 0x1p-40 : 0;
  for (std::size_t index = random.below(6); index < 40; index += 1 + random.below(20)) {
    result.entries.push_back({static_cast<WeightIndex>(index), static_cast<double>(random.below(100)) + little});
  }
  if (random.below(8) == 0) result.entries.clear();
  result.loss = static_cast<double>(random.below(50));
  result.squared_norm = product(result, result);
  return result;
}

// What a block should be.
struct Model {
  std::vector<Owned> rows;
  bool support = false;
  bool products = false;
  double elsewhere = 0;

  void put_first(const Owned& candidate, Block::Keep keep) {
    support = keep.support && (rows.empty() || support);
    products = keep.products && (rows.empty() || products);
    rows.insert(rows.begin(), candidate);
    rows.front().dual = 0;
    elsewhere = 0;
  }
  [[nodiscard]] std::vector<double> products_with(const Owned& candidate) const {
    std::vector<double> result{product(candidate, candidate)};
    for (const Owned& row : rows) result.push_back(product(candidate, row));
    return result;
  }
};

std::vector<Entry> entries_of(const Block& block, const Block::Row& row) {
  std::vector<Entry> result;
  block.with_entries([&](const auto* positions, const auto* values) {
    for (std::size_t k = row.first_entry; k < row.first_entry + row.entry_count; ++k) {
      CHECK(positions[k] < block.support().size());
      result.push_back({block.support()[positions[k]], values[k]});
    }
  });
  return result;
}

bool same_entries(std::span<const Entry> a, std::span<const Entry> b) {
  return std::ranges::equal(a, b,
                            [](const Entry& x, const Entry& y) { return x.index == y.index && x.value == y.value; });
}

// The support is what the candidates touch, in the order of the weights, and nothing else.
void check_support(const Block& block, const Model& model) {
  std::vector<WeightIndex> touched;
  for (const Owned& owned : model.rows) {
    for (const Entry& entry : owned.entries) touched.push_back(entry.index);
  }
  std::ranges::sort(touched);
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  CHECK(std::ranges::equal(block.support(), touched));
}

void check_equal(Block& block, const Model& model) {
  const Block& constant = block;
  CHECK(block.size() == model.rows.size());
  CHECK(block.empty() == model.rows.empty());
  Block::Sums sums{.duals = model.elsewhere};
  for (std::size_t j = 0; j < model.rows.size(); ++j) {
    const Block::Row& row = constant.rows()[j];
    const Owned& owned = model.rows[j];
    CHECK(row.key == output_key(owned.output));
    CHECK(row.dual == owned.dual);
    CHECK(row.loss == owned.loss);
    CHECK(row.squared_norm == owned.squared_norm);
    CHECK(std::ranges::equal(block.output(row), owned.output));
    CHECK(same_entries(entries_of(block, row), model.support ? owned.entries : std::vector<Entry>{}));
    CHECK(block.find(row.key) == &row);
    sums.duals += owned.dual;
    sums.losses += owned.dual * owned.loss;
  }
  CHECK(block.duals_elsewhere() == model.elsewhere);
  CHECK(block.sums().duals == sums.duals && block.sums().losses == sums.losses);
  CHECK(block.has_zero_duals() == std::ranges::any_of(model.rows, [](const Owned& row) { return row.dual == 0; }));
  CHECK(block.memory() >= block.as_bytes().size());
  if (model.rows.empty()) return;
  CHECK(block.has_support() == model.support);
  CHECK(block.has_products() == model.products);
  if (model.support) check_support(block, model);
  CHECK(block.products().size() == (model.products ? block.size() * block.size() : 0));
  if (!model.products) return;
  for (std::size_t j = 0; j < block.size(); ++j) {
    for (std::size_t k = 0; k < block.size(); ++k) {
      CHECK(constant.products()[j * block.size() + k] == product(model.rows[j], model.rows[k]));
    }
  }
}

Block::Keep random_keep(Random& random) {
  return {.support = random.below(5) > 0, .products = random.below(5) > 0};
}

// Some rows of a block in any order.
std::vector<std::uint32_t> random_rows(std::size_t size, Random& random) {
  std::vector<std::uint32_t> rows(size);
  std::iota(rows.begin(), rows.end(), 0U);
  random.shuffle(std::span(rows));
  if (random.below(3) > 0) rows.resize(random.below(size + 1));
  return rows;
}

Model some_rows(const Model& from, std::span<const std::uint32_t> rows, Block::Keep keep) {
  Model result;
  result.support = keep.support && from.support;
  result.products = keep.products && from.products;
  result.elsewhere = from.elsewhere;
  for (const Owned& owned : from.rows) result.elsewhere += owned.dual;
  for (const std::uint32_t r : rows) {
    result.rows.push_back(from.rows[r]);
    result.elsewhere -= from.rows[r].dual;
  }
  return result;
}

std::vector<std::uint8_t> bytes_of(const Block& block) {
  return {block.as_bytes().begin(), block.as_bytes().end()};
}

// A block of three candidates with support and products.
Block small_block() {
  Random random(3);
  Block block;
  Model model;
  for (std::uint8_t identity = 0; identity < 3; ++identity) {
    Owned candidate = make_candidate(identity, random);
    candidate.entries = {{WeightIndex{identity}, 2}, {7, 3}};
    block.put_first(candidate.view(), {.support = true, .products = true}, model.products_with(candidate));
    model.put_first(candidate, {.support = true, .products = true});
    block.rows()[0].dual = model.rows[0].dual = 1;
  }
  check_equal(block, model);
  return block;
}

// Entries at every index from `first`, `step` apart.
Owned long_candidate(std::uint8_t identity, std::size_t first, std::size_t step, std::size_t count) {
  Owned result;
  result.output = {identity};
  for (std::size_t k = 0; k < count; ++k) {
    result.entries.push_back({static_cast<WeightIndex>(first + step * k), static_cast<double>(k % 1000)});
  }
  return result;
}

}  // namespace

TEST("block: outputs, differences and products stay with their row through random operations") {
  Random random(6);
  for (int sequence = 0; sequence < 50; ++sequence) {
    Block block;
    Block copy;  // all of them in the memory of the one before
    Model model;
    std::vector<Owned> known;
    for (std::uint8_t identity = 0; identity < 12; ++identity) known.push_back(make_candidate(identity, random));
    for (int operation = 0; operation < 200; ++operation) {
      const Owned& candidate = known[random.below(known.size())];
      const auto place = std::ranges::find(model.rows, candidate.output, &Owned::output);
      const bool held = place != model.rows.end();
      Block::Row* row = block.find(output_key(candidate.output));
      CHECK((row != nullptr) == held);
      switch (random.below(16)) {
        case 0:
        case 1:
          for (std::size_t j = 0; j < model.rows.size(); ++j) {
            block.rows()[j].dual = model.rows[j].dual = static_cast<double>(random.below(3));
          }
          break;
        case 2:
          block.drop_zero_duals();
          std::erase_if(model.rows, [](const Owned& owned) { return owned.dual == 0; });
          break;
        case 3: {
          const std::size_t kept = random.below(model.rows.size() + 2);
          block.keep_first(kept);
          model.rows.resize(std::min(model.rows.size(), kept));
          break;
        }
        case 4:
          if (random.below(3) > 0) break;
          block.forget_rows();
          model.support = model.products = false;
          break;
        case 5:
        case 6:
        case 7: {
          const auto rows = random_rows(model.rows.size(), random);
          const Block::Keep keep = random_keep(random);
          copy.copy(block, rows, keep);
          check_equal(copy, some_rows(model, rows, keep));
          break;
        }
        case 8:
          if (!block.empty()) block = Block::from_bytes(bytes_of(block), dimension);
          break;
        default:
          if (held) {
            block.move_first(*row);
            std::rotate(model.rows.begin(), place, place + 1);
          } else {
            const Block::Keep keep = random_keep(random);
            block.put_first(candidate.view(), keep, model.products_with(candidate));
            model.put_first(candidate, keep);
          }
      }
      check_equal(block, model);
    }
  }
}

TEST("block: a copy of some rows knows the duals that are elsewhere, and passes them on") {
  const Block block = small_block();
  Block part;
  part.copy(block, std::vector<std::uint32_t>{2}, {.support = true});
  CHECK(part.size() == 1 && part.duals_elsewhere() == 2 && part.sums().duals == 3);
  CHECK(part.has_support() && !part.has_products());
  CHECK(part.support().size() == 2);
  Block again;
  again.copy(part, std::vector<std::uint32_t>{0}, {});
  CHECK(again.duals_elsewhere() == 2 && !again.has_support());
  Block none;
  none.copy(part, {}, {.support = true});
  CHECK(none.empty() && none.duals_elsewhere() == 3);
  CHECK(Block::from_bytes(part.as_bytes(), dimension).duals_elsewhere() == 2);
}

TEST("block: values take as many bytes as they need to keep every bit") {
  const auto size_of_values = [](const Block& block) {
    return block.with_entries([](const auto*, const auto* values) { return sizeof *values; });
  };
  for (const double value : {0.1, 1e6 + 0.1, 1e-46, 1e300, -0x1.fffffffffffffp+0, 0x1p-126 + 0x1p-150}) {
    Block block;
    Model model;
    Owned counts;
    counts.output = {1};
    counts.entries = {{3, -2}, {4, 0.375}, {9, 0x1p-149}, {11, 0x1.fffffep+127}};
    Owned reals = counts;
    reals.output = {2};
    reals.entries[1].value = value;
    block.put_first(counts.view(), {.support = true});
    model.put_first(counts, {.support = true});
    check_equal(block, model);
    CHECK(size_of_values(block) == sizeof(float));
    block.put_first(reals.view(), {.support = true});
    model.put_first(reals, {.support = true});
    check_equal(block, model);
    CHECK(size_of_values(block) == sizeof(double));
    Block read = Block::from_bytes(block.as_bytes(), dimension);
    check_equal(read, model);
  }
}

TEST("block: positions beyond 16 bits, and back") {
  constexpr std::size_t narrow = 65'536;
  for (const std::size_t count : {narrow - 1, narrow, narrow + 1, narrow + 5000}) {
    Block block;
    Model model;
    const std::vector<Owned> all{long_candidate(1, 0, 2, 10), long_candidate(2, 10, 1, count - 5),
                                 long_candidate(3, 5, 60'000, 2)};
    for (const Owned& candidate : all) {
      block.put_first(candidate.view(), {.support = true});
      model.put_first(candidate, {.support = true});
      check_equal(block, model);
    }
    const bool wide = block.support().size() > narrow;
    CHECK(block.with_positions([](const auto* positions) { return sizeof *positions == 4; }) == wide);
    CHECK(block.support().size() == count + 1);
    Block read = Block::from_bytes(block.as_bytes(), dimension);
    check_equal(read, model);
    Block copy;
    const std::vector<std::uint32_t> some{2, 0};
    copy.copy(block, some, {.support = true});
    check_equal(copy, some_rows(model, some, {.support = true}));
    block.keep_first(1);
    model.rows.resize(1);
    check_equal(block, model);
  }
}

TEST("block: memory has little to spare, and is given back") {
  Random random(8);
  Block block;
  CHECK(block.memory() == 0);
  for (std::uint8_t identity = 0; identity < 200; ++identity) {
    const Owned candidate = make_candidate(identity, random);
    const std::size_t before = block.memory();
    block.put_first(candidate.view(), {.support = true});
    block.rows()[0].dual = identity < 20 ? 1 : 0;
    CHECK(block.memory() >= before + Block::memory_of(candidate.view()));
    CHECK(block.memory() == block.as_bytes().size());
  }
  const std::size_t before = block.memory();
  std::size_t without = 0;
  for (const Block::Row& row : block.rows()) without += sizeof row + row.byte_count;
  block.forget_rows();
  CHECK(block.memory() >= without && block.memory() < without + 64);
  CHECK(block.memory() < before);
  for (std::uint8_t identity = 200; identity < 250; ++identity) {  // what is outputs alone grows in place
    const Owned candidate = make_candidate(identity, random);
    block.put_first(candidate.view(), {});
    CHECK(block.memory() <= block.as_bytes().size() * 9 / 8 + 1);
  }
  block.drop_zero_duals();
  CHECK(block.size() == 20);
  CHECK(block.memory() <= block.as_bytes().size() * 5 / 4 + 128);
  CHECK(block.memory() < before / 5);
  for (auto& row : block.rows()) row.dual = 0;
  block.drop_zero_duals();
  CHECK(block.empty() && block.memory() == 0);
  CHECK(block.find(output_key(std::vector<std::uint8_t>{1})) == nullptr);
}

TEST("block: bytes round trip, also of blocks without rows or candidates") {
  Block block = small_block();
  Block read = Block::from_bytes(block.as_bytes(), 8);
  CHECK(bytes_of(read).size() == bytes_of(block).size());
  CHECK(read.size() == 3 && read.has_support() && read.has_products());
  block.forget_rows();
  read = Block::from_bytes(block.as_bytes(), 8);
  CHECK(read.size() == 3 && !read.has_support() && !read.has_products());
  CHECK(Block::from_bytes(Block().as_bytes(), 8).empty());
  for (auto& row : block.rows()) row.dual = 0;
  block.drop_zero_duals();
  CHECK(Block::from_bytes(block.as_bytes(), 8).empty());
  block = small_block();
  block.keep_first(0);
  CHECK(Block::from_bytes(block.as_bytes(), 8).empty());
}

TEST("block: damaged bytes are refused") {
  const Block block = small_block();
  const auto bytes = bytes_of(block);
  const auto place = [&](const auto* part) {
    return static_cast<std::size_t>(reinterpret_cast<const std::uint8_t*>(part) - block.as_bytes().data());
  };
  const auto refused = [&](const std::function<void(std::vector<std::uint8_t>&)>& damage) {
    auto broken = bytes;
    damage(broken);
    CHECK_THROWS(std::invalid_argument, Block::from_bytes(broken, 8), "not those of a block");
  };
  const auto put = [](std::vector<std::uint8_t>& to, std::size_t at, auto value) {
    std::memcpy(to.data() + at, &value, sizeof value);
  };
  CHECK(Block::from_bytes(bytes, 8).size() == 3);
  CHECK_THROWS(std::invalid_argument, Block::from_bytes(bytes, 7), "not those of a block");
  for (std::size_t length = 1; length < bytes.size(); ++length) refused([&](auto& all) { all.resize(length); });
  refused([](auto& all) { all.push_back(0); });
  const auto& row = block.rows()[1];
  refused([&](auto& all) { put(all, place(&row.dual), -1.0); });
  refused([&](auto& all) { put(all, place(&row.dual), std::numeric_limits<double>::quiet_NaN()); });
  refused([&](auto& all) { put(all, place(&row.first_entry), 5U); });
  refused([&](auto& all) { put(all, place(&row.entry_count), row.entry_count + 1); });
  refused([&](auto& all) { put(all, place(&row.first_byte), 0xFFFFFFFFU); });
  refused([&](auto& all) { put(all, place(&row.byte_count), row.byte_count + 1); });
  refused([&](auto& all) { put(all, place(&block.support()[1]), block.support()[2]); });
  refused([&](auto& all) { put(all, place(&block.support().back()), WeightIndex{8}); });
  block.with_positions([&]<class Position>(const Position* positions) {
    refused([&](auto& all) { put(all, place(positions), static_cast<Position>(block.support().size())); });
  });
}

TEST("block: infinite duals are refused") {
  const Block block = small_block();
  auto bytes = bytes_of(block);
  const auto at = reinterpret_cast<const std::uint8_t*>(&block.rows()[0].dual) - block.as_bytes().data();
  const double infinite = std::numeric_limits<double>::infinity();
  std::memcpy(bytes.data() + at, &infinite, sizeof infinite);
  CHECK_THROWS(std::invalid_argument, Block::from_bytes(bytes, 8), "not those of a block");
}

TEST("block: whatever happens to single bytes, a block that is accepted can be read") {
  const auto bytes = bytes_of(small_block());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const std::uint8_t mask : {0x01, 0x40, 0x80, 0xFF}) {
      auto broken = bytes;
      broken[at] ^= mask;
      try {
        const Block block = Block::from_bytes(broken, dimension);
        CHECK(block.size() <= bytes.size() / sizeof(Block::Row));
        std::size_t entries = 0;
        std::size_t outputs = 0;
        for (const auto& row : block.rows()) {
          entries += entries_of(block, row).size();
          outputs += std::accumulate(block.output(row).begin(), block.output(row).end(), std::size_t{0});
        }
        CHECK(entries < bytes.size() && outputs < 255 * bytes.size());
        CHECK(block.support().empty() || block.support().back() < dimension);
        CHECK(block.products().size() <= bytes.size());
      } catch (const std::invalid_argument&) {
        continue;
      }
    }
  }
}

// So many rows that the size of their products, with that of the rest, is more than 2^64 bytes and comes out as a small
// one.
TEST("block: a number of rows that overflows the size is refused before it is believed") {
  std::vector<std::uint8_t> bytes(4096, 0);
  const std::uint32_t rows = (1U << 31) - 3;
  const std::uint32_t outputs = 4096 + 40;
  std::memcpy(bytes.data(), &rows, sizeof rows);
  std::memcpy(bytes.data() + 12, &outputs, sizeof outputs);
  bytes[29] = 1;  // has products
  CHECK_THROWS(std::invalid_argument, Block::from_bytes(bytes, 8), "not those of a block");
}

TEST("candidate: keys differ by content and by length") {
  CHECK(output_key(std::vector<std::uint8_t>{}) != output_key(std::vector<std::uint8_t>{0}));
  CHECK(output_key(std::vector<std::uint8_t>{0}) != output_key(std::vector<std::uint8_t>{0, 0}));
  CHECK(output_key(std::vector<std::uint8_t>{1, 2}) != output_key(std::vector<std::uint8_t>{2, 1}));
}

TEST("candidate: a batch keeps copies of its candidates") {
  Random random(9);
  marginloom::CandidateBatch batch;
  for (int round = 0; round < 2; ++round) {
    std::vector<Owned> model;
    for (std::uint8_t identity = 0; identity < 30; ++identity) {
      model.push_back(make_candidate(identity, random));
      Owned passing = model.back();
      batch.accept(passing.view());
      std::ranges::fill(passing.output, std::uint8_t{255});
    }
    CHECK(batch.size() == model.size());
    for (std::size_t k = 0; k < model.size(); ++k) {
      CHECK(batch[k].loss == model[k].loss);
      CHECK(std::ranges::equal(batch[k].output, model[k].output));
      CHECK(same_entries(batch[k].difference, model[k].entries));
    }
    batch.clear();
    CHECK(batch.empty());
  }
}
