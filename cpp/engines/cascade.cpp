#include "engines/cascade.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "core/stopwatch.hpp"
#include "engines/registered_engine.hpp"

namespace marginloom {

Cascade::Cascade(std::shared_ptr<const Task> task, std::shared_ptr<BlockLearner> learner,
                 std::vector<std::size_t> examples, OrderOptions order, CascadeOptions options)
    : DualEngine(std::move(task), std::move(learner), std::move(examples), order),
      parallel_(options),
      team_(options.threads),
      searching_(*task_, team_),
      blocks_(learner_->blocks().another(0.25)),
      support_(learner_->blocks().another(0.125)),
      point_(task_->size(), 1),
      layers_(*learner_, support_, team_) {
  const Schedule schedule = learner_->schedule();
  if (!schedule.together || !schedule.solves_copies) {
    throw std::invalid_argument("this learner does not solve the blocks of many examples together");
  }
  if (parallel_.storage == Storage::central && task_->implicit()) {
    throw std::invalid_argument("blocks without features cannot be stored centrally");
  }
  if (parallel_.feedback == 0) throw std::invalid_argument("there must be a run through the layers");
}

void Cascade::search_pass(PassReport& report, StopRequest& stop) {
  report.threads.resize(static_cast<std::size_t>(team_.size()));
  Stopwatch watch;
  const auto order = order_of_pass();
  const auto all = std::span<const std::size_t>(order);
  waiting_.clear();
  candidates_ = 0;
  costs_ = {};
  if (world()) {  // what has happened since the last pass is not known
    if (!changed_) changed_ = std::make_unique<ChangedWeights>(task_->dimension());
    changed_->mark_all();
  }
  report.threads.front().update += watch.lap();
  const auto options = [&](std::span<const std::size_t> examples) {
    return [this, examples](std::size_t j) { return learner_->search(examples[j]); };
  };
  const std::size_t rounds = std::clamp<std::size_t>(parallel_.rounds, 1, std::max<std::size_t>(all.size(), 1));
  for (std::size_t round = 0; round < rounds && !report.stopped; ++round) {
    const std::size_t begin = round * all.size() / rounds;
    const auto examples = all.subspan(begin, (round + 1) * all.size() / rounds - begin);
    const auto learn_later = [](std::size_t, std::size_t) { return true; };  // solutions ask questions of their own
    report.stopped = !searching_.search(world(), examples, weights_.values(), changed_.get(), options(examples), found_,
                                        learn_later, report.threads, stop) ||
                     !learn(examples, all, report, stop);
  }
  if (!report.stopped) {
    const auto together = learner_->due({all, waiting_, candidates_, true, 1});
    report.stopped = together && !solve(*together, report, stop);
  }
  report.cascade = costs_;
}

bool Cascade::learn(std::span<const std::size_t> examples, std::span<const std::size_t> all, PassReport& report,
                    StopRequest& stop) {
  for (std::size_t j = 0; j < examples.size(); ++j) {
    const Found found = worker_.find(examples[j], [&](auto& sink) { return found_.give(j, sink); });
    worker_.note(found);
    if (found.candidates > 0) waiting_.push_back(examples[j]);
    candidates_ += found.candidates;
    const auto together = learner_->due({all, waiting_, candidates_, false, 1});
    if (together && !solve(*together, report, stop)) return false;
    if (j % 64 == 0 && stop.stopped()) return false;
  }
  return true;
}

bool Cascade::solve(const Together& together, PassReport& report, StopRequest& stop) {
  solving_.clear();
  std::ranges::copy_if(together.examples, std::back_inserter(solving_),
                       [&](std::size_t i) { return !learner_->blocks()[i].empty(); });
  waiting_.clear();  // only now: it may be what is to be solved
  candidates_ = 0;
  if (solving_.empty()) return true;
  ++costs_.solutions;
  layer_ = {.how = &together, .blocks = &blocks_};
  leave_out();
  Ended ended = Ended::no;
  for (std::size_t run = 1; run <= parallel_.feedback && ended == Ended::no; ++run) {
    begin_run(run);
    ended = run_layers(run, report, stop);
    if (ended == Ended::no) end_run();
  }
  for (const std::size_t i : solving_) blocks_.keep_first(i, 0);
  for (const std::size_t i : std::exchange(supports_, {})) support_.keep_first(i, 0);
  settle(together.drops && ended != Ended::stopped);
  return ended != Ended::stopped;
}

// What the examples that are not solved for add to the weights.
void Cascade::leave_out() {
  Blocks& blocks = learner_->blocks();
  std::size_t filled = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) filled += blocks[i].empty() ? 0 : 1;
  if (filled == solving_.size()) return rest_.clear();
  const auto w = weights_.values();
  rest_.assign(w.begin(), w.end());
  // Implicit differences are added by whole rows, which is not the same to the last bit as by single weights.
  const bool marks = changed_ && !task_->implicit();
  if (changed_ && !marks) changed_->mark_all();
  const WeightWriter writer{rest_.data(), false, marks ? changed_.get() : nullptr};
  for (const std::size_t i : solving_) blocks.add(i, -1, writer, worker_.visit);
  layer_.rest = rest_;
}

