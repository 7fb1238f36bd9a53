// Detection, sets of labels and relations on every engine that has threads: the certified optimum, and under the thread
// sanitizer nothing that two threads touch in the tasks.
#include <memory>
#include <numeric>
#include <vector>

#include "core/random.hpp"
#include "engines/decoupled.hpp"
#include "engines/master_worker.hpp"
#include "engines/pipelined.hpp"
#include "engines/shared.hpp"
#include "learners/dcd.hpp"
#include "learners/fsmo.hpp"
#include "problems.hpp"
#include "tasks/detection/detection.hpp"
#include "tasks/multilabel/multilabel.hpp"
#include "tasks/relations/branch_and_bound.hpp"
#include "tasks/relations/relations.hpp"
#include "test.hpp"

using namespace marginloom;

namespace {

using SharedTask = std::shared_ptr<const Task>;
constexpr double cost = 0.3;

// Images of noise with a bright window for one of two labels. The larger ones are searched by Fourier transforms.
struct Images {
  std::vector<float> pixels;
  std::vector<std::uint32_t> heights, widths, gold;
  DetectionOptions options;

  Images(Random& random, std::uint32_t side, std::uint32_t window, std::size_t count) {
    options.sizes = {{window, window}};
    const std::size_t reach = 2 * window + 1;
    options.loss_tables = {0, 1, 1, 0};
    options.losses.assign(2 * reach * reach, 1.0);
    options.losses[window * reach + window] = 0;
    for (std::size_t i = 0; i < count; ++i) {
      heights.push_back(side);
      widths.push_back(side);
      const auto label = static_cast<std::uint32_t>(random.below(2));
      const auto top = static_cast<std::uint32_t>(random.below(side - window + 1));
      const auto left = static_cast<std::uint32_t>(random.below(side - window + 1));
      gold.insert(gold.end(), {label, 0, top, left});
      for (std::uint32_t y = 0; y < side; ++y) {
        for (std::uint32_t x = 0; x < side; ++x) {
          const bool inside = y - top < window && x - left < window && (x + label) % 2 == 0;
          pixels.push_back(static_cast<float>(problems::uniform(random) / 2 + (inside ? 1 : 0)));
        }
      }
    }
    pixels.resize(pixels.size() + column_alignment);
  }

  [[nodiscard]] SharedTask task() const {
    return std::make_shared<DetectionTask>(DetectionData{pixels, heights, widths, gold, 1, 2}, options);
  }
};

// Dense rows with random sets of labels.
struct Sets {
  static constexpr std::size_t rows = 24, columns = 6, labels = 5;
  std::vector<double> values;
  std::vector<std::uint8_t> gold;

  explicit Sets(Random& random) {
    for (std::size_t k = 0; k < rows * columns; ++k) values.push_back(problems::uniform(random));
    for (std::size_t i = 0; i < rows; ++i) gold.push_back(static_cast<std::uint8_t>(random.below(1u << labels)));
  }

  [[nodiscard]] SharedTask task(std::vector<LabelPair> pairs) const {
    InputData inputs;
    inputs.row_count = rows;
    inputs.column_count = columns;
    inputs.dense = true;
    inputs.doubles = values;
    inputs.bias = 1;
    return std::make_shared<MultilabelTask>(inputs, gold, labels, MultilabelOptions{.pairs = std::move(pairs)});
  }
};

// Sentences of 0 to 4 spans with random features, types and relations.
struct Entities {
  static constexpr std::size_t features = 6;
  std::vector<std::uint64_t> sentences{0}, span_ends{0}, pair_ends{0};
  std::vector<std::uint32_t> span_features, pair_features;
  std::vector<std::uint8_t> types, labels;
  std::vector<TypeTable::Line> lines{{1, 0, 1}, {2, 1, 1}, {2, 2, 0}};

