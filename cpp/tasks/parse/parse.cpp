#include "tasks/parse/parse.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/common.hpp"
#include "core/entry_sort.hpp"
#include "core/parallel.hpp"
#include "tasks/parse/parse_buffers.hpp"

namespace marginloom {

using Kind = ArcTemplates::Kind;

ParseTask::ParseTask(const ParseData& data, ParseOptions options, std::shared_ptr<const ArcFeatures> features,
                     int threads, StopRequest stop)
    : data_(data),
      options_(std::move(options)),
      features_(std::move(features)),
      layout_(*features_, options_.label_count) {
  require(layout_.size <= std::numeric_limits<WeightIndex>::max(), "a parser has at most 4,294,967,295 weights");
  check_parse_data(data_, features_->views(), options_.projective, options_.one_root, options_.label_count,
                   options_.allowed);
  if (options_.memory > 0) keep_arcs(threads, stop);
}

void check_parse_data(const ParseData& data, std::size_t views, bool projective, bool one_root, std::size_t label_count,
                      const LabelMasks& allowed) {
  const bool labelled = label_count > 0;
  const auto& offsets = data.sentences;
  require(!offsets.empty() && offsets.front() == 0 && std::ranges::is_sorted(offsets),
          "sentence offsets must start with 0 and ascend");
  require(data.values.size() == offsets.back() * views, "there must be a value for every view of a word");
  require(data.heads.empty() || data.heads.size() == offsets.back(), "there must be one head per word");
  require(data.labels.empty() || data.labels.size() == offsets.back(), "there must be one label per word");
  require(data.heads.empty() || !labelled || !data.labels.empty() || offsets.back() == 0,
          "arcs have labels, and the right ones are missing");
  require(label_count <= 65536, "there can be at most 65,536 labels");
  for (const std::size_t head : {std::size_t{0}, std::size_t{1}}) {
    const auto& own = allowed.of(head);
    require(!labelled || !own.empty(), "arcs from the root and others need a label that they may have");
    require(std::ranges::all_of(own, [&](std::uint16_t label) { return label < label_count; }),
            "an allowed label is beyond the number of labels");
  }
  Heads heads;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const std::size_t length = offsets[i + 1] - offsets[i];
    require(length < std::numeric_limits<Head>::max(), "a sentence has more than 65,534 words");
    if (data.heads.empty()) continue;
    const auto own = data.heads.subspan(offsets[i], length);
    heads.assign(1, 0);
    heads.insert(heads.end(), own.begin(), own.end());
    require(is_tree(heads, one_root), "the heads of sentence " + std::to_string(i) + " are not a tree");
    require(!projective || is_projective(heads), "the tree of sentence " + std::to_string(i) + " is not projective");
    for (std::size_t m = 1; labelled && m < heads.size(); ++m) {
      const auto& labels = allowed.of(heads[m]);
      require(std::ranges::find(labels, data.labels[offsets[i] + m - 1]) != labels.end(),
              "an arc of sentence " + std::to_string(i) + " has a label that it may not have");
    }
  }
}

// As many sentences from the first on as the memory takes.
void ParseTask::keep_arcs(int threads, StopRequest& stop) {
  kept_.resize(size());
  std::mutex mutex;
  const auto keep_some = [&](int, std::size_t begin, std::size_t end) {
    ArcScorer scorer(*features_, layout_);
    for (std::size_t i = begin; i < end; ++i) {
      {
        const std::lock_guard lock(mutex);
        if (kept_bytes_ >= options_.memory) return;
      }
      scorer.load(words(i), false, false);
      KeptArcs kept = scorer.keep(length(i));
      const std::size_t bytes = sizeof(std::uint32_t) * (kept.ends.size() + kept.numbers.size());
      const std::lock_guard lock(mutex);
      if (kept_bytes_ + bytes > options_.memory) return;
      kept_bytes_ += bytes;
      kept_[i] = std::move(kept);
    }
  };
  if (!parallel_for(size(), 64, threads, stop, keep_some)) throw Interrupted();
}

Capabilities ParseTask::capabilities() const {
  return {.gold = !data_.heads.empty(), .exact = is_exact(), .bounded = is_exact(), .k_best = is_exact()};
}

