#include "engines/subproblem.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "engines/sweeps.hpp"

namespace marginloom {

// On the line the dual is d(0) + b t - c t^2 / 2.
double best_share_of_way(WeightView w0, WeightView w1, double losses) {
  double along = 0;
  double c = 0;
  for (std::size_t k = 0; k < w0.size(); ++k) {
    const double change = w1[k] - w0[k];
    along += w0[k] * change;
    c += change * change;
  }
  const double b = losses - along;
  const double rounding = 1e-12 * (std::abs(losses) + std::abs(along) + c);
  if (b - c / 2 >= -rounding || c == 0) return 1;
  return std::clamp(b / c, 0.0, 1.0);
}

Subproblem::Subproblem(const BlockLearner& learner, const Blocks& kind)
    : learner_(learner),
      context_(kind.another(1)),
      is_own_(learner.task().size()),
      weights_(learner.task().dimension()),
      visits_(1) {}

void Subproblem::begin(const Layer& layer, const LayerPart& part) {
  blocks_ = layer.blocks;
  examples_.assign(part.examples.begin(), part.examples.end());
  own_ = examples_.size();
  for (const std::size_t i : part.examples) is_own_[i] = true;
  for (const std::size_t i : layer.context) {
    if (is_own_[i]) continue;
    examples_.push_back(i);
    context_.put(i, (*layer.context_blocks)[i]);
  }
  for (const std::size_t i : part.examples) is_own_[i] = false;
  const auto w = weights_.values();
  if (layer.rest.empty()) {
    std::ranges::fill(w, 0.0);
  } else {
    std::ranges::copy(layer.rest, w.begin());
  }
  items_.clear();
  Visit& visit = visits_.front();
  for (std::size_t item = 0; item < examples_.size(); ++item) {
    const std::size_t i = examples_[item];
    if (holder(item)[i].empty()) continue;
    items_.push_back(item);
    holder(item).add(i, 1, {w.data()}, visit);
  }
}

void Subproblem::end() {
  for (std::size_t item = own_; item < examples_.size(); ++item) context_.keep_first(examples_[item], 0);
}

// A visit of a block that is not the learner's.
Step Subproblem::improve(std::size_t item, const WeightWriter& writer, Visit& visit) {
  const std::size_t i = examples_[item];
  Blocks& blocks = holder(item);
  blocks.open(i, visit);
  gather(learner_.task(), i, weights_.values(), visit);
  const Step step = learner_.solve(i, visit);
  if (step.updates == 0) return step;
  scatter(learner_.task(), i, writer, visit);
  const auto rows = blocks[i].rows();
  for (std::size_t j = 0; j < rows.size(); ++j) rows[j].dual = visit.open.duals[j];
  return step;
}

PartSolved Subproblem::solve(const Layer& layer, const LayerPart& part, StopRequest& stop) {
  begin(layer, part);
  Random random(part.seed);
  Visit& visit = visits_.front();
  visit.asked = {.tolerance = layer.how->tolerance, .random = Random(random.next())};
  const WeightWriter writer{weights_.values().data()};
  const Sweeps done = sweep_together(*layer.how, items_, random, stop, [&](std::span<const std::size_t> coming) {
    return improve(coming.front(), writer, visit);
  });
  end();
  return {done.updates, done.gain, done.stopped};
}

PartSolved Subproblem::solve(const Layer& layer, const LayerPart& part, Team& team, StopRequest& stop) {
  constexpr double enough = 0.5;
  const double threads = team.size();
  begin(layer, part);
  PartSolved result;
  for (double damping = 1;; damping = std::min(2 * damping, threads)) {
    const std::vector<double> duals_before = duals();
    const std::vector<double> weights_before(weights_.values().begin(), weights_.values().end());
    const PartSolved done = sweep_on(team, layer, part, damping, stop);
    const double gain = check(duals_before, weights_before);
    result.updates += done.updates;
    result.gain += gain;
    result.stopped = done.stopped;
    if (done.stopped || gain >= enough * done.gain || damping >= threads) break;
  }
  end();
  return result;
}

PartSolved Subproblem::sweep_on(Team& team, const Layer& layer, const LayerPart& part, double damping,
                                StopRequest& stop) {
  const auto threads = static_cast<std::size_t>(team.size());
  while (visits_.size() < threads) visits_.emplace_back();
  Together how = *layer.how;
  how.limits.others_move = true;
  std::vector<Sweeps> done(threads);
  std::atomic<bool> ended{false};
  team.run([&](int thread) {
    const auto t = static_cast<std::size_t>(thread);
    // Only the calling thread may ask the owner; the others ask whether it was told to end.
    StopRequest ending([&] { return ended.load(std::memory_order_relaxed) || told_to_stop(); });
    std::vector<std::size_t> items;
    for (std::size_t j = t; j < items_.size(); j += threads) items.push_back(items_[j]);
    Random random(part.seed + t);
    Visit& visit = visits_[t];
    visit.asked = {.damping = {.most = damping}, .tolerance = how.tolerance, .random = Random(random.next())};
    const WeightWriter writer{weights_.values().data(), true};
    try {
      done[t] =
          sweep_together(how, items, random, thread == 0 ? stop : ending,
                         [&](std::span<const std::size_t> coming) { return improve(coming.front(), writer, visit); });
    } catch (...) {
      ended = true;
      throw;
    }
    if (done[t].stopped) ended = true;
  });
  PartSolved result;
  for (const Sweeps& one : done) {
    result.updates += one.updates;
    result.gain += one.gain;
    result.stopped |= one.stopped;
  }
  return result;
}

std::vector<double> Subproblem::duals() {
  std::vector<double> result;
  for (const std::size_t item : items_) {
    for (const Block::Row& row : holder(item)[examples_[item]].rows()) result.push_back(row.dual);
  }
  return result;
}

double Subproblem::check(const std::vector<double>& duals, WeightView before) {
  const auto w = weights_.values();
  double losses = 0;
  auto old = duals.begin();
  const auto for_rows = [&](auto function) {
    old = duals.begin();
    for (const std::size_t item : items_) {
      for (Block::Row& row : holder(item)[examples_[item]].rows()) function(row, *old++);
    }
  };
  for_rows([&](const Block::Row& row, double dual) { losses += (row.dual - dual) * row.loss; });
  const double share = best_share_of_way(before, w, losses);
  if (share < 1) {
    for_rows([&](Block::Row& row, double dual) { row.dual = dual + share * (row.dual - dual); });
    for (std::size_t k = 0; k < w.size(); ++k) w[k] = before[k] + share * (w[k] - before[k]);
  }
  double gain = share * losses;
  for (std::size_t k = 0; k < w.size(); ++k) gain -= (w[k] - before[k]) * (w[k] + before[k]) / 2;
  return gain;
}

}  // namespace marginloom
