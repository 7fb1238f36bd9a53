#include "learners/dual_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace marginloom {

DualBlocks::DualBlocks(std::shared_ptr<const Task> task)
    : task_(std::move(task)), implicit_(task_->capabilities().implicit), sets_(task_->size()) {}

void DualBlocks::write_weights(std::span<double> w) const {
  std::ranges::fill(w, 0.0);
  const PlainWeights plain{w.data()};
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    for (const auto& member : sets_[i].members()) add(i, member, member.dual, plain);
  }
}

double DualBlocks::weighted_loss() const {
  double sum = 0;
  for (const WorkingSet& set : sets_) {
    for (const auto& member : set.members()) sum += member.dual * member.loss;
  }
  return sum;
}

std::size_t DualBlocks::active() const {
  std::size_t count = 0;
  for (const WorkingSet& set : sets_) count += set.size();
  return count;
}

std::size_t DualBlocks::memory() const {
  std::size_t bytes = sets_.size() * sizeof(WorkingSet);
  for (const WorkingSet& set : sets_) bytes += set.memory();
  return bytes;
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
  DualBlocks result(task_);
  std::vector<WorkingSet>& sets = result.sets_;
  const auto scratch = task_->make_scratch();
  for (std::size_t j = 0; j < examples.size(); ++j) {
    if (examples[j] >= sets.size() || offsets[j] > offsets[j + 1] || offsets[j + 1] > outputs.size() ||
        !(duals[j] >= 0) || !std::isfinite(duals[j])) {
      throw std::invalid_argument("dual variable " + std::to_string(j) + " of the state is not one of this task");
    }
    FunctionSink sink([&](const Candidate& candidate) {
      WorkingSet& set = sets[candidate.example];
      if (set.contains(candidate.key)) throw std::invalid_argument("the state holds an output twice");
      set.append(candidate).dual = duals[j];
    });
    const ByteView output = ByteView(outputs).subspan(offsets[j], offsets[j + 1] - offsets[j]);
    task_->candidate(examples[j], output, *scratch, sink);
  }
  return result;
}

}  // namespace marginloom
