#include "tasks/parse/transition.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/common.hpp"
#include "core/entry_sort.hpp"
#include "core/kernels.hpp"

namespace marginloom {

struct TransitionTask::Buffers final : Scratch {
  Buffers(const StateFeatures& features, const TransitionOptions& options, const TransitionWeights& layout)
      : scorer(features),
        labels(LabelScorer(features.labels(), features.label_numbers(), layout.labels, layout.stride), options.allowed),
        search(features, options.search, options.label_count > 0) {}

  StateScorer scorer;
  BestLabels labels;
  BeamSearch search;
  std::size_t loaded = std::numeric_limits<std::size_t>::max();  // sentence that scorer and labels have
  Heads gold;
  std::vector<std::uint16_t> gold_labels;  // from 1, as heads; empty without labels
  Derivation gold_steps;
  GoldDerivation derivation;
  Derivation found;  // a derivation, or its beginning, and what it makes
  PartialTree tree;
  PartialTree gold_tree;  // by as many of gold's steps
  std::vector<ParserState> stack;
  std::vector<std::uint8_t> output;
  std::vector<Entry> difference;
  std::vector<Entry> spare;
};

TransitionWeights::TransitionWeights(const StateFeatures& features, std::size_t label_count) {
  stride = padded(label_count);
  labels = padded(features.state_numbers().size() * action_stride);
  size = labels + features.label_numbers().size() * stride;
}

TransitionTask::TransitionTask(const ParseData& data, TransitionOptions options,
                               std::shared_ptr<const StateFeatures> features)
    : data_(data),
      options_(std::move(options)),
      features_(std::move(features)),
      layout_(*features_, options_.label_count) {
  require(options_.search.beam >= 1, "a beam has at least one state");
  require(layout_.size <= std::numeric_limits<WeightIndex>::max(), "a parser has at most 4,294,967,295 weights");
  check_parse_data(data_, features_->views(), true, true, options_.label_count, options_.allowed);
}

Capabilities TransitionTask::capabilities() const {
  return {.gold = !data_.heads.empty(), .exact = false, .bounded = false, .loss_augmented = false, .prefixes = true};
}

std::unique_ptr<Scratch> TransitionTask::make_scratch() const {
  return std::make_unique<Buffers>(*features_, options_, layout_);
}

void TransitionTask::load(std::size_t i, Buffers& buffers) const {
  if (buffers.loaded == i) return;
  buffers.loaded = std::numeric_limits<std::size_t>::max();
  buffers.scorer.load(words(i));
  if (labelled()) buffers.labels.load(words(i));
  buffers.loaded = i;
}

void TransitionTask::take_gold(std::size_t i, Buffers& buffers) const {
  const auto heads = data_.heads.subspan(data_.sentences[i], length(i));
  buffers.gold.assign(1, 0);
  buffers.gold.insert(buffers.gold.end(), heads.begin(), heads.end());
  buffers.gold_labels.clear();
  if (labelled()) {
    const auto labels = data_.labels.subspan(data_.sentences[i], length(i));
    buffers.gold_labels.assign(1, 0);
    buffers.gold_labels.insert(buffers.gold_labels.end(), labels.begin(), labels.end());
  }
  derive(buffers.gold, buffers.gold_labels, buffers.gold_steps);
  const auto root = static_cast<std::size_t>(std::find(heads.begin(), heads.end(), Head{0}) - heads.begin() + 1);
  buffers.derivation = {buffers.gold_steps, static_cast<std::uint16_t>(root),
                        labelled() ? buffers.gold_labels[root] : std::uint16_t{0}};
}

// Takes the best derivation in the beam after so many steps, with the best labels of its arcs.
void TransitionTask::take_found(std::size_t steps, Buffers& buffers) const {
  PartialTree& tree = buffers.tree;
  const std::size_t length = buffers.scorer.length();
  buffers.search.best_actions(steps, buffers.found);
  tree.begin(length);
  for (DerivationStep& step : buffers.found) {
    if (labelled() && step.action != Action::shift) {
      const std::size_t upper = tree.stack.back();
      const std::size_t lower = tree.stack[tree.stack.size() - 2];
      const bool to_left = step.action == Action::left;
      step.label = buffers.labels.best(to_left ? upper : lower, to_left ? lower : upper).label;
    }
    if (!tree.take(step)) throw std::logic_error("a search has found an impossible derivation");
  }
  if (tree.complete()) tree.end(labelled() ? buffers.labels.best(0, tree.stack.back()).label : 0);
}

void TransitionTask::encode(const Buffers& buffers, std::vector<std::uint8_t>& bytes) const {
  bytes.clear();
  const auto put_label = [&](std::uint16_t label) {
    bytes.push_back(static_cast<std::uint8_t>(label & 255));
    if (bytes_per_label() == 2) bytes.push_back(static_cast<std::uint8_t>(label >> 8));
  };
  for (const DerivationStep& step : buffers.found) {
    bytes.push_back(static_cast<std::uint8_t>(step.action));
    if (labelled() && step.action != Action::shift) put_label(step.label);
  }
  const PartialTree& tree = buffers.tree;
  if (labelled() && tree.complete() && !tree.stack.empty()) put_label(tree.labels[tree.stack.back()]);
}

// Reads a derivation or its beginning; false if it has a label that is not allowed there.
bool TransitionTask::decode(std::size_t i, ByteView output, Derivation& found, PartialTree& tree) const {
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument("an output of sentence " + std::to_string(i) + " has " + what);
  };
  found.clear();
  tree.begin(length(i));
  bool allowed = true;
  std::size_t place = 0;
  const auto take_label = [&](bool of_root) {
    if (output.size() - place < bytes_per_label()) refuse("half a label");
    const std::size_t label = output[place] + (bytes_per_label() == 2 ? 256u * output[place + 1] : 0);
    place += bytes_per_label();
    if (label >= options_.label_count) refuse("label " + std::to_string(label));
    const auto& known = options_.allowed.of(of_root ? 0 : 1);
    allowed = allowed && std::ranges::find(known, label) != known.end();
    return static_cast<std::uint16_t>(label);
  };
  const std::size_t steps = derivation_length(length(i));
  while (place < output.size() && found.size() < steps) {
    const std::uint8_t action = output[place++];
    if (action >= action_count) refuse("action " + std::to_string(action));
    DerivationStep step{static_cast<Action>(action), 0};
    if (labelled() && step.action != Action::shift) step.label = take_label(false);
    if (!tree.take(step)) refuse("an action that is impossible");
    found.push_back(step);
  }
  if (found.empty() && steps > 0) refuse("no action");
  if (found.size() == steps && steps > 0) tree.end(labelled() ? take_label(true) : 0);
  if (place != output.size()) refuse("the wrong length");
  return allowed;
}

