#include "engines/searches.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/stopwatch.hpp"

namespace marginloom {
namespace {

constexpr const char* question_of_searches = "search";

// What examples are to be searched for, as arrays: one number of each kind per example.
[[nodiscard]] StateArrays as_arrays(std::span<const std::size_t> examples, const Searching::Options& options,
                                    std::size_t first) {
  std::vector<std::uint64_t> counts;
  std::vector<double> loss_scales;
  std::vector<double> least;
  for (std::size_t j = 0; j < examples.size(); ++j) {
    const FindOptions wanted = options(first + j);
    counts.push_back(static_cast<std::uint64_t>(wanted.k));
    loss_scales.push_back(wanted.loss_scale);
    least.push_back(wanted.min_violation);
  }
  return {{"examples", std::vector<std::uint64_t>(examples.begin(), examples.end())},
          {"k", std::move(counts)},
          {"loss_scale", std::move(loss_scales)},
          {"min_violation", std::move(least)}};
}

[[nodiscard]] std::vector<FindOptions> options_of(const ArrayViews& own, std::size_t size) {
  const auto counts = array_of<std::uint64_t>(own, "k", size);
  const auto loss_scales = array_of<double>(own, "loss_scale", size);
  const auto least = array_of<double>(own, "min_violation", size);  // below any number if all are wanted
  std::vector<FindOptions> options(size);
  for (std::size_t j = 0; j < size; ++j) {
    if (counts[j] == 0 || counts[j] > std::numeric_limits<int>::max()) {
      throw std::invalid_argument("a number of candidates is 0 or too large");
    }
    if (!(loss_scales[j] >= 0) || !std::isfinite(loss_scales[j])) {
      throw std::invalid_argument("a factor of the loss is negative or not finite");
    }
    if (std::isnan(least[j])) throw std::invalid_argument("a least violation is not a number");
    options[j] = {static_cast<int>(counts[j]), loss_scales[j], least[j]};
  }
  return options;
}

}  // namespace

Searching::Searching(const Task& task, Team& team)
    : task_(task), team_(team), scratch_(static_cast<std::size_t>(team.size())) {
  for (auto& scratch : scratch_) scratch = task_.make_scratch();
}

bool Searching::search(std::span<const std::size_t> examples, WeightView w, const Options& options, Searches& result,
                       std::span<ThreadTime> threads, StopRequest& stop) {
  // Few of many searches are taken at a time, and one of few: these may take long, and others wait for the last.
  const std::size_t chunk = std::clamp<std::size_t>(examples.size() / (8 * scratch_.size()), 1, 4);
  result.searches_.resize(examples.size());
  result.batches_.resize(scratch_.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stopped{false};
  team_.run([&](int thread) {
    const auto t = static_cast<std::size_t>(thread);
    CandidateBatch& found = result.batches_[t];
    found.clear();
    Stopwatch watch;
    while (!stopped.load(std::memory_order_relaxed) && !told_to_stop()) {
      const std::size_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= examples.size()) break;
      if (thread == 0 && stop.stopped()) stopped = true;
      for (std::size_t j = begin; j < std::min(begin + chunk, examples.size()); ++j) {
        Searches::Search& search = result.searches_[j];
        search.batch = static_cast<std::uint32_t>(t);
        search.first = found.size();
        try {
          search.slack = task_.find(examples[j], w, options(j), *scratch_[t], found);
        } catch (...) {
          stopped = true;  // nothing that others find is used
          throw;
        }
        search.count = static_cast<std::uint32_t>(found.size() - search.first);
      }
    }
    threads[t].inference += watch.lap();
  });
  return !stopped && !told_to_stop();
}

bool Searching::search(World* world, std::span<const std::size_t> examples, WeightView w, ChangedWeights* changed,
                       const Options& options, Searches& result, const Take& take, std::span<ThreadTime> threads,
                       StopRequest& stop) {
  if (!world) {
    return search(examples, w, options, result, threads, stop) && (examples.empty() || take(0, examples.size()));
  }
  Stopwatch watch;
  const auto take_unless_stopped = [&](std::size_t first, std::size_t last) {
    threads.front().waiting += watch.lap();
    const bool whole = !stop.stopped_now() && (first == last || take(first, last));
    watch.lap();
    return whole;
  };
  try {
    ask(*world, examples, w, *changed, options, result, take_unless_stopped);
  } catch (const Interrupted&) {
    return false;
  }
  threads.front().waiting += watch.lap();
  return true;
}

void Searching::ask(World& world, std::span<const std::size_t> examples, WeightView w, ChangedWeights& changed,
                    const Options& options, Searches& result, const Take& take) {
  const auto cuts = cut_by_work(task_, examples, world.shares(question_of_searches));
  const auto share = [&](auto list, std::size_t k) { return list.subspan(cuts[k], cuts[k + 1] - cuts[k]); };
  std::vector<StateArrays> own;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) own.push_back(as_arrays(share(examples, k), options, cuts[k]));
  StateArrays places;
  if (!changed.all()) places["weights"] = changed.numbers();
  changed.clear();
  result.searches_.resize(examples.size());
  result.batches_.resize(own.size());
  const auto take_one = [&](std::size_t k, const StateArrays& answer) {
    take_answer(question_of_searches, k, answer, [&](const ArrayViews& arrays) {
      const auto wanted = [&](std::size_t j) { return options(cuts[k] + j); };
      read(arrays, share(examples, k), wanted, k, share(std::span(result.searches_), k), result);
    });
    if (!take(cuts[k], cuts[k + 1])) throw Interrupted();
  };
  world.ask(question_of_searches, {{"weights", w}}, views(places), std::move(own), take_one);
}