  explicit Entities(Random& random) {
    const TypeTable table(3, 3, lines);
    for (std::size_t i = 0; i < 20; ++i) {
      const std::size_t count = i % 5;
      sentences.push_back(sentences.back() + count);
      for (std::size_t a = 0; a < count; ++a) {
        types.push_back(static_cast<std::uint8_t>(random.below(3)));
        add_row(random, span_features, span_ends);
      }
      for (std::size_t p = 0; p + 1 < count * count; ++p) {
        const std::size_t a = sentences[i] + p / std::max<std::size_t>(count - 1, 1);
        if (a >= sentences[i + 1]) break;
        const std::size_t b = p % (count - 1);
        const std::size_t other = sentences[i] + b + (b >= a - sentences[i] ? 1 : 0);
        const std::size_t label = random.below(3);
        labels.push_back(static_cast<std::uint8_t>(table.allows(label, types[a], types[other]) ? label : 0));
        add_row(random, pair_features, pair_ends);
      }
    }
  }

  static void add_row(Random& random, std::vector<std::uint32_t>& found, std::vector<std::uint64_t>& ends) {
    for (std::uint32_t feature = 0; feature < features; ++feature) {
      if (random.below(2) == 0) found.push_back(feature);
    }
    ends.push_back(found.size());
  }

  [[nodiscard]] SharedTask task() const {
    const RelationsData data{.sentences = sentences,
                             .spans = {span_ends, span_features},
                             .pairs = {pair_ends, pair_features},
                             .gold = true,
                             .types = types,
                             .labels = labels};
    return std::make_shared<RelationsTask>(data, TypeTable(3, 3, lines), features, features, RelationsLosses{1, 1, 2},
                                           std::make_shared<BranchAndBound>(0));
  }
};

double gap_after(DualEngine& engine, int passes) {
  StopRequest never;
  double gap = 1;
  for (int pass = 0; pass < passes && gap > 0.005; ++pass) {
    CHECK(!engine.run_pass(never).stopped);
    if (pass % 5 != 4) continue;
    const auto certificate = engine.certify(2, never);
    gap = (certificate->primal - certificate->dual) / certificate->primal;
    CHECK(gap >= -1e-9);
  }
  return gap;
}

void check_all_engines(const SharedTask& task) {
  std::vector<std::size_t> examples(task->size());
  std::iota(examples.begin(), examples.end(), std::size_t{0});
  const std::vector<double> costs(task->size(), cost);
  const auto dcd = [&](Loss loss) { return std::make_shared<Dcd>(task, costs, Dcd::Parameters{.loss = loss}); };
  SharedOptions shared;
  shared.threads = 3;
  const auto fsmo = std::make_shared<Fsmo>(task, costs, Fsmo::Parameters{.inner_stop = true, .inner_share = 0.02});
  Shared with_fsmo(task, fsmo, examples, {.seed = 1}, shared);
  CHECK(gap_after(with_fsmo, 400) <= 0.005);
  for (const Loss loss : {Loss::hinge, Loss::squared_hinge}) {
    Shared with_dcd(task, dcd(loss), examples, {.seed = 1}, shared);
    CHECK(gap_after(with_dcd, 400) <= 0.005);
    DecoupledOptions options;
    options.threads = 3;
    for (const int learners : {1, 2}) {
      MasterWorker master_worker(task, dcd(loss), examples, {.seed = 1},
                                 {.threads = 3, .rounds = 4, .learners = learners});
      CHECK(gap_after(master_worker, 400) <= 0.005);
      options.learners = learners;
      Decoupled decoupled(task, dcd(loss), examples, {.seed = 1}, options);
      CHECK(gap_after(decoupled, 800) <= 0.005);
    }
    if (!task->capabilities().factored) continue;
    Pipelined pipelined(task, dcd(loss), examples, {.seed = 1}, 3, 0);
    CHECK(gap_after(pipelined, 400) <= 0.005);
  }
}

}  // namespace

TEST("tasks on threads: detection reaches the certified optimum on every engine") {
  Random random(1);
  const Images small(random, 7, 3, 16);
  check_all_engines(small.task());
  const Images large(random, 28, 12, 8);
  check_all_engines(large.task());
}

TEST("tasks on threads: sets of labels reach the certified optimum on every engine") {
  Random random(2);
  const Sets sets(random);
  check_all_engines(sets.task({}));
  check_all_engines(sets.task({{0, 1}, {1, 2}, {1, 3}}));
}

TEST("tasks on threads: types and relations reach the certified optimum on every engine") {
  Random random(3);
  const Entities entities(random);
  check_all_engines(entities.task());
}
