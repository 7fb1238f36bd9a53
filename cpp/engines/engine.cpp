#include "engines/engine.hpp"

#include <algorithm>
#include <stdexcept>

#include "core/stopwatch.hpp"

namespace marginloom {
namespace {

// Gives a world to an engine, until the end of a block.
class Lent {
 public:
  Lent(World*& place, World* world) : place_(place) { place_ = world; }
  ~Lent() { place_ = nullptr; }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

 private:
  World*& place_;
};

}  // namespace

PassReport Engine::run_pass(StopRequest& stop, World* world) {
  if (world && !works_in_parts()) throw std::invalid_argument("this engine does not work in parts");
  const Lent lent(world_, world);
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

std::optional<Certificate> Engine::certify(int threads, StopRequest& stop, World* world) {
  const Lent lent(world_, world);
  return do_certify(threads, stop);
}

}  // namespace marginloom
