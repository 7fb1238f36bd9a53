// Passes that an exception or a stop request cuts short: what they left unfinished must not enter later ones.
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engines/master_worker.hpp"
#include "engines/serial.hpp"
#include "failing_task.hpp"
#include "learners/cutting_plane.hpp"
#include "learners/dcd.hpp"
#include "learners/frank_wolfe.hpp"
#include "learners/fsmo.hpp"
#include "learners/one_slack.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::BlockLearner;
using marginloom::DualEngine;
using marginloom::MasterWorker;
using marginloom::PassReport;
using marginloom::SerialDual;
using marginloom::StopRequest;
using marginloom::Task;

namespace {

using Make = std::function<std::shared_ptr<BlockLearner>(const std::shared_ptr<const Task>&)>;
using Drive = std::function<std::unique_ptr<DualEngine>(std::shared_ptr<const Task>, std::shared_ptr<BlockLearner>,
                                                        std::vector<std::size_t>)>;
using Cut = std::function<void(FailingTask&, DualEngine&)>;

template <class Learner>
Make learner(typename Learner::Parameters parameters) {
  return [parameters](const std::shared_ptr<const Task>& task) {
    return std::make_shared<Learner>(task, std::vector<double>(task->size(), 0.3), parameters);
  };
}

const std::vector<Make>& learners() {
  using namespace marginloom;
  static const std::vector<Make> all{
      learner<Dcd>({}),
      learner<CuttingPlane>({.batch = 3}),
      learner<CuttingPlane>({.batch = 0}),
      learner<OneSlack>({.cache = 0}),
      learner<OneSlack>({.cache = 3}),
      learner<FrankWolfe>({}),
      learner<FrankWolfe>({.inner_passes = 2, .averaged = true}),
      learner<Fsmo>({.batch = 5}),
  };
  return all;
}

void cut_by_exception(FailingTask& task, DualEngine& engine) {
  StopRequest never;
  task.fail_at(11);
  CHECK_THROWS(std::runtime_error, engine.run_pass(never), "search failed");
}

void cut_by_request(FailingTask& task, DualEngine& engine) {
  bool wanted = false;
  StopRequest stop([&] { return wanted; }, StopRequest::Time(0));
  task.do_at(11, [&] { wanted = true; });
  const PassReport report = engine.run_pass(stop);
  CHECK(report.stopped);
  CHECK(report.inferences == 12);
}

// An engine that goes on after a pass that was cut short does what one does that gets its state.
void check_goes_on(const Drive& drive, const std::vector<Cut>& cuts) {
  marginloom::Random random(70);
  const auto problem = problems::make_problem({.sentences = 30, .longest = 4, .features = 8}, random);
  StopRequest never;
  for (const Make& make : learners()) {
    for (const Cut& cut : cuts) {
      const auto task = std::make_shared<FailingTask>(problem.task());
      const auto engine = drive(task, make(task), problem.examples());
      const auto other = drive(task, make(task), problem.examples());
      for (int pass = 0; pass < 2; ++pass) CHECK(!engine->run_pass(never).stopped);
      cut(*task, *engine);
      other->import_state(engine->export_state());
      for (int pass = 0; pass < 2; ++pass) {
        const PassReport on = engine->run_pass(never);
        const PassReport restored = other->run_pass(never);
        CHECK(on.dual == restored.dual);
        CHECK(on.primal_estimate == restored.primal_estimate);
        CHECK(engine->export_state() == other->export_state());
      }
    }
  }
}

}  // namespace

TEST("serial: nothing of a pass that was cut short is left over in the next one") {
  check_goes_on(
      [](auto task, auto learner, auto examples) {
        return std::make_unique<SerialDual>(task, learner, examples, marginloom::OrderOptions{.seed = 1});
      },
      {cut_by_exception, cut_by_request});
}

TEST("master_worker: nothing of a pass that was cut short is left over in the next one") {
  check_goes_on(
      [](auto task, auto learner, auto examples) {
        return std::make_unique<MasterWorker>(task, learner, examples, marginloom::OrderOptions{.seed = 1},
                                              marginloom::MasterWorkerOptions{.threads = 3, .rounds = 4});
      },
      {cut_by_exception});
}
