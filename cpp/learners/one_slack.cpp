#include "learners/one_slack.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/kernels.hpp"
#include "learners/registered_learner.hpp"

namespace marginloom {

OneSlack::OneSlack(std::shared_ptr<const Task> task, ExampleNumbers costs, Parameters parameters)
    : BlockLearner({std::move(task), std::move(costs), Loss::hinge}, parameters.memory, false),
      parameters_(parameters),
      sum_(this->task().dimension()) {}

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
  violation_ += cost(i) * bound;
}

void OneSlack::absorb(const Candidate& candidate, VisitScratch& scratch) {
  choose(candidate);
  if (parameters_.cache == 0) return;
  blocks_.absorb(candidate, scratch);
  blocks_[candidate.example].rows().front().dual = 1;
  blocks_.keep_first(candidate.example, parameters_.cache);
}

void OneSlack::choose(const Candidate& candidate) {
  const double cost = this->cost(candidate.example);
  choice_.add(candidate.example, candidate.output);
  add_difference(task(), candidate, cost, {sum_.values().data()});
  loss_sum_ += cost * candidate.loss;
}

PassEnd OneSlack::end_pass(std::span<double> w, Visit& visit, StopRequest& stop) {
  constexpr int most_rounds = 100;
  constexpr double share = 0.1;
  const double squared_norm = kernels().squared_norm(w.data(), w.size());
  const double primal = squared_norm / 2 + std::exchange(violation_, 0.0);
  const double dual_before = dual(squared_norm);
  add_constraint();
  Solution solution = solve_constraints(w);
  std::size_t updates = solution.updates;
  for (int round = 0; round < most_rounds && parameters_.cache > 0; ++round) {
    if (!choose_from_cache(w, visit, stop, slack() + share * (primal - dual_before))) break;
    add_constraint();
    solution = solve_constraints(w);
    updates += solution.updates;
  }
  blocks_.trim();
  return {updates, primal - dual(solution.squared_norm)};
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
bool OneSlack::choose_from_cache(WeightView w, Visit& visit, StopRequest& stop, double least) {
  double violation = 0;
  std::vector<double> costs_of_chosen;  // 0 for the candidates that are not
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (i % 64 == 0 && stop.stopped()) break;
    if (blocks_[i].empty()) continue;
    blocks_.open(i, visit);
    gather(task(), i, w, visit);
    const OpenBlock& open = visit.open;
    double highest = 0;
    const Block::Row* best = nullptr;
    for (const Block::Row& row : open.block->rows()) {
      const double found = row.loss - open.dot(row);
      if (found > highest) {
        highest = found;
        best = &row;
      }
    }
    if (!best) continue;
    violation += cost(i) * highest;
    choice_.add(i, open.block->output(*best));
    loss_sum_ += cost(i) * best->loss;
    costs_of_chosen.assign(open.block->size(), 0.0);
    costs_of_chosen[static_cast<std::size_t>(best - open.block->rows().data())] = cost(i);
    add_differences(task(), i, costs_of_chosen, {sum_.values().data()}, visit);
  }
  if (violation > least) return true;
  forget_choice();
  return false;
}

// To a hundredth of the newest constraint's violation.
OneSlack::Solution OneSlack::solve_constraints(std::span<double> w) {
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
  Solution result;
  for (std::size_t c = 0; c < size; ++c) {
    Constraint& constraint = constraints_[c];
    const double step = duals[c] - constraint.dual;
    constraint.dual = duals[c];
    constraint.idle = duals[c] > 0 ? 0 : constraint.idle + 1;
    if (step == 0) continue;
    ++result.updates;
    for (std::size_t k = 0; k < constraint.indices.size(); ++k) {
      w[constraint.indices[k]] += step * constraint.values[k];
    }
  }
  remove_inactive();
  result.squared_norm = kernels().squared_norm(w.data(), w.size());
  return result;
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

void OneSlack::write_weights(std::span<double> w, int) {
  std::ranges::fill(w, 0.0);
  for (const Constraint& constraint : constraints_) {
    for (std::size_t k = 0; k < constraint.indices.size(); ++k) {
      w[constraint.indices[k]] += constraint.dual * constraint.values[k];
    }
  }
}

DualLearner::Held OneSlack::held() const {
  Held result{constraints_.size(), blocks_.memory()};
  for (const Constraint& constraint : constraints_) {
    result.bytes += sizeof(Constraint) + constraint.indices.capacity() * (sizeof(WeightIndex) + sizeof(double)) +
                    constraint.choice.outputs.capacity() +
                    constraint.choice.examples.capacity() * 2 * sizeof(std::uint64_t);
  }
  return result;
}

StateArrays OneSlack::export_state() const {
  StateArrays state = blocks_.export_state(ids());
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
  return state;
}

void OneSlack::import_state(const StateArrays& state) {
  const auto& duals = state_array<double>(state, "constraint_duals");
  const auto& idle = state_array<std::uint64_t>(state, "constraint_idle");
  const auto& sizes = state_array<std::uint64_t>(state, "constraint_sizes");
  const auto& examples = state_array<std::uint64_t>(state, "constraint_examples");
  const auto& offsets = state_array<std::uint64_t>(state, "constraint_offsets");
  const auto& outputs = state_array<std::uint8_t>(state, "constraint_outputs");
  const auto refuse = [] { throw std::invalid_argument("the constraints of the state do not fit together"); };
  if (idle.size() != duals.size() || sizes.size() != duals.size() || offsets.size() != examples.size() + 1 ||
      !all_finite(duals)) {
    refuse();
  }
  OneSlack fresh(shared_task(), objective_.costs, parameters_);
  fresh.blocks_ = blocks_.imported(state, ids());
  const auto scratch = task().make_scratch();
  std::vector<std::size_t> chosen_by(objective_.costs.size(),
                                     duals.size());  // the last constraint that names the example
  std::size_t part = 0;
  double dual_sum = 0;
  for (std::size_t c = 0; c < duals.size(); ++c) {
    if (!(duals[c] >= 0) || sizes[c] > examples.size() - part) refuse();
    dual_sum += duals[c];
    for (const std::size_t end = part + sizes[c]; part < end; ++part) {
      if (examples[part] >= objective_.costs.size() || offsets[part] > offsets[part + 1] ||
          offsets[part + 1] > outputs.size() || std::exchange(chosen_by[examples[part]], c) == c) {
        refuse();
      }
      FunctionSink sink([&](const Candidate& candidate) { fresh.choose(candidate); });
      // An output that is not allowed any more makes way for gold, which leaves a constraint as good as any.
      (void)task().candidate(
          examples[part], ByteView(outputs).subspan(offsets[part], offsets[part + 1] - offsets[part]), *scratch, sink);
    }
    fresh.add_constraint();
    fresh.constraints_.back().dual = duals[c];
    fresh.constraints_.back().idle = idle[c];
  }
  if (part != examples.size() || dual_sum > 1 + 1e-9) refuse();
  *this = std::move(fresh);
}

namespace {

const LearnerRegistration<OneSlack> registered_one_slack("one-slack", RowNumbers::costs,
                                                         {parameter("cache", &OneSlack::Parameters::cache),
                                                          parameter("inactive", &OneSlack::Parameters::inactive),
                                                          parameter("memory", &OneSlack::Parameters::memory)});

}  // namespace

}  // namespace marginloom