std::unique_ptr<Scratch> ParseTask::make_scratch() const {
  return std::make_unique<Buffers>(*features_, layout_);
}

double ParseTask::work(std::size_t i) const {
  const auto words = static_cast<double>(length(i)) + 1;
  return options_.siblings ? words * words * words : words * words;
}

void ParseTask::take_gold(std::size_t i, Buffers& buffers) const {
  const auto heads = data_.heads.subspan(data_.sentences[i], length(i));
  buffers.gold.assign(1, 0);
  buffers.gold.insert(buffers.gold.end(), heads.begin(), heads.end());
  if (!labelled()) return;
  buffers.gold_labels.assign(1, 0);
  buffers.gold_labels.insert(buffers.gold_labels.end(), gold_labels(i).begin(), gold_labels(i).end());
}

void ParseTask::load(std::size_t i, Buffers& buffers) const {
  if (buffers.loaded == i) return;
  buffers.scorer.load(words(i), options_.siblings, labelled());
  buffers.loaded = i;
}

void ParseTask::score_arcs(std::size_t i, WeightView w, Buffers& buffers) const {
  buffers.scores.resize(length(i));
  const bool kept = !kept_.empty() && !kept_[i].ends.empty();
  if (!kept || options_.siblings || labelled()) load(i, buffers);
  if (kept) {
    ArcScorer::score_arcs(kept_[i], w, buffers.scores);
  } else {
    buffers.scorer.score_arcs(w, buffers.scores);
  }
}

// Adds to every arc the score of its best label, a wrong one with the loss; notes these and the score of right ones.
// Loss of 0 is prediction, for which nothing need be right.
void ParseTask::add_labels(std::size_t i, WeightView w, double loss_scale, Buffers& buffers) const {
  const bool has_gold = !data_.heads.empty();
  buffers.gold_label_score = 0;
  buffers.best_labels.resize((length(i) + 1) * (length(i) + 1));
  buffers.scorer.score_labels(w, length(i), [&](std::size_t h, std::size_t m, double* labels) {
    const bool right_head = has_gold && buffers.gold[m] == h;
    if (right_head) {
      const std::uint16_t right = buffers.gold_labels[m];
      buffers.gold_label_score += labels[right];
      // Taking the loss off the right label ranks labels as adding it to the others does.
      labels[right] -= loss_scale;
    }
    const auto& allowed = options_.allowed.of(h);
    std::uint16_t best = allowed[0];
    for (const std::uint16_t label : allowed) {
      if (labels[label] > labels[best]) best = label;
    }
    buffers.best_labels[buffers.place(h, m)] = best;
    buffers.scores.at(h, m) += labels[best] + loss_scale;
  });
}

// Of trees without labels.
void ParseTask::add_loss(double loss_scale, Buffers& buffers) const {
  const std::size_t length = buffers.scores.length();
  for (std::size_t h = 0; h <= length; ++h) {
    for (std::size_t m = 1; m <= length; ++m) buffers.scores.at(h, m) += buffers.gold[m] == h ? 0 : loss_scale;
  }
}

double ParseTask::sibling_score(WeightView w, std::span<const Head> heads, const Buffers& buffers) const {
  double sum = 0;
  for (std::size_t m = 1; m < heads.size() && options_.siblings; ++m) {
    sum += buffers.scorer.score_sibling(w, heads[m], nearest_sibling(heads, m), m);
  }
  return sum;
}

double ParseTask::search_tree(const ArcScores& scores, WeightView w, Buffers& buffers, Heads& heads) const {
  if (!options_.siblings) {
    return options_.projective ? buffers.eisner.best_tree(scores, options_.one_root, heads)
                               : buffers.spanning_tree.best_tree(scores, options_.one_root, heads);
  }
  const auto sibling = [&](std::size_t head, std::size_t other, std::size_t modifier) {
    return buffers.scorer.score_sibling(w, head, other, modifier);
  };
  const auto siblings = [&](std::size_t head, std::size_t modifier) {
    return buffers.scorer.score_siblings(w, head, modifier);
  };
  const double best = buffers.sibling_eisner.best_tree(scores, options_.one_root, siblings, heads);
  if (options_.projective) return best;
  return best + buffers.rearrangement.improve(scores, options_.one_root, sibling, heads);
}

