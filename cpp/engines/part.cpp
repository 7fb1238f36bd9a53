#include "engines/part.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/stopwatch.hpp"

namespace marginloom {

Part::Part(std::shared_ptr<const Task> task, int threads)
    : task_(std::move(task)), threads_(std::max(threads, 1)), slacks_(*task_, threads_) {}

StateArrays Part::answer(const std::string& question, const ArrayViews& common, const ArrayViews& own,
                         StopRequest& stop) {
  const Listening listening(stop);
  if (stop.stopped_now()) throw Interrupted();
  StateArrays result;
  if (question == "slacks") {
    Stopwatch watch;
    result = answer_slacks(slacks_, *task_, common, own, stop);
    result["seconds"] = std::vector<double>(static_cast<std::size_t>(threads_), watch.lap());
  } else if (!answer_engine(question, common, own, result, stop)) {
    throw std::invalid_argument("there is no question '" + question + "' for a part of this engine");
  }
  return result;
}

std::vector<double> seconds_of_work(std::span<const ThreadTime> threads) {
  std::vector<double> seconds;
  for (const ThreadTime& time : threads) seconds.push_back(time.sum() - time.waiting);
  return seconds;
}

}  // namespace marginloom