void Cascade::begin_run(std::size_t run) {
  ++costs_.runs;
  Blocks& blocks = learner_->blocks();
  blocks_.hold(run > 1 ? &point_ : nullptr);
  if (run > 1) point_.clear();
  supports_.clear();
  for (const std::size_t i : solving_) {
    blocks.open(i, worker_.visit);
    const Block& block = *worker_.visit.open.block;
    blocks_.put(i, block);
    costs_.candidates += block.size();
    if (run == 1) continue;
    point_.note(i, block, 0);
    support_.put(i, block);
    support_.drop_zero_duals(i);
    if (!support_[i].empty()) supports_.push_back(i);
  }
  layer_.context = supports_;
  layer_.context_blocks = &support_;
}

std::vector<Cascade::Piece> Cascade::pieces() const {
  std::size_t parts = parallel_.parts;
  if (parts == 0) parts = world() ? world()->parts() : static_cast<std::size_t>(team_.size());
  parts = std::clamp<std::size_t>(parts, 1, solving_.size());
  std::vector<double> work;
  for (const std::size_t i : solving_) work.push_back(static_cast<double>(blocks_[i].size()));
  const auto cuts = cut_by_work(work, parts);
  std::vector<Piece> result;
  for (std::size_t part = 0; part < parts; ++part) result.push_back({cuts[part], cuts[part + 1]});
  return result;
}

Cascade::Ended Cascade::run_layers(std::size_t run, PassReport& report, StopRequest& stop) {
  auto pieces = this->pieces();
  for (std::size_t layer = 1;; ++layer) {
    if (!solve_layer(pieces, report, stop)) return Ended::stopped;
    if (run > 1 && layer == 1 && updates_ == 0) return Ended::stable;
    for (const std::size_t i : solving_) blocks_.drop_zero_duals(i);
    if (pieces.size() == 1) return Ended::no;
    std::vector<Piece> merged;
    for (std::size_t k = 0; k < pieces.size(); k += 2) {
      const bool pair = k + 1 < pieces.size();
      merged.push_back({pieces[k].first, pieces[pair ? k + 1 : k].last, !pair});
    }
    pieces = std::move(merged);
  }
}