// Calls take(heads, score) for the k best trees, best first, until it returns false; returns the best score.
template <class Take>
double ParseTask::search_trees(std::size_t k, WeightView w, Buffers& buffers, Take take) const {
  const auto search = [&](const ArcScores& scores, Heads& heads) { return search_tree(scores, w, buffers, heads); };
  if (k > 1 && is_exact()) return buffers.k_best.find(buffers.scores, k, search, take);
  const double best = search(buffers.scores, buffers.heads);
  take(buffers.heads, best);
  return best;
}

// Takes a tree that was found, with the best label of each of its arcs.
void ParseTask::take_found(const Heads& heads, Buffers& buffers) const {
  buffers.heads = heads;
  buffers.labels.resize(heads.size());
  for (std::size_t m = 1; m < heads.size() && labelled(); ++m) {
    buffers.labels[m] = buffers.best_labels[buffers.place(heads[m], m)];
  }
}

void ParseTask::encode(const Buffers& buffers, std::vector<std::uint8_t>& bytes) const {
  bytes.clear();
  const auto put = [&](std::uint16_t number, std::size_t size) {
    bytes.push_back(static_cast<std::uint8_t>(number & 255));
    if (size == 2) bytes.push_back(static_cast<std::uint8_t>(number >> 8));
  };
  for (std::size_t m = 1; m < buffers.heads.size(); ++m) put(buffers.heads[m], 2);
  for (std::size_t m = 1; m < buffers.heads.size() && labelled(); ++m) put(buffers.labels[m], bytes_per_label());
}

void ParseTask::predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  outputs.clear();
  score_arcs(i, w, buffers);
  if (labelled()) {
    if (!data_.heads.empty()) take_gold(i, buffers);
    add_labels(i, w, 0, buffers);
  }
  search_trees(static_cast<std::size_t>(std::max(k, 1)), w, buffers, [&](const Heads& heads, double score) {
    Output& output = outputs.emplace_back();
    output.score = score;
    output.upper_bound = is_exact() ? outputs.front().score : std::numeric_limits<double>::infinity();
    take_found(heads, buffers);
    encode(buffers, output.bytes);
    return true;
  });
}

double ParseTask::find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
                       CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  if (length(i) == 0) return 0;
  take_gold(i, buffers);
  score_arcs(i, w, buffers);
  double right = sum_of_arcs(buffers.scores, buffers.gold) + sibling_score(w, buffers.gold, buffers);
  if (labelled()) {
    add_labels(i, w, options.loss_scale, buffers);
    right += buffers.gold_label_score;
  } else if (options.loss_scale != 0) {
    add_loss(options.loss_scale, buffers);
  }
  const auto k = static_cast<std::size_t>(std::max(options.k, 1));
  const double best = search_trees(k, w, buffers, [&](const Heads& heads, double score) {
    if (!(score - right >= options.min_violation)) return false;
    take_found(heads, buffers);
    if (buffers.heads != buffers.gold || (labelled() && !std::equal(buffers.labels.begin() + 1, buffers.labels.end(),
                                                                    buffers.gold_labels.begin() + 1))) {
      emit(i, buffers, sink);
    }
    return true;
  });
  return std::max(best - right, 0.0);
}

