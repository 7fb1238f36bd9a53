// Entities and relations: a type for every given span of a sentence, and a relation or none for every ordered pair of
// different spans. A table says which types a relation may connect.
//
// A span's types score by its features, a pair's labels by the pair's (label 0 is none), each label with weights of its
// own. A solver finds the best types and labels together. The loss is a sum: of every span with a wrong type, of every
// pair whose gold is a relation and that has another label (a missed relation), and of every other wrong pair.
//
// An output is a byte for the type of each span, then one for the label of each pair.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/marginals.hpp"
#include "core/task.hpp"
#include "core/weight_rows.hpp"
#include "tasks/relations/joint_solver.hpp"
#include "tasks/relations/type_table.hpp"

namespace marginloom {

// Rows of indicators.
struct FeatureRows {
  std::span<const std::uint64_t> rows;  // row r has the features rows[r] .. rows[r + 1] - 1
  std::span<const std::uint32_t> features;

  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t row) const {
    return features.subspan(rows[row], rows[row + 1] - rows[row]);
  }
};

// Encoded sentences; the memory belongs to the caller and must outlive the task.
struct RelationsData {
  std::span<const std::uint64_t> sentences;  // sentence i has the spans sentences[i] .. sentences[i + 1] - 1
  FeatureRows spans;
  FeatureRows pairs;  // of a sentence with n spans n (n - 1), as JointScores numbers them
  bool gold = false;
  std::span<const std::uint8_t> types;   // gold, if there is any
  std::span<const std::uint8_t> labels;  // of every pair
};

struct RelationsLosses {
  double entity = 1;
  double pair = 1;
  double missed = 1;
};

class RelationsTask final : public Task, public Marginals {
 public:
  // Throws std::invalid_argument if the data contradict themselves, or gold contradicts the table.
  RelationsTask(const RelationsData& data, TypeTable table, std::size_t span_features, std::size_t pair_features,
                RelationsLosses losses, std::shared_ptr<const JointSolver> solver);

  std::size_t size() const override { return data_.sentences.size() - 1; }
  std::size_t dimension() const override { return span_weights_.size() + pair_weights_.size(); }
  Capabilities capabilities() const override;
  std::unique_ptr<Scratch> make_scratch() const override;
  void predict(std::size_t i, WeightView w, int k, Scratch& scratch, std::vector<Output>& outputs) const override;
  double find(std::size_t i, WeightView w, const FindOptions& options, Scratch& scratch,
              CandidateSink& sink) const override;
  bool candidate(std::size_t i, ByteView output, Scratch& scratch, CandidateSink& sink) const override;
  double work(std::size_t i) const override;

  // Types are enumerated for so many spans; sentences with more have no parts.
  static constexpr std::size_t most_enumerated_spans = 8;
  std::size_t part_count(std::size_t i) const override;
  std::size_t choice_count(std::size_t) const override { return std::max(table_.types(), table_.labels()); }
  void score_choices(std::size_t i, WeightView w, Scratch& scratch) const override;
  void marginals(std::size_t i, const Tempering& tempering, const MarginalQuery& query,
                 Scratch& scratch) const override;

  [[nodiscard]] const WeightRows& span_weights() const { return span_weights_; }
  [[nodiscard]] const WeightRows& pair_weights() const { return pair_weights_; }
  [[nodiscard]] std::size_t spans(std::size_t i) const { return data_.sentences[i + 1] - data_.sentences[i]; }
  [[nodiscard]] std::size_t pairs(std::size_t i) const { return first_pair_[i + 1] - first_pair_[i]; }

  // What searches have done since the task was made: how many there were, how many of them were cut off at the solver's
  // limit, and the nodes they visited.
  struct Searches {
    std::uint64_t all = 0;
    std::uint64_t cut_off = 0;
    std::uint64_t nodes = 0;
    std::uint64_t most_nodes = 0;
  };
  [[nodiscard]] Searches searches() const;

  // What the solver makes of the scores of a sentence under w, with the loss if `loss_scale` is not 0, and its time.
  struct Solved {
    JointOutput output;
    JointOptimum optimum;
    double seconds;
  };
  [[nodiscard]] Solved solve(std::size_t i, WeightView w, double loss_scale) const;

 private:
  struct Buffers;

  [[nodiscard]] std::span<const std::uint8_t> gold_types(std::size_t i) const {
    return data_.types.subspan(data_.sentences[i], spans(i));
  }
  [[nodiscard]] std::span<const std::uint8_t> gold_labels(std::size_t i) const {
    return data_.labels.subspan(first_pair_[i], pairs(i));
  }
  [[nodiscard]] bool fits(std::span<const std::uint8_t> types, std::span<const std::uint8_t> labels) const;
  void check_data();
  void score(std::size_t i, WeightView w, JointScores& scores) const;
  void add_loss(std::size_t i, double scale, JointScores& scores) const;
  [[nodiscard]] double pair_loss(std::uint8_t gold) const { return gold == 0 ? losses_.pair : losses_.missed; }
  JointOptimum search(Buffers& buffers) const;
  void emit(std::size_t i, Buffers& buffers, CandidateSink& sink) const;

  RelationsData data_;
  TypeTable table_;
  WeightRows span_weights_;
  WeightRows pair_weights_;
  RelationsLosses losses_;
  std::shared_ptr<const JointSolver> solver_;
  std::vector<std::size_t> first_pair_;  // of every sentence
  mutable std::atomic<std::uint64_t> searches_{0};
  mutable std::atomic<std::uint64_t> cut_off_{0};
  mutable std::atomic<std::uint64_t> nodes_{0};
  mutable std::atomic<std::uint64_t> most_nodes_{0};
};

}  // namespace marginloom
