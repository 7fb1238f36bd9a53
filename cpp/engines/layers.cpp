#include "engines/layers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/stopwatch.hpp"

namespace marginloom {
namespace {

constexpr const char* question_of_solutions = "solve";

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

// How to solve, as numbers: everything of it but the examples, and whether the threads of a part share its weights.
std::vector<double> as_numbers(const Together& how, bool threads_share) {
  const SweepLimits& limits = how.limits;
  return {how.tolerance,
          static_cast<double>(how.whole_sweeps),
          static_cast<double>(limits.early),
          std::min(limits.least_gain, std::numeric_limits<double>::max()),
          static_cast<double>(limits.sweeps),
          limits.change,
          static_cast<double>(limits.times),
          static_cast<double>(threads_share)};
}

Together how_of(std::span<const double> numbers) {
  require(std::ranges::all_of(numbers, [](double number) { return std::isfinite(number) && number >= 0; }),
          "how to solve is said in negative numbers, or in such that are not finite");
  Together how;
  how.tolerance = numbers[0];
  how.whole_sweeps = numbers[1] != 0;
  how.limits = {.early = numbers[2] != 0,
                .least_gain = numbers[3],
                .sweeps = static_cast<std::size_t>(numbers[4]),
                .change = numbers[5],
                .times = static_cast<std::size_t>(numbers[6])};
  return how;
}
constexpr std::size_t numbers_of_how = 8;

// Numbers, which are small mostly, in as few bytes as they need: seven bits in each, all but the last one marked.
constexpr unsigned bits_of_byte = 7;
constexpr std::uint8_t more_follows = 1U << bits_of_byte;

void append(std::size_t number, std::vector<std::uint8_t>& bytes) {
  for (; number >= more_follows; number >>= bits_of_byte) {
    bytes.push_back(static_cast<std::uint8_t>(number | more_follows));
  }
  bytes.push_back(static_cast<std::uint8_t>(number));
}

// Takes the number that the bytes begin with.
std::size_t take_number(ByteView& bytes) {
  std::size_t number = 0;
  for (unsigned shift = 0; shift < 8 * sizeof(std::size_t); shift += bits_of_byte) {
    require(!bytes.empty(), "there are fewer sizes than outputs");
    const std::uint8_t byte = bytes.front();
    bytes = bytes.subspan(1);
    number |= static_cast<std::size_t>(byte & (more_follows - 1)) << shift;
    if (byte < more_follows) return number;
  }
  throw std::invalid_argument("a size is too large");
}

std::uint64_t bytes_of(const StateArrays& arrays) {
  std::uint64_t bytes = 0;
  for (const auto& [name, array] : arrays) {
    bytes += std::visit([](const auto& values) { return values.size() * sizeof(values[0]); }, array);
  }
  return bytes;
}

}  // namespace

void BlockArrays::write(std::span<const std::size_t> examples, Blocks& blocks, Visit& visit,
                        StateArrays& arrays) const {
  arrays[prefix_ + "examples"] = std::vector<std::uint64_t>(examples.begin(), examples.end());
  if (storage_ == Storage::local) {
    write_outputs(examples, blocks, arrays);
  } else {
    write_blocks(examples, blocks, visit, arrays);
  }
}

void BlockArrays::write_outputs(std::span<const std::size_t> examples, const Blocks& blocks,
                                StateArrays& arrays) const {
  std::vector<std::uint8_t> sizes;  // how many outputs an example has, and the length of each
  std::vector<double> duals;
  std::vector<std::uint8_t> outputs;
  for (const std::size_t i : examples) {
    append(blocks[i].size(), sizes);
    for (const Block::Row& row : blocks[i].rows()) {
      const ByteView output = blocks[i].output(row);
      duals.push_back(row.dual);
      append(output.size(), sizes);
      outputs.insert(outputs.end(), output.begin(), output.end());
    }
  }
  arrays[prefix_ + "sizes"] = std::move(sizes);
  arrays[prefix_ + "duals"] = std::move(duals);
  arrays[prefix_ + "outputs"] = std::move(outputs);
}

void BlockArrays::write_blocks(std::span<const std::size_t> examples, Blocks& blocks, Visit& visit,
                               StateArrays& arrays) const {
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint8_t> bytes;
  for (const std::size_t i : examples) {
    blocks.open(i, visit);
    const ByteView block = visit.open.block->as_bytes();
    sizes.push_back(block.size());
    bytes.insert(bytes.end(), block.begin(), block.end());
  }
  arrays[prefix_ + "sizes"] = std::move(sizes);
  arrays[prefix_ + "blocks"] = std::move(bytes);
}

std::vector<std::size_t> BlockArrays::read(const ArrayViews& arrays, Blocks& blocks, Visit& visit) const {
  std::vector<std::size_t> examples;
  for (const std::uint64_t i : array_of<std::uint64_t>(arrays, prefix_ + "examples")) {
    if (i >= blocks.size()) throw std::invalid_argument("there is no example " + std::to_string(i));
    examples.push_back(i);
  }
  if (storage_ == Storage::local) {
    read_outputs(arrays, examples, blocks, visit);
  } else {
    read_blocks(arrays, examples, blocks);
  }
  return examples;
}

void BlockArrays::read_outputs(const ArrayViews& arrays, std::span<const std::size_t> examples, Blocks& blocks,
                               Visit& visit) const {
  const Task& task = blocks.task();
  ByteView sizes = array_of<std::uint8_t>(arrays, prefix_ + "sizes");
  const auto duals = array_of<double>(arrays, prefix_ + "duals");
  const auto outputs = array_of<std::uint8_t>(arrays, prefix_ + "outputs");
  const std::unique_ptr<Scratch> scratch = task.make_scratch();
  std::size_t row = 0;
  std::size_t byte = 0;
  std::vector<ByteView> of_example;
  for (const std::size_t i : examples) {
    require(blocks[i].empty(), "an example comes twice");
    const std::size_t count = take_number(sizes);
    require(count <= duals.size() - row, "there are fewer duals than candidates");
    of_example.clear();
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t length = take_number(sizes);
      require(length <= outputs.size() - byte, "an output ends behind the last one");
      of_example.push_back(outputs.subspan(byte, length));
      byte += length;
    }
    for (std::size_t k = count; k-- > 0;) {  // from the last to the first: each is put before the others
      const double dual = duals[row + k];
      require(dual >= 0 && std::isfinite(dual), "a dual is negative or not finite");
      FunctionSink sink([&](const Candidate& candidate) {
        require(!blocks[i].find(candidate.key), "an output comes twice");
        blocks.absorb(candidate, visit.scratch);
        blocks[i].rows().front().dual = dual;
      });
      require(task.candidate(i, of_example[k], *scratch, sink), "the task does not allow an output");
    }
    require(blocks[i].size() == count, "an output is the gold one");
    row += count;
  }
  require(sizes.empty() && row == duals.size() && byte == outputs.size(), "there are outputs of no example");
}

