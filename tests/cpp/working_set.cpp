#include "core/working_set.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "test.hpp"

using marginloom::ByteView;
using marginloom::Candidate;
using marginloom::Entry;
using marginloom::output_key;
using marginloom::Random;
using marginloom::WorkingSet;

namespace {

// A candidate that owns what a Candidate views, and the dual that the set should hold for it.
struct Owned {
  std::vector<std::uint8_t> output;
  std::vector<Entry> entries;
  double loss = 0;
  double squared_norm = 0;
  double dual = 0;
  bool stored = true;

  [[nodiscard]] Candidate view() const {
    return {.example = 0,
            .loss = loss,
            .squared_norm = squared_norm,
            .key = output_key(output),
            .output = output,
            .difference = entries};
  }
};

// The identity is in the output's first byte; sizes vary, and implicit candidates have no entries at all.
Owned make_candidate(std::uint8_t identity, Random& random) {
  Owned result;
  result.output.assign(1 + random.below(5), identity);
  for (std::size_t left = random.below(4); left > 0; --left) {
    result.entries.push_back(
        {static_cast<marginloom::WeightIndex>(random.below(1000)), static_cast<float>(random.below(100))});
  }
  result.loss = static_cast<double>(random.below(50));
  result.squared_norm = static_cast<double>(random.below(50));
  return result;
}

bool same_entries(std::span<const Entry> a, std::span<const Entry> b) {
  return std::ranges::equal(a, b,
                            [](const Entry& x, const Entry& y) { return x.index == y.index && x.value == y.value; });
}

void check_equal(const WorkingSet& set, const std::vector<Owned>& model) {
  CHECK(set.size() == model.size());
  CHECK(set.empty() == model.empty());
  double sum = 0;
  for (std::size_t j = 0; j < model.size(); ++j) {
    const auto& member = set.members()[j];
    CHECK(member.key == output_key(model[j].output));
    CHECK(member.dual == model[j].dual);
    CHECK(member.loss == model[j].loss);
    CHECK(member.squared_norm == model[j].squared_norm);
    CHECK(std::ranges::equal(set.output(member), model[j].output));
    CHECK(member.stored() == model[j].stored);
    CHECK(member.entry_count == model[j].entries.size());
    if (member.stored()) CHECK(same_entries(set.difference(member), model[j].entries));
    CHECK(set.contains(member.key));
    sum += model[j].dual;
  }
  CHECK(set.sums().duals == sum);
}

}  // namespace

TEST("working_set: outputs and differences stay with their member through random operations") {
  Random random(6);
  for (int sequence = 0; sequence < 50; ++sequence) {
    WorkingSet set;
    std::vector<Owned> model;
    std::vector<Owned> known;
    for (std::uint8_t identity = 0; identity < 12; ++identity) known.push_back(make_candidate(identity, random));
    for (int operation = 0; operation < 200; ++operation) {
      Owned candidate = known[random.below(known.size())];
      const auto place = std::ranges::find(model, candidate.output, &Owned::output);
      const bool held = place != model.end();
      CHECK(set.contains(output_key(candidate.output)) == held);
      candidate.stored = random.below(3) > 0;
      switch (random.below(16)) {
        case 0:
        case 1:
        case 2:
          if (held) break;
          candidate.dual = static_cast<double>(random.below(3));
          set.append(candidate.view(), candidate.stored).dual = candidate.dual;
          model.push_back(candidate);
          break;
        case 3:
          set.drop_differences();
          for (Owned& owned : model) owned.stored = false;
          break;
        case 4:
        case 5:
          for (std::size_t j = 0; j < model.size(); ++j) {
            if (model[j].stored || random.below(2) == 0) continue;
            set.store_difference(set.members()[j], model[j].entries);
            model[j].stored = true;
          }
          break;
        case 6:
        case 7:
        case 8:
        case 9:
          set.put_first(candidate.view(), candidate.stored);
          if (held) {
            candidate = *place;
            model.erase(place);
          }
          model.insert(model.begin(), candidate);
          break;
        case 10: {
          const std::size_t kept = random.below(model.size() + 2);
          set.keep_first(kept);
          model.resize(std::min(model.size(), kept));
          break;
        }
        case 11:
        case 12:
          for (std::size_t j = 0; j < model.size(); ++j) {
            set.members()[j].dual = model[j].dual = static_cast<double>(random.below(3));
          }
          random.shuffle(set.members());
          std::ranges::sort(model, {}, [&](const Owned& owned) {
            return std::ranges::find(set.members(), output_key(owned.output), &WorkingSet::Member::key) -
                   set.members().begin();
          });
          break;
        default:
          set.drop_zero_duals();
          std::erase_if(model, [](const Owned& owned) { return owned.dual == 0; });
      }
      check_equal(set, model);
    }
  }
}

TEST("working_set: a known candidate moves to the front with its dual") {
  Random random(7);
  const Owned first = make_candidate(1, random);
  const Owned second = make_candidate(2, random);
  WorkingSet set;
  set.put_first(first.view());
  set.members()[0].dual = 0.5;
  set.put_first(second.view());
  CHECK(set.members()[0].key == output_key(second.output));
  set.put_first(first.view());
  CHECK(set.size() == 2);
  CHECK(set.members()[0].key == output_key(first.output));
  CHECK(set.members()[0].dual == 0.5);
}

TEST("working_set: memory has little to spare, and is given back") {
  Random random(8);
  WorkingSet set;
  CHECK(set.memory() == 0);
  std::size_t needed = 0;
  std::size_t without = 0;
  for (std::uint8_t identity = 0; identity < 200; ++identity) {
    const Owned candidate = make_candidate(identity, random);
    const std::size_t apart = candidate.output.size() > 4 ? candidate.output.size() : 0;  // others are in the member
    needed += WorkingSet::memory_of(candidate.view());
    without += sizeof(WorkingSet::Member) + apart;
    set.append(candidate.view()).dual = identity < 20 ? 1 : 0;
    CHECK(set.memory() >= needed && set.memory() <= needed + needed / 8 + 16);
  }
  const std::size_t before = set.memory();
  set.drop_differences();
  CHECK(set.memory() >= without && set.memory() < before);
  set.drop_zero_duals();
  CHECK(set.size() == 20);
  CHECK(set.memory() < before / 5);
  for (auto& member : set.members()) member.dual = 0;
  set.drop_zero_duals();
  CHECK(set.empty() && set.memory() < 500);
  CHECK(!set.contains(output_key(std::vector<std::uint8_t>{1})));
}

TEST("working_set: keys differ by content and by length") {
  CHECK(output_key(std::vector<std::uint8_t>{}) != output_key(std::vector<std::uint8_t>{0}));
  CHECK(output_key(std::vector<std::uint8_t>{0}) != output_key(std::vector<std::uint8_t>{0, 0}));
  CHECK(output_key(std::vector<std::uint8_t>{1, 2}) != output_key(std::vector<std::uint8_t>{2, 1}));
}

TEST("working_set: a batch keeps copies of its candidates") {
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