void TransitionTask::predict(std::size_t i, WeightView w, int, Scratch& scratch, std::vector<Output>& outputs) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  outputs.assign(1, {});
  Output& output = outputs.front();
  output.upper_bound = std::numeric_limits<double>::infinity();
  if (length(i) == 0) return;
  load(i, buffers);
  buffers.search.run(words(i), w, buffers.scorer, labelled() ? &buffers.labels : nullptr, nullptr, nullptr);
  output.score = buffers.search.best_score(buffers.search.steps());
  take_found(buffers.search.steps(), buffers);
  encode(buffers, output.bytes);
}

bool TransitionTask::is_wrong(const Buffers& buffers) const {
  return buffers.tree.heads != buffers.gold || (labelled() && buffers.tree.labels != buffers.gold_labels);
}

double TransitionTask::find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
                            CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  if (options.loss_scale != 0) throw std::invalid_argument("beam search has no loss-augmented inference");
  if (length(i) == 0) return 0;
  load(i, buffers);
  take_gold(i, buffers);
  PrefixChoice choice(options_.search.update);
  buffers.search.run(words(i), w, buffers.scorer, labelled() ? &buffers.labels : nullptr, &buffers.derivation, &choice);
  bool wrong = false;
  if (!(choice.violation() > 0)) {
    take_found(buffers.search.steps(), buffers);
    wrong = is_wrong(buffers);
  }
  if (choice.has_candidate(wrong) && choice.violation() >= options.min_violation) {
    take_found(choice.length(), buffers);
    emit(i, buffers, sink);
  }
  return std::max(choice.violation(), 0.0);
}

bool TransitionTask::candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  if (!decode(i, output, buffers.found, buffers.tree)) return false;
  load(i, buffers);
  take_gold(i, buffers);
  emit(i, buffers, sink);
  return true;
}

