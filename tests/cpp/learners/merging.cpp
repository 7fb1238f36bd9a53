// States of some of the examples: they merge by union, and a part takes its own from a state of the whole.
#include <algorithm>
#include <numeric>

#include "dual_states.hpp"
#include "learners/cutting_plane.hpp"
#include "learners/dcd.hpp"
#include "learners/frank_wolfe.hpp"
#include "learners/fsmo.hpp"
#include "learners/one_slack.hpp"

namespace {

using dual_states::array;
using dual_states::cost;
using marginloom::CuttingPlane;
using marginloom::Dcd;
using marginloom::FrankWolfe;
using marginloom::Fsmo;
using marginloom::Loss;
using marginloom::OneSlack;
using marginloom::SerialDual;
using marginloom::StateArrays;
using marginloom::StopRequest;
using problems::Problem;

using Ids = std::vector<std::uint64_t>;

// In an order of their own, which is not that of the whole.
const Ids first_ids{12, 0, 3, 1, 9, 6};
const Ids second_ids{2, 13, 4, 5, 7, 8, 10, 11};

Problem part_of(const Problem& whole, const Ids& ids) {
  Problem part;
  part.feature_count = whole.feature_count;
  part.label_count = whole.label_count;
  part.dense = whole.dense;
  part.options = whole.options;
  for (const std::uint64_t id : ids) {
    for (std::size_t token = whole.sentences[id]; token < whole.sentences[id + 1]; ++token) {
      const std::size_t begin = whole.dense ? token * whole.feature_count : whole.tokens[token];
      const std::size_t end = whole.dense ? begin + whole.feature_count : whole.tokens[token + 1];
      for (std::size_t k = begin; k < end; ++k) {
        part.values.push_back(whole.values[k]);
        if (!whole.dense) part.features.push_back(whole.features[k]);
      }
      if (!whole.dense) part.tokens.push_back(part.features.size());
      part.gold.push_back(whole.gold[token]);
    }
    part.sentences.push_back(part.gold.size());
  }
  return part;
}

template <class Learner>
struct Part {
  Problem problem;
  Ids ids;
  dual_states::Training<Learner> training;

  Part(const Problem& whole, const Ids& names, typename Learner::Parameters parameters)
      : problem(part_of(whole, names)), ids(names), training(problem, parameters) {
    training.learner->name_examples(ids);
  }
};

template <class Learner>
void check_same_block(Learner& whole, std::size_t id, Learner& part, std::size_t i) {
  const auto& one = whole.blocks()[id];
  const auto& other = part.blocks()[i];
  CHECK(one.size() == other.size());
  for (std::size_t j = 0; j < std::min(one.size(), other.size()); ++j) {
    CHECK(one.rows()[j].dual == other.rows()[j].dual);
    CHECK(std::ranges::equal(one.output(one.rows()[j]), other.output(other.rows()[j])));
  }
}

double certified_gap(SerialDual& engine) {
  StopRequest never;
  const auto certificate = engine.certify(1, never);
  return (certificate->primal - certificate->dual) / certificate->primal;
}

template <class Learner>
void check_union(typename Learner::Parameters parameters, double closest = 1e-3) {
  for (const auto kind : {problems::Kind::values, problems::Kind::dense}) {
    const Problem problem = dual_states::problem(kind);
    Part<Learner> first(problem, first_ids, parameters);
    Part<Learner> second(problem, second_ids, parameters);
    first.training.run(3);
    second.training.run(2);
    const StateArrays one = first.training.engine.export_state();
    const StateArrays other = second.training.engine.export_state();

    dual_states::Training<Learner> whole(problem, parameters);
    whole.run(1);
    const StateArrays merged = whole.engine.merged(one, other);
    whole.engine.import_state(merged);
    for (Part<Learner>* part : {&first, &second}) {
      for (std::size_t i = 0; i < part->ids.size(); ++i) {
        check_same_block(*whole.learner, part->ids[i], *part->training.learner, i);
      }
    }
    const auto w = whole.engine.weights()->values();
    const auto v = first.training.engine.weights()->values();
    const auto u = second.training.engine.weights()->values();
    for (std::size_t k = 0; k < w.size(); ++k) CHECK_NEAR(w[k], v[k] + u[k], 1e-12);
    CHECK(certified_gap(whole.engine) >= 0);
    whole.run(200);
    CHECK(certified_gap(whole.engine) < closest);

    // And back: a part takes what is its own, and nothing of the others.
    Part<Learner> again(problem, first_ids, parameters);
    again.training.engine.import_state(merged);
    CHECK(again.training.learner->held().candidates == first.training.learner->held().candidates);
    for (std::size_t i = 0; i < again.ids.size(); ++i) {
      check_same_block(*again.training.learner, i, *first.training.learner, i);
    }
    again.training.engine.import_state(whole.engine.export_state());
    for (std::size_t i = 0; i < again.ids.size(); ++i) {
      check_same_block(*whole.learner, again.ids[i], *again.training.learner, i);
    }
    again.training.engine.import_state(other);
    CHECK(again.training.learner->held().candidates == 0);

    CHECK_THROWS(std::invalid_argument, (void)whole.engine.merged(one, one), "in both");
    CHECK_THROWS(std::invalid_argument, (void)whole.engine.merged(merged, other), "in both");
  }
}

}  // namespace

