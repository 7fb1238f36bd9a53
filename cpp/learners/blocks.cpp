#include "learners/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace marginloom {
namespace {

// w += sum of dual * difference of a block that has its rows, for these positions of its support.
void add_rows(const Block& block, std::size_t first, std::size_t last, std::span<double> w) {
  const auto support = block.support();
  block.with_entries([&](const auto* positions, const auto* values) {
    for (const Block::Row& row : block.rows()) {
      const auto* const end = positions + row.first_entry + row.entry_count;
      const auto* place = positions + row.first_entry;
      if (first > 0) place = std::lower_bound(place, end, first);
      for (; place != end && *place < last; ++place) w[support[*place]] += row.dual * values[place - positions];
    }
  });
}

}  // namespace

Blocks::Blocks(std::shared_ptr<const Task> task, std::size_t budget, bool products)
    : task_(std::move(task)),
      implicit_(task_->implicit()),
      products_(products),
      budget_(budget),
      blocks_(budget > 0 ? task_->size() : 0),
      held_(blocks_.size() * sizeof(Block)) {}

Blocks Blocks::another(double share) const {
  const auto part = static_cast<std::size_t>(share * static_cast<double>(budget_));
  return {task_, budget_ == unlimited ? unlimited : std::max<std::size_t>(part, 1), products_};
}

// Makes a change to a block and counts the bytes and candidates that it takes or gives back.
template <class Change>
void Blocks::change(Block& block, Change make) {
  const std::size_t bytes = block.memory();
  const std::size_t candidates = block.size();
  make(block);
  const auto count = [](std::size_t& counter, std::size_t before, std::size_t after) {
    if (after != before) std::atomic_ref(counter).fetch_add(after - before, std::memory_order_relaxed);
  };
  count(held_, bytes, block.memory());
  count(active_, candidates, block.size());
}

void Blocks::put_first(Block& block, const Candidate& candidate, Block::Keep keep, VisitScratch& scratch) const {
  if (!keep.products || (!block.empty() && !block.has_products())) return block.put_first(candidate, keep);
  auto& products = scratch.products;
  if (!implicit_) {
    products.assign(block.size() + 1, 0.0);
    block.put_first(candidate, keep, products);
    return multiply_first(block, scratch);
  }
  auto& outputs = scratch.outputs;
  outputs.assign(1, candidate.output);
  for (const Block::Row& row : block.rows()) outputs.push_back(block.output(row));
  products.resize(outputs.size());
  implicit_->products(candidate.example, candidate.output, outputs, scratch.for_task(*task_), products);
  block.put_first(candidate, keep, products);
}

void Blocks::absorb(const Candidate& candidate, VisitScratch& scratch) {
  Block& block = blocks_[candidate.example];
  if (Block::Row* known = block.find(candidate.key)) return block.move_first(*known);
  const bool store = has_room(Block::memory_of(candidate), budget_);
  change(block,
         [&](Block& changed) { put_first(changed, candidate, {store && !implicit_, store && products_}, scratch); });
}

void Blocks::put(std::size_t i, const Block& from) {
  if (from.empty()) return keep_first(i, 0);
  const bool store = has_room(from.memory(), budget_);
  std::vector<std::uint32_t> all(from.size());
  std::iota(all.begin(), all.end(), 0U);
  change(blocks_[i], [&](Block& changed) {
    changed.copy(from, all, {store && !implicit_ && from.has_support(), store && products_ && from.has_products()});
  });
}

void Blocks::rebuild(std::size_t i, VisitScratch& scratch) const {
  const Block& block = blocks_[i];
  scratch.rebuilt = Block();
  // The last candidate first: each is put before the others.
  for (std::size_t j = block.size(); j > 0; --j) {
    const Block::Row& row = block.rows()[j - 1];
    FunctionSink sink([&](const Candidate& candidate) {
      put_first(scratch.rebuilt, candidate, {!implicit_, products_}, scratch);
      scratch.rebuilt.rows().front().dual = row.dual;
    });
    if (!task_->candidate(i, block.output(row), scratch.for_task(*task_), sink)) {
      throw std::logic_error("a candidate that is held is not allowed");
    }
  }
}

