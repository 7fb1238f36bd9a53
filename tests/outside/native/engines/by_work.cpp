// One thread that visits the examples in the order of the work that their searches are, such as short sentences first.
#include <algorithm>
#include <array>
#include <memory>

#include "core/stopwatch.hpp"
#include "engines/dual_engine.hpp"
#include "engines/registered_engine.hpp"

namespace extras {
namespace {

using namespace marginloom;

enum class WorkOrder { cheap_first, expensive_first };
constexpr std::array<Word<WorkOrder>, 2> work_order_words{
    {{"cheap-first", WorkOrder::cheap_first}, {"expensive-first", WorkOrder::expensive_first}}};

struct ByWorkOptions {
  WorkOrder work_order = WorkOrder::cheap_first;
};

class ByWork final : public DualEngine {
 public:
  ByWork(const DualJob& job, ByWorkOptions options)
      : DualEngine(job.task, job.learner, job.examples(), job.visits), scratch_(task_->make_scratch()) {
    std::ranges::stable_sort(examples_, {}, [this](std::size_t i) { return task_->work(i); });
    if (options.work_order == WorkOrder::expensive_first) std::ranges::reverse(examples_);
  }

 private:
  void search_pass(PassReport& report, StopRequest& stop) override {
    const Access access{weights_.values(), {weights_.values().data()}, 1, stop};
    FunctionSink absorb([&](const Candidate& candidate) {
      learner_->absorb(candidate, visitor_.visit);
      ++report.found;
    });
    ThreadTime& time = report.threads.emplace_back();
    Stopwatch watch;
    for (const std::size_t i : examples_) {
      report.stopped = stop.stopped();
      if (report.stopped) break;
      const std::size_t found_before = report.found;
      note_search(i, task_->find(i, weights_.values(), learner_->search(i), *scratch_, absorb), report);
      report.wrong += report.found > found_before ? 1 : 0;
      time.inference += watch.lap();
      improve(*learner_, i, visitor_, access);
      time.update += watch.lap();
    }
    report.accepted = report.found;
  }

  std::unique_ptr<Scratch> scratch_;
};

const EngineRegistration<DualLearner, ByWorkOptions> registered_by_work(
    "by-work", {parameter("work_order", &ByWorkOptions::work_order, work_order_words)},
    [](const DualJob& job, ByWorkOptions options) { return std::make_shared<ByWork>(job, options); });

}  // namespace
}  // namespace extras