TEST("merging: states of parts become one of the whole, and a part takes its own back") {
  for (const Loss loss : {Loss::hinge, Loss::squared_hinge}) {
    check_union<Dcd>({.loss = loss, .rest = 2});
    check_union<CuttingPlane>({.loss = loss, .batch = 0});
  }
  check_union<Fsmo>({});
  check_union<FrankWolfe>({.inner_passes = 5}, 0.05);
  check_union<FrankWolfe>({.inner_passes = 5, .averaged = true}, 0.05);
}

TEST("merging: a state that holds some of the examples is a start for all") {
  const Problem problem = dual_states::problem();
  Part<Dcd> part(problem, first_ids, {});
  part.training.run(3);
  dual_states::Training<Dcd> whole(problem, {});
  whole.engine.import_state(part.training.engine.export_state());
  CHECK(whole.learner->held().candidates == part.training.learner->held().candidates);
  whole.run(200);
  CHECK(certified_gap(whole.engine) < 1e-3);
}

TEST("merging: constraints over all examples do not merge") {
  const Problem problem = dual_states::problem();
  dual_states::Training<OneSlack> training(problem, {});
  training.run(2);
  const StateArrays state = training.engine.export_state();
  CHECK_THROWS(std::invalid_argument, (void)training.engine.merged(state, state), "do not merge");
}

TEST("merging: ids that do not fit are refused") {
  const Problem problem = dual_states::problem();
  dual_states::Training<Dcd> whole(problem, {});
  CHECK_THROWS(std::invalid_argument, whole.learner->name_examples({1, 2}), "one id per example");
  CHECK_THROWS(std::invalid_argument, whole.learner->name_examples(Ids(problem.size(), 7)), "same id");

  Part<Dcd> part(problem, first_ids, {});
  part.training.run(2);
  const auto refused = [&](const char* text, auto damage) {
    StateArrays state = part.training.engine.export_state();
    damage(state);
    CHECK_THROWS(std::invalid_argument, whole.engine.import_state(state), text);
    CHECK(whole.learner->held().candidates == 0);
  };
  refused("twice", [](StateArrays& s) { array<std::uint64_t>(s, "examples")[1] = first_ids[0]; });
  refused("example 14 of 14", [](StateArrays& s) { array<std::uint64_t>(s, "examples")[1] = 14; });
  refused("another length", [](StateArrays& s) { array<std::uint64_t>(s, "examples").pop_back(); });
  refused("6 examples", [](StateArrays& s) { s.erase("examples"); });
}
