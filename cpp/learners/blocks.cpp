#include "learners/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace marginloom {
namespace {

// w += sum of dual * difference of a block that has its rows.
void add_rows(const Block& block, std::span<double> w) {
  const auto support = block.support();
  const float* values = block.values();
  block.with_positions([&](const auto* positions) {
    for (const Block::Row& row : block.rows()) {
      const std::size_t end = std::size_t{row.first_entry} + row.entry_count;
      for (std::size_t k = row.first_entry; k < end; ++k) w[support[positions[k]]] += row.dual * values[k];
    }
  });
}

}  // namespace

Blocks::Blocks(std::shared_ptr<const Task> task, std::size_t budget, bool products)
    : task_(std::move(task)),
      implicit_(task_->capabilities().implicit),
      products_(implicit_ && products),
      budget_(budget),
      blocks_(task_->size()),
      held_(blocks_.size() * sizeof(Block)) {}

// Makes a change to a block and counts the bytes that it takes or gives back.
template <class Change>
void Blocks::change(Block& block, Change make) {
  const std::size_t before = block.memory();
  make(block);
  if (block.memory() != before) std::atomic_ref(held_).fetch_add(block.memory() - before, std::memory_order_relaxed);
}

void Blocks::put_first(Block& block, const Candidate& candidate, Block::Keep keep, Visit& visit) const {
  if (!keep.products || (!block.empty() && !block.has_products())) return block.put_first(candidate, keep);
  if (!visit.scratch) visit.scratch = task_->make_scratch();
  visit.outputs.assign(1, candidate.output);
  for (const Block::Row& row : block.rows()) visit.outputs.push_back(block.output(row));
  visit.gradient.resize(visit.outputs.size());
  task_->products(candidate.example, candidate.output, visit.outputs, *visit.scratch, visit.gradient);
  block.put_first(candidate, keep, visit.gradient);
}

void Blocks::absorb(const Candidate& candidate, Visit& visit) {
  Block& block = blocks_[candidate.example];
  if (Block::Row* known = block.find(candidate.key)) return block.move_first(*known);
  const bool store = has_room(Block::memory_of(candidate), budget_);
  change(block,
         [&](Block& changed) { put_first(changed, candidate, {store && !implicit_, store && products_}, visit); });
}

void Blocks::rebuild(std::size_t i, Visit& visit) const {
  const Block& block = blocks_[i];
  if (!visit.scratch) visit.scratch = task_->make_scratch();
  visit.rebuilt = Block();
  // The last candidate first: each is put before the others.
  for (std::size_t j = block.size(); j > 0; --j) {
    const Block::Row& row = block.rows()[j - 1];
    FunctionSink sink([&](const Candidate& candidate) {
      put_first(visit.rebuilt, candidate, {!implicit_, products_}, visit);
      visit.rebuilt.rows().front().dual = row.dual;
    });
    if (!task_->candidate(i, block.output(row), *visit.scratch, sink)) {
      throw std::logic_error("a candidate that is held is not allowed");
    }
  }
}

void Blocks::open(std::size_t i, Visit& visit) {
  Block& block = blocks_[i];
  visit.block = &block;
  if (block.empty() || (implicit_ ? !products_ || block.has_products() : block.has_support())) return;
  rebuild(i, visit);
  visit.block = &visit.rebuilt;
  if (!has_room(visit.rebuilt.memory() - std::min(block.memory(), visit.rebuilt.memory()), refill_limit())) return;
  change(block, [&](Block& stored) { std::swap(stored, visit.rebuilt); });
  visit.block = &block;
}

void Blocks::drop_zero_duals(std::size_t i) {
  const auto held = point_ ? point_->of(i) : std::span<const KeyedDual>();
  change(blocks_[i], [&](Block& block) { block.drop_zero_duals(held); });
}

void Blocks::keep_first(std::size_t i, std::size_t count) {
  change(blocks_[i], [count](Block& block) { block.keep_first(count); });
}

void Blocks::trim() {
  if (memory() <= budget_) return;
  for (std::size_t left = blocks_.size(); left > 0 && memory() > refill_limit(); --left) {
    change(blocks_[hand_], [](Block& block) { block.forget_rows(); });
    hand_ = (hand_ + 1) % blocks_.size();
  }
}

void Blocks::prefetch(std::span<const std::size_t> coming, WeightView w, bool inputs) const {
  constexpr std::size_t at_once = 2;
  constexpr std::size_t near = 4;
  constexpr std::size_t far = 8;
  constexpr std::size_t farthest = 16;
  constexpr std::size_t most = 512;
  if (coming.size() > farthest) prefetch_line(&blocks_[coming[farthest]]);
  if (coming.size() > far) blocks_[coming[far]].prefetch_header();
  if (coming.size() > near) {
    blocks_[coming[near]].prefetch();
    if (implicit_ && inputs) task_->prefetch(coming[near]);
  }
  if (w.empty() || implicit_ || coming.size() <= at_once) return;
  const auto support = blocks_[coming[at_once]].support();
  for (const WeightIndex k : support.first(std::min(support.size(), most))) prefetch_line(&w[k]);
}

