// Solving all parts of a layer of a cascade: on the threads of this process, or in the parts of a world.
//
// A question carries the blocks of some parts and gets their duals back, so whoever answers keeps nothing. With central
// storage blocks travel as they are; with local storage outputs and duals do, and the task, which everybody has, makes
// blocks of them. Both bring the same blocks, to the bit.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/pass_report.hpp"
#include "core/weight_marks.hpp"
#include "core/world.hpp"
#include "engines/searches.hpp"
#include "engines/subproblem.hpp"

namespace marginloom {

enum class Storage { local, central };

// How blocks of examples are written as arrays, whose names begin with `prefix`, and read.
class BlockArrays {
 public:
  BlockArrays(Storage storage, std::string prefix) : storage_(storage), prefix_(std::move(prefix)) {}

  void write(std::span<const std::size_t> examples, Blocks& blocks, Visit& visit, StateArrays& arrays) const;
  // Puts them into `blocks`, and returns their examples. Throws std::invalid_argument if they are none.
  [[nodiscard]] std::vector<std::size_t> read(const ArrayViews& arrays, Blocks& blocks, Visit& visit) const;

 private:
  void write_outputs(std::span<const std::size_t> examples, const Blocks& blocks, StateArrays& arrays) const;
  void write_blocks(std::span<const std::size_t> examples, Blocks& blocks, Visit& visit, StateArrays& arrays) const;
  void read_outputs(const ArrayViews& arrays, std::span<const std::size_t> examples, Blocks& blocks,
                    Visit& visit) const;
  void read_blocks(const ArrayViews& arrays, std::span<const std::size_t> examples, Blocks& blocks) const;

  Storage storage_;
  std::string prefix_;
};

class LayerSolver {
 public:
  // Learner, kind of blocks and threads must outlive it.
  LayerSolver(const BlockLearner& learner, const Blocks& kind, Team& team);

  // Solves the parts side by side, a thread each, or one after the other on all threads. Returns false if it was
  // stopped.
  [[nodiscard]] bool solve(const Layer& layer, std::span<const LayerPart> parts, bool threads_share,
                           std::span<PartSolved> solved, std::span<ThreadTime> times, StopRequest& stop);
  // The same in the parts of a world, which share the work out evenly. `changed` are the weights `rest` that may differ
  // from the weights of the question before. Throws Interrupted if it was stopped.
  void ask(World& world, const Layer& layer, std::span<const LayerPart> parts, bool threads_share, Storage storage,
           const ChangedWeights& changed, std::span<PartSolved> solved, CascadeReport& costs);

  // The weights to which the only part of a layer that was solved here has led.
  [[nodiscard]] WeightView weights() const { return problems_.front().weights(); }

 private:
  void take(const ArrayViews& answer, std::span<const LayerPart> parts, Blocks& blocks,
            std::span<PartSolved> solved) const;

  const BlockLearner& learner_;
  const Blocks& kind_;
  Team& team_;
  std::deque<Subproblem> problems_;  // one per thread, made when they are needed
  Visit visit_;
};

// Answers the question `solve`, and `search`.
class LayerPartner final : public SearchPart {
 public:
  LayerPartner(std::shared_ptr<const Task> task, std::shared_ptr<const BlockLearner> learner, Storage storage,
               int threads);

 private:
  bool answer_engine(const std::string& question, const ArrayViews& common, const ArrayViews& own, StateArrays& answer,
                     StopRequest& stop) override;
  [[nodiscard]] StateArrays solve(const ArrayViews& common, const ArrayViews& own, StopRequest& stop);

  std::shared_ptr<const BlockLearner> learner_;
  Storage storage_;
  Blocks blocks_;
  Blocks context_;
  LayerSolver solver_;
  Visit visit_;
};

}  // namespace marginloom
