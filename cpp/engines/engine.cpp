#include "engines/engine.hpp"

#include <algorithm>

#include "core/stopwatch.hpp"

namespace marginloom {

PassReport Engine::run_pass(StopRequest& stop) {
  Stopwatch wall;
  PassReport report = do_pass(stop);
  const double seconds = wall.lap();
  for (ThreadTime& time : report.threads) {
    // What a thread did not do itself it waited for; a thread that is alone waits for nobody and kept its books.
    double& rest = report.threads.size() > 1 ? time.waiting : time.update;
    rest += std::max(seconds - time.sum(), 0.0);
  }
  return report;
}

}  // namespace marginloom