// Candidate by candidate, so that blocks with and without their rows give the same bits.
void Blocks::write_weights(std::span<double> w) const {
  std::ranges::fill(w, 0.0);
  const WeightWriter writer{w.data()};
  const auto scratch = task_->make_scratch();
  std::vector<ByteView> outputs;
  std::vector<double> duals;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    if (block.empty()) continue;
    if (implicit_) {
      block.list_outputs(outputs);
      duals.clear();
      for (const Block::Row& row : block.rows()) duals.push_back(row.dual);
      task_->scatter(i, outputs, duals, writer);
    } else if (block.has_support()) {
      add_rows(block, w);
    } else {
      for (const Block::Row& row : block.rows()) {
        FunctionSink add([&](const Candidate& candidate) { add_difference(*task_, candidate, row.dual, writer); });
        (void)task_->candidate(i, block.output(row), *scratch, add);
      }
    }
  }
}

std::size_t Blocks::active() const {
  std::size_t count = 0;
  for (const Block& block : blocks_) count += block.size();
  return count;
}

StateArrays Blocks::export_state(const ExampleIds& ids) const {
  std::vector<std::uint64_t> examples;
  std::vector<double> duals;
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint8_t> outputs;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    for (const Block::Row& row : blocks_[i].rows()) {
      const ByteView output = blocks_[i].output(row);
      examples.push_back(ids[i]);
      duals.push_back(row.dual);
      outputs.insert(outputs.end(), output.begin(), output.end());
      offsets.push_back(outputs.size());
    }
  }
  return {{"dual_examples", std::move(examples)},
          {"duals", std::move(duals)},
          {"dual_output_offsets", std::move(offsets)},
          {"dual_outputs", std::move(outputs)}};
}

Blocks Blocks::imported(const StateArrays& state, const ExampleIds& ids) const {
  const auto& examples = state_array<std::uint64_t>(state, "dual_examples");
  const auto& duals = state_array<double>(state, "duals");
  const auto& offsets = state_array<std::uint64_t>(state, "dual_output_offsets");
  const auto& outputs = state_array<std::uint8_t>(state, "dual_outputs");
  if (duals.size() != examples.size() || offsets.size() != examples.size() + 1) {
    throw std::invalid_argument("the arrays of dual variables differ in length");
  }
  // Both are held until the import is complete.
  Blocks result(task_, budget_ - std::min(budget_, memory()), products_);
  Visit visit;
  const auto scratch = task_->make_scratch();
  // From the last to the first: each candidate is put before the others.
  for (std::size_t j = examples.size(); j-- > 0;) {
    if (offsets[j] > offsets[j + 1] || offsets[j + 1] > outputs.size() || !(duals[j] >= 0) ||
        !std::isfinite(duals[j])) {
      throw std::invalid_argument("dual variable " + std::to_string(j) + " of the state is broken");
    }
    const auto place = ids.place(examples[j]);
    if (!place) continue;
    FunctionSink sink([&](const Candidate& candidate) {
      if (candidate.loss == 0 && candidate.squared_norm == 0) return;
      if (result[candidate.example].find(candidate.key)) throw std::invalid_argument("the state holds an output twice");
      result.absorb(candidate, visit);
      result[candidate.example].rows().front().dual = duals[j];
    });
    const ByteView output = ByteView(outputs).subspan(offsets[j], offsets[j + 1] - offsets[j]);
    (void)task_->candidate(*place, output, *scratch, sink);
  }
  result.budget_ = budget_;
  return result;
}

StateArrays Blocks::merged(const StateArrays& first, const StateArrays& second) {
  auto offsets = state_array<std::uint64_t>(first, "dual_output_offsets");
  const auto& more = state_array<std::uint64_t>(second, "dual_output_offsets");
  if (offsets.empty() || more.empty()) throw std::invalid_argument("'dual_output_offsets' of a state is empty");
  const std::uint64_t end = offsets.back();
  for (std::size_t j = 1; j < more.size(); ++j) offsets.push_back(end + more[j]);
  return {{"dual_examples", concatenated<std::uint64_t>(first, second, "dual_examples")},
          {"duals", concatenated<double>(first, second, "duals")},
          {"dual_output_offsets", std::move(offsets)},
          {"dual_outputs", concatenated<std::uint8_t>(first, second, "dual_outputs")}};
}

}  // namespace marginloom
