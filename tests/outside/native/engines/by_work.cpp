// One thread that visits the examples in the order of the work that their searches are, such as short sentences first.
#include <algorithm>
#include <array>
#include <memory>
#include <span>

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
  ByWork(const BlockJob& job, ByWorkOptions options) : DualEngine(job.task, job.learner, job.examples(), job.order) {
    std::ranges::stable_sort(examples_, {}, [this](std::size_t i) { return task_->work(i); });
    if (options.work_order == WorkOrder::expensive_first) std::ranges::reverse(examples_);
  }

 private:
  void search_pass(PassReport& report, StopRequest& stop) override {
    const Access access = plain_access(stop);
    for (auto coming = std::span<const std::size_t>(examples_); !coming.empty(); coming = coming.subspan(1)) {
      report.stopped = stop.stopped();
      if (report.stopped) break;
      worker_.search_and_improve(coming, access);
    }
  }
};

const EngineRegistration<BlockLearner, ByWorkOptions> registered_by_work(
    "by-work", {parameter("work_order", &ByWorkOptions::work_order, work_order_words)},
    [](const BlockJob& job, ByWorkOptions options) { return std::make_shared<ByWork>(job, options); });

}  // namespace
}  // namespace extras