void Blocks::open(std::size_t i, Visit& visit) {
  Block& block = blocks_[i];
  visit.open.block = &block;
  if (block.empty() || (implicit_ ? !products_ || block.has_products() : block.has_support())) return;
  Block& rebuilt = visit.scratch.rebuilt;
  rebuild(i, visit.scratch);
  visit.open.block = &rebuilt;
  if (!has_room(rebuilt.memory() - std::min(block.memory(), rebuilt.memory()), refill_limit())) return;
  change(block, [&](Block& stored) { std::swap(stored, rebuilt); });
  visit.open.block = &block;
}

void Blocks::add(std::size_t i, double times, const WeightWriter& w, Visit& visit) {
  if (blocks_[i].empty()) return;
  open(i, visit);
  const Block& block = *visit.open.block;
  if (!block.has_support()) block.list_outputs(visit.open.outputs);
  visit.open.duals.clear();
  for (const Block::Row& row : block.rows()) visit.open.duals.push_back(times * row.dual);
  add_differences(*task_, i, visit.open.duals, w, visit);
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
    change(blocks_[next_to_trim_], [](Block& block) { block.forget_rows(); });
    next_to_trim_ = (next_to_trim_ + 1) % blocks_.size();
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
    if (implicit_ && inputs) implicit_->prefetch(coming[near]);
  }
  if (w.empty() || implicit_ || coming.size() <= at_once) return;
  const auto support = blocks_[coming[at_once]].support();
  for (const WeightIndex k : support.first(std::min(support.size(), most))) prefetch_line(&w[k]);
}

void Blocks::write_weights(std::span<double> w, int threads) const {
  const auto has_rows = [](const Block& block) { return block.empty() || block.has_support(); };
  if (threads <= 1 || implicit_ || !std::ranges::all_of(blocks_, has_rows)) return write_all(w);
  StopRequest never;
  const auto bounds = ranges_of_weights(static_cast<std::size_t>(threads));
  (void)parallel_for(bounds.size() - 1, 1, threads, never, [&](int, std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) write_range(w, bounds[k], bounds[k + 1]);
  });
}

// Bounds of ranges that are about as much work each, by the supports of some blocks.
std::vector<std::size_t> Blocks::ranges_of_weights(std::size_t count) const {
  constexpr std::size_t most = 64;
  std::vector<std::size_t> sample;
  for (std::size_t i = 0; i < blocks_.size(); i += 1 + blocks_.size() / most) {
    sample.insert(sample.end(), blocks_[i].support().begin(), blocks_[i].support().end());
  }
  std::ranges::sort(sample);
  std::vector<std::size_t> bounds{0};
  for (std::size_t k = 1; k < count && !sample.empty(); ++k) bounds.push_back(sample[k * sample.size() / count]);
  bounds.push_back(task_->dimension());
  return bounds;
}

// What all blocks add to some of the weights.
void Blocks::write_range(std::span<double> w, std::size_t begin, std::size_t end) const {
  constexpr std::size_t ahead = 8;
  std::fill(w.begin() + static_cast<std::ptrdiff_t>(begin), w.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (i + ahead < blocks_.size()) blocks_[i + ahead].prefetch_header();
    if (i + ahead / 2 < blocks_.size()) blocks_[i + ahead / 2].prefetch();
    const auto support = blocks_[i].support();
    const auto first = std::ranges::lower_bound(support, begin) - support.begin();
    const auto last = std::ranges::lower_bound(support, end) - support.begin();
    if (first < last) add_rows(blocks_[i], static_cast<std::size_t>(first), static_cast<std::size_t>(last), w);
  }
}

// Candidate by candidate, so that blocks with and without their rows give the same bits.
void Blocks::write_all(std::span<double> w) const {
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
      implicit_->scatter(i, outputs, duals, writer);
    } else if (block.has_support()) {
      add_rows(block, 0, block.support().size(), w);
    } else {
      for (const Block::Row& row : block.rows()) {
        FunctionSink add([&](const Candidate& candidate) { add_difference(*task_, candidate, row.dual, writer); });
        (void)task_->candidate(i, block.output(row), *scratch, add);
      }
    }
  }
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
  Blocks result(task_, std::max<std::size_t>(budget_ - std::min(budget_, memory()), 1), products_);
  VisitScratch visit_scratch;
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
      result.absorb(candidate, visit_scratch);
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