void Searching::read(const ArrayViews& answer, std::span<const std::size_t> examples, const Options& options,
                     std::size_t batch, std::span<Searches::Search> searches, Searches& result) {
  const auto slacks = array_of<double>(answer, "slacks", examples.size());
  const auto counts = array_of<std::uint64_t>(answer, "counts", examples.size());
  CandidateBatch& found = result.batches_[batch];
  found = CandidateBatch::from_bytes(array_of<std::uint8_t>(answer, "candidates"), task_.size(), task_.dimension());
  const bool implicit = task_.implicit() != nullptr;
  std::size_t first = 0;
  for (std::size_t j = 0; j < examples.size(); ++j) {
    if (!(slacks[j] >= 0) || !std::isfinite(slacks[j])) {
      throw std::invalid_argument("a slack is negative or not finite");
    }
    if (counts[j] > static_cast<std::uint64_t>(options(j).k) || counts[j] > found.size() - first) {
      throw std::invalid_argument("an example has more candidates than were asked for, or than there are");
    }
    searches[j] = {slacks[j], static_cast<std::uint32_t>(batch), static_cast<std::uint32_t>(counts[j]), first};
    for (; first < searches[j].first + searches[j].count; ++first) {
      if (found[first].example != examples[j]) throw std::invalid_argument("a candidate is of another example");
      check(found[first], implicit);
    }
  }
  if (first != found.size()) throw std::invalid_argument("there are candidates of no example");
}

// What an implicit difference is the task computes from the output again and again, without another look at whether it
// is one.
void Searching::check(const Candidate& candidate, bool implicit) {
  if (candidate.implicit != implicit) {
    throw std::invalid_argument("the difference of a candidate is missing, or there is one too many");
  }
  if (!implicit) return;
  FunctionSink ignore([](const Candidate&) {});
  if (!task_.candidate(candidate.example, candidate.output, *scratch_.front(), ignore)) {
    throw std::invalid_argument("the task does not allow the output of a candidate");
  }
}

SearchPart::SearchPart(std::shared_ptr<const Task> task, int threads)
    : Part(std::move(task), threads), team_(threads), searching_(*task_, team_) {}

bool SearchPart::answer_engine(const std::string& question, const ArrayViews& common, const ArrayViews& own,
                               StateArrays& answer, StopRequest& stop) {
  if (question != question_of_searches) return false;
  const WeightView w = weights_of(common, *task_);
  const auto examples = examples_in(own, *task_);
  const auto options = options_of(own, examples.size());
  std::vector<ThreadTime> threads(static_cast<std::size_t>(team_.size()));
  if (!searching_.search(examples, w, [&](std::size_t j) { return options[j]; }, found_, threads, stop)) {
    throw Interrupted();
  }
  Stopwatch watch;
  std::vector<double> slacks;
  std::vector<std::uint64_t> counts;
  CandidateBatch in_order;
  for (std::size_t j = 0; j < examples.size(); ++j) {
    slacks.push_back(found_.give(j, in_order));
    counts.push_back(found_.count(j));
  }
  answer["slacks"] = std::move(slacks);
  answer["counts"] = std::move(counts);
  answer["candidates"] = in_order.to_bytes();
  threads.front().publishing += watch.lap();
  answer["seconds"] = seconds_of_work(threads);
  return true;
}

}  // namespace marginloom
