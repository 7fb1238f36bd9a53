// One shard of the examples, learnt by one thread (parameter-mixing-2010, section 5): what mixing must be better than.
#include "engines/registered_engine.hpp"
#include "engines/serial.hpp"
#include "engines/shards.hpp"

namespace marginloom {
namespace {

struct SubsampleOptions {
  std::size_t shards = 10;
  Sharding sharding = Sharding::shuffled;
};

const EngineRegistration<OnlineLearner, SubsampleOptions> registered_subsample(
    "subsample",
    {parameter("shards", &SubsampleOptions::shards),
     parameter("sharding", &SubsampleOptions::sharding, sharding_words)},
    [](const OnlineJob& job, SubsampleOptions options) {
      const bool shuffled = options.sharding == Sharding::shuffled;
      auto first = make_shards(job.rows, options.shards, shuffled, job.order.seed).front();
      return std::make_shared<SerialOnline>(job.task, job.learner, examples_of(*job.task, std::move(first)), job.order);
    });

}  // namespace
}  // namespace marginloom