void BlockArrays::read_blocks(const ArrayViews& arrays, std::span<const std::size_t> examples, Blocks& blocks) const {
  const auto sizes = array_of<std::uint64_t>(arrays, prefix_ + "sizes", examples.size());
  const auto bytes = array_of<std::uint8_t>(arrays, prefix_ + "blocks");
  require(!blocks.task().implicit(), "blocks without features cannot be sent");
  std::size_t byte = 0;
  for (std::size_t e = 0; e < examples.size(); ++e) {
    require(blocks[examples[e]].empty(), "an example comes twice");
    require(sizes[e] <= bytes.size() - byte, "a block ends behind the last one");
    const Block block = Block::from_bytes(bytes.subspan(byte, sizes[e]), blocks.task().dimension());
    require(block.empty() || block.has_support(), "a block has no features");
    blocks.put(examples[e], block);
    byte += sizes[e];
  }
  require(byte == bytes.size(), "there are blocks of no example");
}

LayerSolver::LayerSolver(const BlockLearner& learner, const Blocks& kind, Team& team)
    : learner_(learner), kind_(kind), team_(team) {}

bool LayerSolver::solve(const Layer& layer, std::span<const LayerPart> parts, bool threads_share,
                        std::span<PartSolved> solved, std::span<ThreadTime> times, StopRequest& stop) {
  const bool side_by_side = !threads_share && parts.size() > 1 && team_.size() > 1;
  const std::size_t problems = side_by_side ? static_cast<std::size_t>(team_.size()) : 1;
  while (problems_.size() < problems) problems_.emplace_back(learner_, kind_);
  if (!side_by_side) {
    Stopwatch watch;
    bool stopped = false;
    for (std::size_t k = 0; k < parts.size() && !stopped; ++k) {
      const bool shared = threads_share && team_.size() > 1;
      Subproblem& problem = problems_.front();
      solved[k] = shared ? problem.solve(layer, parts[k], team_, stop) : problem.solve(layer, parts[k], stop);
      stopped = solved[k].stopped;
    }
    const double seconds = watch.lap();
    for (ThreadTime& time : times.first(threads_share ? times.size() : 1)) time.update += seconds;
    return !stopped && !told_to_stop();
  }
  std::atomic<std::size_t> next{0};
  std::atomic<bool> ended{false};
  team_.run([&](int thread) {
    const auto t = static_cast<std::size_t>(thread);
    // Only the calling thread may ask the owner; the others ask whether it was told to end.
    StopRequest ending([&] { return ended.load(std::memory_order_relaxed) || told_to_stop(); });
    Stopwatch watch;
    try {
      for (std::size_t k = next++; k < parts.size() && !ended; k = next++) {
        solved[k] = problems_[t].solve(layer, parts[k], thread == 0 ? stop : ending);
        if (solved[k].stopped) ended = true;
      }
    } catch (...) {
      ended = true;
      throw;
    }
    times[t].update += watch.lap();
  });
  return !ended && !told_to_stop();
}