// Solves the pieces that are not solved yet: the last one here, others in the parts of a world if there is one.
bool Cascade::solve_layer(std::span<const Piece> pieces, PassReport& report, StopRequest& stop) {
  ++costs_.layers;
  std::vector<LayerPart> parts;
  for (const Piece& piece : pieces) {
    const auto examples = std::span<const std::size_t>(solving_).subspan(piece.first, piece.last - piece.first);
    if (!piece.solved) parts.push_back({examples, worker_.random.next()});
  }
  std::vector<PartSolved> solved(parts.size());
  Stopwatch watch;
  if (world() && pieces.size() > 1) {
    try {
      layers_.ask(*world(), layer_, parts, threads_share(), parallel_.storage, *changed_, solved, costs_);
    } catch (const Interrupted&) {
      return false;
    }
    report.threads.front().waiting += watch.lap();
    if (layer_.rest.empty()) {  // nobody has the weights of the question before any more
      changed_->mark_all();
    } else {
      changed_->clear();
    }
    if (stop.stopped_now()) return false;
  } else {
    if (!layers_.solve(layer_, parts, threads_share(), solved, report.threads, stop)) return false;
    const double seconds = watch.lap();
    costs_.computing += seconds;
    costs_.seconds += seconds;
    if (pieces.size() == 1) costs_.last += seconds;
  }
  updates_ = 0;
  for (const PartSolved& one : solved) {
    updates_ += one.updates;
    worker_.gain += one.gain;
  }
  worker_.updates += updates_;
  return true;
}

// Takes over what the last layer has led to, or the best point on the way there.
void Cascade::end_run() {
  const auto for_rows = [&](auto function) {
    for (const std::size_t i : solving_) {
      const auto ends = blocks_[i].rows();  // in the order of the learner's, without those that were eliminated
      std::size_t k = 0;
      for (Block::Row& row : learner_->blocks()[i].rows()) {
        const bool there = k < ends.size() && ends[k].key == row.key;
        function(row, there ? ends[k].dual : 0.0);
        if (there) ++k;
      }
    }
  };
  double losses = 0;
  for_rows([&](const Block::Row& row, double end) { losses += (end - row.dual) * row.loss; });
  const auto w = weights_.values();
  const WeightView w_end = layers_.weights();
  const double share = best_share_of_way(w, w_end, losses);
  for_rows([&](Block::Row& row, double end) {
    row.dual = share == 1 ? end : row.dual + share * (end - row.dual);
    costs_.support_vectors += row.dual > 0 ? 1 : 0;
  });
  for (std::size_t k = 0; k < w.size(); ++k) w[k] = share == 1 ? w_end[k] : w[k] + share * (w_end[k] - w[k]);
}

// Tells the learner what has become of its blocks.
void Cascade::settle(bool drops) {
  Visit& visit = worker_.visit;
  const auto w = weights_.values();
  for (const std::size_t i : solving_) {
    learner_->blocks().open(i, visit);
    gather(*task_, i, w, visit);
    Step step;
    step.largest_violation = -std::numeric_limits<double>::infinity();
    for (const Block::Row& row : visit.open.block->rows()) {
      step.largest_violation = std::max(step.largest_violation, row.loss - visit.open.dot(row));
    }
    learner_->settle(i, visit.open.duals, step, drops);
  }
  if (!changed_ || changed_->all()) return;
  for (std::size_t k = 0; k < rest_.size(); ++k) {
    if (w[k] != rest_[k]) changed_->mark(static_cast<WeightIndex>(k));
  }
  if (rest_.empty()) changed_->mark_all();
}

namespace {

constexpr std::array<Word<Storage>, 2> storage_words{{{"local", Storage::local}, {"central", Storage::central}}};

const EngineRegistration<BlockLearner, CascadeOptions> registered_cascade(
    "cascade",
    {parameter("parts", &CascadeOptions::parts), parameter("feedback", &CascadeOptions::feedback),
     parameter("storage", &CascadeOptions::storage, storage_words), parameter("rounds", &CascadeOptions::rounds)},
    [](const BlockJob& job, CascadeOptions options) {
      options.threads = job.threads;
      return std::make_shared<Cascade>(job.task, job.learner, job.examples(), job.order, options);
    },
    nullptr,
    [](const BlockJob& job, const CascadeOptions& options) {
      return std::make_shared<LayerPartner>(job.task, job.learner, options.storage, job.threads);
    });

}  // namespace

}  // namespace marginloom