// Hands over the derivation in buffers.found, whose tree is in buffers.tree.
void TransitionTask::emit(std::size_t i, Buffers& buffers, CandidateSink& sink) const {
  const std::size_t steps = buffers.found.size();
  encode(buffers, buffers.output);
  buffers.difference.clear();
  std::size_t common = 0;
  while (common < steps && buffers.found[common].action == buffers.gold_steps[common].action) ++common;
  add_states(buffers.gold_steps, common, steps, 1, buffers);
  add_states(buffers.found, common, steps, -1, buffers);
  if (labelled()) add_labels(buffers);
  coalesce(buffers.difference, buffers.spare);
  Candidate result;
  result.example = i;
  result.loss = static_cast<double>(buffers.tree.loss(buffers.gold, buffers.gold_labels));
  result.output = buffers.output;
  result.key = output_key(buffers.output);
  for (const Entry& entry : buffers.difference) result.squared_norm += entry.value * entry.value;
  result.difference = buffers.difference;
  sink.accept(result);
}

// Adds the features of a derivation's steps from one on to before another.
void TransitionTask::add_states(const Derivation& derivation, std::size_t first, std::size_t end, double sign,
                                Buffers& buffers) const {
  const StateTemplates& templates = features_->states();
  const FeatureNumbers& numbers = features_->state_numbers();
  auto& stack = buffers.stack;
  stack.assign(1, ParserState{});
  for (std::size_t k = 0; k < end; ++k) {
    const Action action = derivation[k].action;
    if (k >= first) {
      const StatePlaces places = places_of(stack.back(), buffers.scorer.length());
      for (std::size_t group = 0; group < templates.groups().size(); ++group) {
        templates.visit(buffers.scorer.parts(), group, places, [&](std::size_t, FeatureKey key) {
          const std::uint32_t row = numbers.find(key);
          if (row == KeyTable::unknown) return;
          const std::size_t index = row * action_stride + static_cast<std::size_t>(action);
          buffers.difference.push_back({static_cast<WeightIndex>(index), sign});
        });
      }
    }
    if (action == Action::shift) {
      stack.push_back(stack.back().shifted());
      continue;
    }
    const ParserState top = stack.back();
    stack.pop_back();
    stack.back() = top.reduced(action, stack.back());
  }
}

// Adds the labels of arcs that only one of the two has.
void TransitionTask::add_labels(Buffers& buffers) const {
  PartialTree& gold = buffers.gold_tree;
  const PartialTree& found = buffers.tree;
  gold.begin(buffers.scorer.length());
  for (std::size_t k = 0; k < buffers.found.size(); ++k) {
    if (!gold.take(buffers.gold_steps[k])) throw std::logic_error("the gold derivation is impossible");
  }
  if (gold.complete()) gold.end(buffers.derivation.root_label);
  for (std::size_t m = 1; m < gold.heads.size(); ++m) {
    if (gold.heads[m] == found.heads[m] && gold.labels[m] == found.labels[m]) continue;
    if (gold.heads[m] != PartialTree::unknown) add_label(gold.heads[m], m, gold.labels[m], 1, buffers);
    if (found.heads[m] != PartialTree::unknown) add_label(found.heads[m], m, found.labels[m], -1, buffers);
  }
}

void TransitionTask::add_label(std::size_t head, std::size_t modifier, std::uint16_t label, double sign,
                               Buffers& buffers) const {
  features_->labels().visit_arc(buffers.labels.parts(), head, modifier, [&](std::size_t, FeatureKey key, std::size_t) {
    const std::uint32_t row = features_->label_numbers().find(key);
    if (row == KeyTable::unknown) return;
    buffers.difference.push_back({static_cast<WeightIndex>(layout_.labels + row * layout_.stride + label), sign});
  });
}

void TransitionTask::read_trees(std::span<const std::uint8_t> outputs, std::span<const std::uint64_t> bounds,
                                std::vector<Head>& heads, std::vector<std::uint16_t>& labels) const {
  require(bounds.size() == size() + 1 && bounds.back() == outputs.size(), "there must be one output per sentence");
  Derivation found;
  PartialTree tree;
  for (std::size_t i = 0; i < size(); ++i) {
    require(bounds[i] <= bounds[i + 1], "outputs must not overlap");
    if (!decode(i, outputs.subspan(bounds[i], bounds[i + 1] - bounds[i]), found, tree)) {
      throw std::invalid_argument("an output of sentence " + std::to_string(i) + " has a label that is not allowed");
    }
    require(found.size() == derivation_length(length(i)), "an output is not a whole tree");
    heads.insert(heads.end(), tree.heads.begin() + 1, tree.heads.end());
    labels.insert(labels.end(), tree.labels.begin() + 1, tree.labels.end());
  }
}

}  // namespace marginloom