// Only words whose heads, nearest siblings or labels differ contribute.
template <class Function>
void ParseTask::visit_difference(std::size_t i, Buffers& buffers, Function function) const {
  const auto visit_arc = [&](Kind kind, std::size_t head, std::size_t m, std::size_t first, std::size_t stride,
                             double sign) {
    features_->templates(kind).visit_arc(buffers.scorer.parts(kind), head, m,
                                         [&](std::size_t, FeatureKey key, std::size_t) {
                                           const std::uint32_t number = features_->numbers(kind).find(key);
                                           if (number != KeyTable::unknown) function(first + number * stride, sign);
                                         });
  };
  const auto visit_sibling = [&](std::span<const Head> heads, std::size_t sibling, std::size_t m, double sign) {
    features_->templates(Kind::sibling)
        .visit_sibling(buffers.scorer.parts(Kind::sibling), heads[m], sibling, m,
                       [&](std::size_t, FeatureKey key, std::size_t) {
                         const std::uint32_t number = features_->numbers(Kind::sibling).find(key);
                         if (number != KeyTable::unknown) function(layout_.siblings + number, sign);
                       });
  };
  for (std::size_t m = 1; m <= length(i); ++m) {
    const std::size_t right = buffers.gold[m];
    const std::size_t found = buffers.heads[m];
    if (right != found) {
      visit_arc(Kind::arc, right, m, 0, 1, 1);
      visit_arc(Kind::arc, found, m, 0, 1, -1);
    }
    if (labelled() && (right != found || buffers.gold_labels[m] != buffers.labels[m])) {
      visit_arc(Kind::label, right, m, layout_.labels + buffers.gold_labels[m], layout_.stride, 1);
      visit_arc(Kind::label, found, m, layout_.labels + buffers.labels[m], layout_.stride, -1);
    }
    if (!options_.siblings) continue;
    const std::size_t right_sibling = nearest_sibling(buffers.gold, m);
    const std::size_t found_sibling = nearest_sibling(buffers.heads, m);
    if (right == found && right_sibling == found_sibling) continue;
    visit_sibling(buffers.gold, right_sibling, m, 1);
    visit_sibling(buffers.heads, found_sibling, m, -1);
  }
}

// Hands over the tree in buffers.heads and buffers.labels.
void ParseTask::emit(std::size_t i, Buffers& buffers, CandidateSink& sink) const {
  load(i, buffers);
  Candidate result;
  result.example = i;
  encode(buffers, buffers.output);
  for (std::size_t m = 1; m <= length(i); ++m) {
    const bool wrong =
        buffers.heads[m] != buffers.gold[m] || (labelled() && buffers.labels[m] != buffers.gold_labels[m]);
    result.loss += wrong ? 1 : 0;
  }
  result.output = buffers.output;
  result.key = output_key(buffers.output);
  buffers.difference.clear();
  visit_difference(i, buffers, [&](std::size_t k, double value) {
    buffers.difference.push_back({static_cast<WeightIndex>(k), value});
  });
  coalesce(buffers.difference, buffers.spare);
  for (const Entry& entry : buffers.difference) result.squared_norm += entry.value * entry.value;
  result.difference = buffers.difference;
  sink.accept(result);
}

// Reads a tree into the buffers; false if the task does not allow it.
bool ParseTask::decode(std::size_t i, ByteView output, Buffers& buffers) const {
  const std::size_t count = length(i);
  const auto refuse = [&](const std::string& what) {
    throw std::invalid_argument("an output of sentence " + std::to_string(i) + " has " + what);
  };
  if (output.size() != count * (2 + bytes_per_label())) refuse("the wrong length");
  buffers.heads.assign(count + 1, 0);
  buffers.labels.assign(count + 1, 0);
  for (std::size_t m = 1; m <= count; ++m) {
    const std::size_t head = output[2 * m - 2] + 256u * output[2 * m - 1];
    if (head > count) refuse("the head " + std::to_string(head) + " among " + std::to_string(count) + " words");
    buffers.heads[m] = static_cast<Head>(head);
    if (!labelled()) continue;
    const std::size_t first = 2 * count + (m - 1) * bytes_per_label();
    const std::size_t label = output[first] + (bytes_per_label() == 2 ? 256u * output[first + 1] : 0);
    if (label >= options_.label_count) refuse("label " + std::to_string(label));
    buffers.labels[m] = static_cast<std::uint16_t>(label);
  }
  if (!is_tree(buffers.heads, options_.one_root) || (options_.projective && !is_projective(buffers.heads)))
    return false;
  for (std::size_t m = 1; m <= count && labelled(); ++m) {
    const auto& allowed = options_.allowed.of(buffers.heads[m]);
    if (std::ranges::find(allowed, buffers.labels[m]) == allowed.end()) return false;
  }
  return true;
}

bool ParseTask::candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const {
  auto& buffers = static_cast<Buffers&>(scratch);
  if (!decode(i, output, buffers)) return false;
  take_gold(i, buffers);
  emit(i, buffers, sink);
  return true;
}

}  // namespace marginloom