void LayerSolver::ask(World& world, const Layer& layer, std::span<const LayerPart> parts, bool threads_share,
                      Storage storage, const ChangedWeights& changed, std::span<PartSolved> solved,
                      CascadeReport& costs) {
  Stopwatch watch;
  const std::size_t processes = world.parts();
  StateArrays common{{"how", as_numbers(*layer.how, threads_share)}};
  if (!layer.context.empty()) {
    BlockArrays(storage, "context_").write(layer.context, *layer.context_blocks, visit_, common);
  }
  const auto first = [&](std::size_t process) { return (process * parts.size() + processes - 1) / processes; };
  std::vector<StateArrays> own(processes);
  for (std::size_t process = 0; process < processes; ++process) {
    const auto share = parts.subspan(first(process), first(process + 1) - first(process));
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> seeds;
    std::vector<std::size_t> examples;
    for (const LayerPart& part : share) {
      sizes.push_back(part.examples.size());
      seeds.push_back(part.seed);
      examples.insert(examples.end(), part.examples.begin(), part.examples.end());
    }
    own[process] = {{"part_sizes", std::move(sizes)}, {"seeds", std::move(seeds)}};
    BlockArrays(storage, "").write(examples, *layer.blocks, visit_, own[process]);
    costs.sent += bytes_of(own[process]) + bytes_of(common);
  }
  ArrayViews given = views(common);
  StateArrays places;
  if (!layer.rest.empty()) {
    given["weights"] = layer.rest;
    if (!changed.all()) places["weights"] = changed.numbers();
  }
  const auto answers = all_answers(world, question_of_solutions, given, views(places), std::move(own));
  double slowest = 0;
  take_answers(question_of_solutions, answers, [&](std::size_t process, const ArrayViews& answer) {
    const std::size_t count = first(process + 1) - first(process);
    take(answer, parts.subspan(first(process), count), *layer.blocks, solved.subspan(first(process), count));
    const auto seconds = array_of<double>(answer, "seconds");
    slowest = std::max(slowest, seconds.empty() ? 0.0 : std::ranges::max(seconds));
    costs.received += bytes_of(answers[process]);
  });
  costs.computing += slowest;
  costs.seconds += watch.lap();
}

