// Searches of many examples with weights that stay as they are: on the threads of this process, or in the parts of a
// world. What they bring does not depend on how many there are.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/candidate.hpp"
#include "core/pass_report.hpp"
#include "core/task.hpp"
#include "core/team.hpp"
#include "core/weight_marks.hpp"
#include "core/world.hpp"
#include "engines/part.hpp"

namespace marginloom {

// What searches have brought, in the order in which they were asked for.
class Searches {
 public:
  struct Search {
    double slack = 0;
    std::uint32_t batch = 0;  // that has its candidates
    std::uint32_t count = 0;
    std::size_t first = 0;
  };

  [[nodiscard]] std::size_t size() const { return searches_.size(); }
  [[nodiscard]] double slack(std::size_t j) const { return searches_[j].slack; }
  [[nodiscard]] std::size_t count(std::size_t j) const { return searches_[j].count; }
  // Gives the candidates of a search to the sink, and returns the slack that it found, as Task::find() does.
  template <class Sink>
  double give(std::size_t j, Sink& sink) const {
    const Search& search = searches_[j];
    for (std::size_t k = 0; k < search.count; ++k) sink.accept(batches_[search.batch][search.first + k]);
    return search.slack;
  }

 private:
  friend class Searching;
  std::vector<Search> searches_;
  std::vector<CandidateBatch> batches_;
};

class Searching {
 public:
  // What the search of the j-th example of a list is to find.
  using Options = std::function<FindOptions(std::size_t)>;
  // Told that the result has the searches first ... last - 1 of a list; false if it was stopped.
  using Take = std::function<bool(std::size_t first, std::size_t last)>;

  // The task and the threads must outlive it.
  Searching(const Task& task, Team& team);

  // Searches a list of examples on all threads, which are one behind the other in it; false if it was stopped. Adds the
  // seconds of each thread.
  [[nodiscard]] bool search(std::span<const std::size_t> examples, WeightView w, const Options& options,
                            Searches& result, std::span<ThreadTime> threads, StopRequest& stop);

  // The same in the parts of a world, if there is one, which divide the work. Calls take() for all searches in their
  // order, and for some before parts have made the others; take() may change the weights and ends the search if it
  // returns false. `changed` are the weights that may differ from those of the question before; they do not from then
  // on.
  [[nodiscard]] bool search(World* world, std::span<const std::size_t> examples, WeightView w, ChangedWeights* changed,
                            const Options& options, Searches& result, const Take& take, std::span<ThreadTime> threads,
                            StopRequest& stop);

 private:
  void ask(World& world, std::span<const std::size_t> examples, WeightView w, ChangedWeights& changed,
           const Options& options, Searches& result, const Take& take);
  void read(const ArrayViews& answer, std::span<const std::size_t> examples, const Options& options, std::size_t batch,
            std::span<Searches::Search> searches, Searches& result);
  void check(const Candidate& candidate, bool implicit);

  const Task& task_;
  Team& team_;
  std::vector<std::unique_ptr<Scratch>> scratch_;  // one per thread
};

// Answers the question `search`: searches its examples.
class SearchPart : public Part {
 public:
  SearchPart(std::shared_ptr<const Task> task, int threads);

 protected:
  bool answer_engine(const std::string& question, const ArrayViews& common, const ArrayViews& own, StateArrays& answer,
                     StopRequest& stop) override;
  [[nodiscard]] Team& team() { return team_; }

 private:
  Team team_;
  Searching searching_;
  Searches found_;
};

}  // namespace marginloom
