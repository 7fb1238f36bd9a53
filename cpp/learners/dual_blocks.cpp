#include "learners/dual_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace marginloom {

DualBlocks::DualBlocks(std::shared_ptr<const Task> task, std::size_t budget)
    : task_(std::move(task)),
      implicit_(task_->capabilities().implicit),
      budget_(budget),
      sets_(task_->size()),
      held_(sets_.size() * sizeof(WorkingSet)) {}

// Makes a change to a set and counts the bytes that it takes or gives back.
template <class Change>
void DualBlocks::change(WorkingSet& set, Change make) {
  const std::size_t before = set.memory();
  make(set);
  if (set.memory() != before) std::atomic_ref(held_).fetch_add(set.memory() - before, std::memory_order_relaxed);
}

void DualBlocks::absorb(const Candidate& candidate) {
  const bool store = has_room(WorkingSet::memory_of(candidate), budget_);
  change(sets_[candidate.example], [&](WorkingSet& set) { set.put_first(candidate, store); });
}

void DualBlocks::drop_zero_duals(std::size_t i) {
  change(sets_[i], [](WorkingSet& set) { set.drop_zero_duals(); });
}

void DualBlocks::keep_first(std::size_t i, std::size_t count) {
  change(sets_[i], [count](WorkingSet& set) { set.keep_first(count); });
}

void DualBlocks::store(std::size_t i, WorkingSet::Member& member, std::span<const Entry> entries) {
  change(sets_[i], [&](WorkingSet& set) { set.store_difference(member, entries); });
}

void DualBlocks::trim() {
  if (memory() <= budget_) return;
  for (std::size_t left = sets_.size(); left > 0 && memory() > refill_limit(); --left) {
    change(sets_[hand_], [](WorkingSet& set) { set.drop_differences(); });
    hand_ = (hand_ + 1) % sets_.size();
  }
}

std::span<const Entry> DualBlocks::rebuilt(std::size_t i, const WorkingSet::Member& member,
                                           std::unique_ptr<Scratch>& scratch) const {
  if (implicit_) return {};
  if (!scratch) scratch = task_->make_scratch();
  std::span<const Entry> entries;
  FunctionSink sink([&](const Candidate& candidate) { entries = candidate.difference; });
  if (!task_->candidate(i, sets_[i].output(member), *scratch, sink)) {
    throw std::logic_error("a candidate that is held is not allowed");
  }
  return entries;
}

void DualBlocks::gather(std::size_t i, BlockWorkspace& work, std::unique_ptr<Scratch>& scratch) const {
  const auto members = sets_[i].members();
  work.outputs.resize(members.size());
  for (std::size_t j = 0; j < members.size(); ++j) work.outputs[j] = sets_[i].output(members[j]);
  if (implicit_) return;
  work.differences.clear();
  work.rebuilt.clear();
  for (const auto& member : members) {
    if (member.stored()) continue;
    const auto entries = rebuilt(i, member, scratch);
    work.rebuilt.insert(work.rebuilt.end(), entries.begin(), entries.end());
  }
  std::span<const Entry> left = work.rebuilt;  // spans only now: the vector has stopped growing
  for (const auto& member : members) {
    if (member.stored()) {
      work.differences.push_back(sets_[i].difference(member));
    } else {
      work.differences.push_back(left.first(member.entry_count));
      left = left.subspan(member.entry_count);
    }
  }
}

double DualBlocks::product(std::size_t i, std::size_t j, std::size_t k, BlockWorkspace& work) const {
  const auto members = sets_[i].members();
  if (j == k) return members[j].squared_norm;
  if (implicit_) return implicit_product(i, members[j], members[k], work.spread);
  const auto first = work.differences[j];
  const auto second = work.differences[k];
  double sum = 0;
  for (std::size_t a = 0, b = 0; a < first.size() && b < second.size();) {
    if (first[a].index == second[b].index) sum += static_cast<double>(first[a].value) * second[b].value;
    const WeightIndex reached = std::min(first[a].index, second[b].index);
    a += first[a].index == reached ? 1 : 0;
    b += second[b].index == reached ? 1 : 0;
  }
  return sum;
}

