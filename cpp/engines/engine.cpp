#include "engines/engine.hpp"

#include <algorithm>

#include "core/stopwatch.hpp"

namespace marginloom {

PassReport Engine::run_pass(StopRequest& stop) {
  Stopwatch wall;
  const Listening listening(stop);
  PassReport report;
  try {
    report = do_pass(stop);
  } catch (const Interrupted&) {  // where an engine has nothing to say of a pass that was cut short
    report.stopped = true;
  }
  const double seconds = wall.lap();
  for (ThreadTime& time : report.threads) {
    // What a thread did not do itself it waited for; a thread that is alone waits for nobody and kept its books.
    double& rest = report.threads.size() > 1 ? time.waiting : time.update;
    rest += std::max(seconds - time.sum(), 0.0);
  }
  return report;
}

}  // namespace marginloom
