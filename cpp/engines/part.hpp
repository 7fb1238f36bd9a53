// The half of an engine that answers questions of a driver (core/world.hpp). Nothing that it keeps from one question to
// the next has an effect on an answer.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "core/objective.hpp"
#include "core/pass_report.hpp"
#include "core/task.hpp"
#include "core/world.hpp"

namespace marginloom {

class Part {
 public:
  Part(std::shared_ptr<const Task> task, int threads);
  virtual ~Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  mutable std::atomic<bool> busy{false};  // as Engine's

  [[nodiscard]] const Task& task() const { return *task_; }

  // The answer to `slacks`, which every part knows, or to what the engine's other half asks. `seconds` of it are those
  // that each thread has worked. Throws std::invalid_argument if it is not such a question, and Interrupted if it was
  // stopped.
  [[nodiscard]] StateArrays answer(const std::string& question, const ArrayViews& common, const ArrayViews& own,
                                   StopRequest& stop);

 protected:
  // The same for what only this engine's parts are asked; false if they are not asked that.
  virtual bool answer_engine(const std::string& question, const ArrayViews& common, const ArrayViews& own,
                             StateArrays& answer, StopRequest& stop) = 0;

  std::shared_ptr<const Task> task_;

 private:
  int threads_;
  SlackSearch slacks_;
};

// The seconds that threads have worked, as an answer has them.
[[nodiscard]] std::vector<double> seconds_of_work(std::span<const ThreadTime> threads);

}  // namespace marginloom