double DualBlocks::implicit_product(std::size_t i, const WorkingSet::Member& first, const WorkingSet::Member& second,
                                    std::vector<double>& spread) const {
  spread.resize(task_->dimension());
  const PlainWeights plain{spread.data()};
  task_->add(i, sets_[i].output(first), 1, plain);
  const double sum = task_->dot(i, sets_[i].output(second), plain);
  task_->add(i, sets_[i].output(first), -1, plain);
  return sum;
}

void DualBlocks::fill_products(std::size_t i, BlockWorkspace& work, double factor) const {
  const std::size_t size = sets_[i].size();
  work.qp.reset(size);
  if (implicit_ && task_->products(i, work.outputs, work.qp.products())) {
    for (double& product : work.qp.products()) product *= factor;
    return;
  }
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = j; k < size; ++k) {
      work.qp.product(j, k) = work.qp.product(k, j) = factor * product(i, j, k, work);
    }
  }
}

void DualBlocks::write_weights(std::span<double> w) const {
  std::ranges::fill(w, 0.0);
  const PlainWeights plain{w.data()};
  std::unique_ptr<Scratch> scratch;
  BlockWorkspace work;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    if (sets_[i].empty()) continue;
    gather(i, work, scratch);
    work.steps.clear();
    for (const auto& member : sets_[i].members()) work.steps.push_back(member.dual);
    add_all(i, work, plain);
  }
}

std::size_t DualBlocks::active() const {
  std::size_t count = 0;
  for (const WorkingSet& set : sets_) count += set.size();
  return count;
}

StateArrays DualBlocks::export_state() const {
  std::vector<std::uint64_t> examples;
  std::vector<double> duals;
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint8_t> outputs;
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    for (const auto& member : sets_[i].members()) {
      const ByteView output = sets_[i].output(member);
      examples.push_back(i);
      duals.push_back(member.dual);
      outputs.insert(outputs.end(), output.begin(), output.end());
      offsets.push_back(outputs.size());
    }
  }
  return {{"dual_examples", std::move(examples)},
          {"duals", std::move(duals)},
          {"dual_output_offsets", std::move(offsets)},
          {"dual_outputs", std::move(outputs)}};
}

DualBlocks DualBlocks::imported(const StateArrays& state) const {
  const auto& examples = state_array<std::uint64_t>(state, "dual_examples");
  const auto& duals = state_array<double>(state, "duals");
  const auto& offsets = state_array<std::uint64_t>(state, "dual_output_offsets");
  const auto& outputs = state_array<std::uint8_t>(state, "dual_outputs");
  if (duals.size() != examples.size() || offsets.size() != examples.size() + 1) {
    throw std::invalid_argument("the arrays of dual variables differ in length");
  }
  DualBlocks result(task_, budget_ - std::min(budget_, memory()));  // both are held until the import is complete
  std::vector<WorkingSet>& sets = result.sets_;
  const auto scratch = task_->make_scratch();
  for (std::size_t j = 0; j < examples.size(); ++j) {
    if (examples[j] >= sets.size() || offsets[j] > offsets[j + 1] || offsets[j + 1] > outputs.size() ||
        !(duals[j] >= 0) || !std::isfinite(duals[j])) {
      throw std::invalid_argument("dual variable " + std::to_string(j) + " of the state is not one of this task");
    }
    FunctionSink sink([&](const Candidate& candidate) {
      if (candidate.loss == 0 && candidate.squared_norm == 0) return;
      WorkingSet& set = sets[candidate.example];
      if (set.contains(candidate.key)) throw std::invalid_argument("the state holds an output twice");
      const bool store = result.has_room(WorkingSet::memory_of(candidate), result.budget_);
      result.change(set, [&](WorkingSet& changed) { changed.append(candidate, store).dual = duals[j]; });
    });
    const ByteView output = ByteView(outputs).subspan(offsets[j], offsets[j + 1] - offsets[j]);
    (void)task_->candidate(examples[j], output, *scratch, sink);
  }
  result.budget_ = budget_;
  return result;
}

}  // namespace marginloom
