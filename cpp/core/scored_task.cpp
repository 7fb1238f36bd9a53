#include "core/scored_task.hpp"

#include <stdexcept>

#include "core/few_numbers.hpp"

namespace marginloom {
namespace {

// Room for so many scores.
double* room_for(std::size_t count, Scratch& scratch) {
  auto& scores = static_cast<ScoredTask::ScoredScratch&>(scratch).scores;
  if (scores.size() < count) scores.resize(count);
  return scores.data();
}

}  // namespace

void ScoredTask::predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const {
  double* scores = room_for(score_count(), scratch);
  score(i, w, scores);
  predict_scored(i, scores, k, scratch, outputs);
}

double ScoredTask::find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
                        CandidateSink& sink) const {
  double* scores = room_for(score_count(), scratch);
  score(i, w, scores);
  return find_scored(i, scores, options, scratch, sink);
}

void ScoredTask::predict_batch(std::span<const std::size_t> examples, WeightView w, int k, Scratch& scratch,
                               std::span<std::vector<Output>> outputs) const {
  const std::size_t count = score_count();
  double* scores = room_for(examples.size() * count, scratch);
  score_batch(examples, w, scores);
  for (std::size_t j = 0; j < examples.size(); ++j) {
    predict_scored(examples[j], scores + j * count, k, scratch, outputs[j]);
  }
}

void ScoredTask::find_batch(std::span<const std::size_t> examples, WeightView w, std::span<const FindOptions> options,
                            Scratch& scratch, CandidateSink& sink, std::span<double> bounds) const {
  const std::size_t count = score_count();
  double* scores = room_for(examples.size() * count, scratch);
  score_batch(examples, w, scores);
  for (std::size_t j = 0; j < examples.size(); ++j) {
    bounds[j] = find_scored(examples[j], scores + j * count, options[j], scratch, sink);
  }
}

void ScoredTask::gather(std::size_t i, std::span<const ByteView> outputs, WeightView w,
                        std::span<double> values) const {
  FewNumbers scores(score_count());
  score_outputs(i, outputs, w, scores.data());
  gather_scored(i, outputs, scores.data(), values);
}

void ScoredTask::scatter(std::size_t i, std::span<const ByteView> outputs, std::span<const double> steps,
                         const WeightWriter& w) const {
  ScoreSteps score_steps;
  scatter_scored(i, outputs, steps, score_steps);
  add_score_steps(i, score_steps.all(), w);
}

void ScoredTask::score_batch(std::span<const std::size_t> examples, WeightView w, double* scores) const {
  for (std::size_t j = 0; j < examples.size(); ++j) score(examples[j], w, scores + j * score_count());
}

void ScoredTask::score_outputs(std::size_t i, std::span<const ByteView>, WeightView w, double* scores) const {
  score(i, w, scores);
}

bool ScoredTask::gold_decision(std::size_t, std::size_t) const {
  throw std::logic_error("the outputs of this task are not made of decisions");
}

void ScoredTask::append_output(std::size_t, std::span<const std::size_t>, std::vector<std::uint8_t>&) const {
  throw std::logic_error("the outputs of this task are not made of decisions");
}

}  // namespace marginloom