// The duals of all candidates of the parts, in their order.
void LayerSolver::take(const ArrayViews& answer, std::span<const LayerPart> parts, Blocks& blocks,
                       std::span<PartSolved> solved) const {
  constexpr double rounding = 1 + 1e-9;
  const auto duals = array_of<double>(answer, "duals");
  const auto updates = array_of<std::uint64_t>(answer, "updates", parts.size());
  const auto gains = array_of<double>(answer, "gains", parts.size());
  std::size_t place = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    require(std::isfinite(gains[k]), "a gain is not finite");
    solved[k] = {.updates = updates[k], .gain = gains[k]};
    for (const std::size_t i : parts[k].examples) {
      const auto rows = blocks[i].rows();
      require(rows.size() <= duals.size() - place, "there are fewer duals than candidates");
      double sum = 0;
      for (Block::Row& row : rows) {
        const double dual = duals[place++];
        require(dual >= 0 && std::isfinite(dual), "a dual is negative or not finite");
        row.dual = dual;
        sum += dual;
      }
      require(sum <= rounding * learner_.cost(i), "the duals of an example exceed its bound");
    }
  }
  require(place == duals.size(), "there are duals of no candidate");
}

LayerPartner::LayerPartner(std::shared_ptr<const Task> task, std::shared_ptr<const BlockLearner> learner,
                           Storage storage, int threads)
    : SearchPart(std::move(task), threads),
      learner_(std::move(learner)),
      storage_(storage),
      blocks_(learner_->blocks().another(0.5)),
      context_(learner_->blocks().another(0.25)),
      solver_(*learner_, context_, team()) {}

bool LayerPartner::answer_engine(const std::string& question, const ArrayViews& common, const ArrayViews& own,
                                 StateArrays& answer, StopRequest& stop) {
  if (question != question_of_solutions) return SearchPart::answer_engine(question, common, own, answer, stop);
  const auto forget = [&] {
    for (Blocks* blocks : {&blocks_, &context_}) {
      for (std::size_t i = 0; i < blocks->size(); ++i) blocks->keep_first(i, 0);
    }
  };
  try {
    answer = solve(common, own, stop);
  } catch (...) {
    forget();
    throw;
  }
  forget();
  return true;
}

StateArrays LayerPartner::solve(const ArrayViews& common, const ArrayViews& own, StopRequest& stop) {
  Stopwatch watch;
  const auto numbers = array_of<double>(common, "how", numbers_of_how);
  const Together how = how_of(numbers);
  const bool threads_share = numbers.back() != 0;
  const auto sizes = array_of<std::uint64_t>(own, "part_sizes");
  const auto seeds = array_of<std::uint64_t>(own, "seeds", sizes.size());
  const auto examples = BlockArrays(storage_, "").read(own, blocks_, visit_);
  std::vector<std::size_t> context;
  if (common.contains("context_examples")) {
    context = BlockArrays(storage_, "context_").read(common, context_, visit_);
  }
  std::vector<LayerPart> parts;
  std::size_t first = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    require(sizes[k] <= examples.size() - first, "a part has more examples than there are");
    parts.push_back({std::span(examples).subspan(first, sizes[k]), seeds[k]});
    first += sizes[k];
  }
  require(first == examples.size(), "there are examples of no part");
  for (const std::size_t i : examples) require(learner_->cost(i) > 0, "an example does not count");
  Layer layer{&how, &blocks_, context, &context_, {}};
  if (common.contains("weights")) layer.rest = weights_of(common, *task_);

  std::vector<PartSolved> solved(parts.size());
  std::vector<ThreadTime> times(static_cast<std::size_t>(team().size()));
  const double reading = watch.lap();
  if (!solver_.solve(layer, parts, threads_share, solved, times, stop)) throw Interrupted();
  watch.lap();
  std::vector<double> duals;
  std::vector<std::uint64_t> updates;
  std::vector<double> gains;
  for (const std::size_t i : examples) {
    for (const Block::Row& row : blocks_[i].rows()) duals.push_back(row.dual);
  }
  for (const PartSolved& one : solved) {
    updates.push_back(one.updates);
    gains.push_back(one.gain);
  }
  times.front().update += reading + watch.lap();
  StateArrays answer;
  answer["duals"] = std::move(duals);
  answer["updates"] = std::move(updates);
  answer["gains"] = std::move(gains);
  answer["seconds"] = seconds_of_work(times);
  return answer;
}

}  // namespace marginloom
