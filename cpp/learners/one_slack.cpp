#include "learners/one_slack.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/kernels.hpp"

namespace marginloom {

OneSlack::OneSlack(std::shared_ptr<const Task> task, std::vector<double> costs, Parameters parameters)
    : cache_(std::move(task), parameters.memory),
      costs_(std::move(costs)),
      parameters_(parameters),
      sum_(cache_.task().dimension()) {
  if (costs_.size() != cache_.size()) throw std::invalid_argument("one cost per example is needed");
}

void OneSlack::Choice::add(std::size_t example, ByteView output) {
  examples.push_back(example);
  outputs.insert(outputs.end(), output.begin(), output.end());
  offsets.push_back(outputs.size());
}

void OneSlack::begin_pass() {
  violation_ = 0;
  forget_choice();
}

void OneSlack::forget_choice() {
  if (choice_.examples.empty()) return;
  std::ranges::fill(sum_.values(), 0.0);
  loss_sum_ = 0;
  choice_ = {};
}

void OneSlack::searched(std::size_t i, double bound) {
  violation_ += costs_[i] * bound;
}

void OneSlack::absorb(const Candidate& candidate) {
  choose(candidate.example, candidate.loss, candidate.output, candidate.difference);
  if (parameters_.cache == 0) return;
  cache_.absorb(candidate);
  cache_[candidate.example].members().front().dual = 1;
  cache_.keep_first(candidate.example, parameters_.cache);
}

void OneSlack::choose(std::size_t i, double loss, ByteView output, std::span<const Entry> difference) {
  choice_.add(i, output);
  const PlainWeights sum{sum_.values().data()};
  if (task().capabilities().implicit) {
    task().add(i, output, costs_[i], sum);
  } else {
    add_scaled(difference, costs_[i], sum);
  }
  loss_sum_ += costs_[i] * loss;
}

void OneSlack::end_pass(const PlainWeights& w, Lane& lane) {
  constexpr int most_rounds = 100;
  constexpr double share = 0.1;
  const double squared_norm = kernels().squared_norm(w.data, sum_.size());
  const double primal = squared_norm / 2 + std::exchange(violation_, 0.0);
  const double dual_before = dual(squared_norm);
  add_constraint();
  double squared_norm_after = solve(w, lane);
  for (int round = 0; round < most_rounds && parameters_.cache > 0; ++round) {
    if (!choose_from_cache(w, lane, slack() + share * (primal - dual_before))) break;
    add_constraint();
    squared_norm_after = solve(w, lane);
  }
  gap_ = primal - dual(squared_norm_after);
  cache_.trim();
}

void OneSlack::add_constraint() {
  Constraint constraint;
  constraint.loss = std::exchange(loss_sum_, 0.0);
  constraint.choice = std::exchange(choice_, {});
  for (std::size_t k = 0; k < sum_.size(); ++k) {
    if (sum_[k] == 0) continue;
    constraint.indices.push_back(static_cast<WeightIndex>(k));
    constraint.values.push_back(sum_[k]);
  }
  constraint.indices.shrink_to_fit();
  constraint.values.shrink_to_fit();
  for (const Constraint& other : constraints_) constraint.products.push_back(dot(other, sum_.values()));
  constraint.products.push_back(dot(constraint, sum_.values()));
  constraints_.push_back(std::move(constraint));
  std::ranges::fill(sum_.values(), 0.0);
}

// Puts a constraint together from the best cached candidate of every example; false, and nothing is left of it, if it
// is not violated by more than `least`.
bool OneSlack::choose_from_cache(const PlainWeights& w, Lane& lane, double least) {
  double violation = 0;
  for (std::size_t i = 0; i < cache_.size(); ++i) {
    if (i % 64 == 0 && lane.stop && lane.stop->stopped()) break;
    const auto members = cache_[i].members();
    double highest = 0;
    const WorkingSet::Member* best = nullptr;
    for (const auto& member : members) {
      const double found = member.loss - cache_.project(i, member, cache_.entries(i, member, lane.scratch), w).dot;
      if (found > highest) {
        highest = found;
        best = &member;
      }
    }
    if (!best) continue;
    violation += costs_[i] * highest;
    choose(i, best->loss, cache_[i].output(*best), cache_.entries(i, *best, lane.scratch));
  }
  if (violation > least) return true;
  forget_choice();
  return false;
}

// Solves the programme to a hundredth of the newest constraint's violation; returns |w|^2.
double OneSlack::solve(const PlainWeights& w, Lane& lane) {
  constexpr double precision = 0.01;
  const std::size_t size = constraints_.size();
  qp_.reset(size);
  std::vector<double> duals(size);
  for (std::size_t c = 0; c < size; ++c) {
    const Constraint& constraint = constraints_[c];
    for (std::size_t d = 0; d <= c; ++d) qp_.product(c, d) = qp_.product(d, c) = constraint.products[d];
    duals[c] = constraint.dual;
  }
  std::vector<double> gradient = violations();
  const double tolerance = precision * SimplexQp::residual(duals, gradient, 1);
  qp_.solve(duals, gradient, 1, tolerance, 1000 * size);
  for (std::size_t c = 0; c < size; ++c) {
    Constraint& constraint = constraints_[c];
    const double step = duals[c] - constraint.dual;
    constraint.dual = duals[c];
    constraint.idle = duals[c] > 0 ? 0 : constraint.idle + 1;
    if (step == 0) continue;
    ++lane.updates;
    for (std::size_t k = 0; k < constraint.indices.size(); ++k) {
      w.add(constraint.indices[k], step * constraint.values[k]);
    }
  }
  remove_inactive();
  return kernels().squared_norm(w.data, sum_.size());
}

void OneSlack::remove_inactive() {
  std::size_t kept = 0;
  for (std::size_t c = 0; c < constraints_.size(); ++c) {
    if (constraints_[c].idle > parameters_.inactive) {
      for (std::size_t later = c + 1; later < constraints_.size(); ++later) {
        auto& products = constraints_[later].products;
        products.erase(products.begin() + static_cast<std::ptrdiff_t>(kept));
      }
    } else {
      if (kept != c) constraints_[kept] = std::move(constraints_[c]);
      ++kept;
    }
  }
  constraints_.resize(kept);
}

// loss - w.g of all constraints; as w = sum a g, their products are all that it takes.
std::vector<double> OneSlack::violations() const {
  std::vector<double> result(constraints_.size());
  for (std::size_t c = 0; c < constraints_.size(); ++c) result[c] = constraints_[c].loss;
  for (std::size_t c = 0; c < constraints_.size(); ++c) {
    for (std::size_t d = 0; d <= c; ++d) {
      result[c] -= constraints_[d].dual * constraints_[c].products[d];
      if (d != c) result[d] -= constraints_[c].dual * constraints_[c].products[d];
    }
  }
  return result;
}

double OneSlack::slack() const {
  const auto all = violations();
  double highest = 0;
  for (std::size_t c = 0; c < constraints_.size(); ++c) {
    if (constraints_[c].dual > 0) highest = std::max(highest, all[c]);
  }
  return highest;
}

double OneSlack::dot(const Constraint& constraint, std::span<const double> w) const {
  double sum = 0;
  for (std::size_t k = 0; k < constraint.indices.size(); ++k) sum += w[constraint.indices[k]] * constraint.values[k];
  return sum;
}

double OneSlack::dual(double squared_norm) const {
  double sum = -squared_norm / 2;
  for (const Constraint& constraint : constraints_) sum += constraint.dual * constraint.loss;
  return sum;
}

void OneSlack::write_weights(std::span<double> w) const {
  std::ranges::fill(w, 0.0);
  for (const Constraint& constraint : constraints_) {
    for (std::size_t k = 0; k < constraint.indices.size(); ++k) {
      w[constraint.indices[k]] += constraint.dual * constraint.values[k];
    }
  }
}

std::size_t OneSlack::memory() const {
  std::size_t bytes = cache_.memory();
  for (const Constraint& constraint : constraints_) {
    bytes += sizeof(Constraint) + constraint.indices.capacity() * (sizeof(WeightIndex) + sizeof(double)) +
             constraint.choice.outputs.capacity() + constraint.choice.examples.capacity() * 2 * sizeof(std::uint64_t);
  }
  return bytes;
}

StateArrays OneSlack::export_state() const {
  StateArrays state = cache_.export_state();
  std::vector<double> duals;
  std::vector<std::uint64_t> idle;
  std::vector<std::uint64_t> sizes;
  Choice all;
  for (const Constraint& constraint : constraints_) {
    const Choice& choice = constraint.choice;
    duals.push_back(constraint.dual);
    idle.push_back(constraint.idle);
    sizes.push_back(choice.examples.size());
    for (std::size_t j = 0; j < choice.examples.size(); ++j) {
      all.add(choice.examples[j],
              ByteView(choice.outputs).subspan(choice.offsets[j], choice.offsets[j + 1] - choice.offsets[j]));
    }
  }
  state["constraint_duals"] = std::move(duals);
  state["constraint_idle"] = std::move(idle);
  state["constraint_sizes"] = std::move(sizes);
  state["constraint_examples"] = std::move(all.examples);
  state["constraint_offsets"] = std::move(all.offsets);
  state["constraint_outputs"] = std::move(all.outputs);
  state["one_slack_gap"] = std::vector<double>{gap_};
  return state;
}

void OneSlack::import_state(const StateArrays& state) {
  const auto& duals = state_array<double>(state, "constraint_duals");
  const auto& idle = state_array<std::uint64_t>(state, "constraint_idle");
  const auto& sizes = state_array<std::uint64_t>(state, "constraint_sizes");
  const auto& examples = state_array<std::uint64_t>(state, "constraint_examples");
  const auto& offsets = state_array<std::uint64_t>(state, "constraint_offsets");
  const auto& outputs = state_array<std::uint8_t>(state, "constraint_outputs");
  const auto& gap = state_array<double>(state, "one_slack_gap");
  const auto refuse = [] { throw std::invalid_argument("the constraints of the state do not fit together"); };
  if (idle.size() != duals.size() || sizes.size() != duals.size() || offsets.size() != examples.size() + 1 ||
      gap.size() != 1 || !all_finite(duals) || !all_finite(gap)) {
    refuse();
  }
  OneSlack fresh(cache_.shared_task(), costs_, parameters_);
  fresh.cache_ = cache_.imported(state);
  const auto scratch = task().make_scratch();
  std::vector<std::size_t> chosen_by(costs_.size(), duals.size());  // the last constraint that names the example
  std::size_t part = 0;
  double dual_sum = 0;
  for (std::size_t c = 0; c < duals.size(); ++c) {
    if (!(duals[c] >= 0) || sizes[c] > examples.size() - part) refuse();
    dual_sum += duals[c];
    for (const std::size_t end = part + sizes[c]; part < end; ++part) {
      if (examples[part] >= costs_.size() || offsets[part] > offsets[part + 1] || offsets[part + 1] > outputs.size() ||
          std::exchange(chosen_by[examples[part]], c) == c) {
        refuse();
      }
      FunctionSink sink([&](const Candidate& candidate) {
        fresh.choose(candidate.example, candidate.loss, candidate.output, candidate.difference);
      });
      // An output that is not allowed any more makes way for gold, which leaves a constraint as good as any.
      (void)task().candidate(
          examples[part], ByteView(outputs).subspan(offsets[part], offsets[part + 1] - offsets[part]), *scratch, sink);
    }
    fresh.add_constraint();
    fresh.constraints_.back().dual = duals[c];
    fresh.constraints_.back().idle = idle[c];
  }
  if (part != examples.size() || dual_sum > 1 + 1e-9) refuse();
  fresh.gap_ = gap[0];
  *this = std::move(fresh);
}

}  // namespace marginloom
