// States that a beam takes for one have the same features, now and after any further steps.
#include "tasks/parse/state_signature.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/random.hpp"
#include "tasks/parse/derivation.hpp"
#include "tasks/parse/state_features.hpp"
#include "test.hpp"

using marginloom::Action;
using marginloom::FeatureKey;
using marginloom::ParserState;
using marginloom::places_of;
using marginloom::Random;
using marginloom::Scope;
using marginloom::Signatures;
using marginloom::StateExtractor;
using marginloom::StateFeatures;
using marginloom::StateParts;
using marginloom::WordValues;

namespace {

constexpr const char* near_templates =
    "word[s0] pos[q0]\npos[s1] pos[s0]\npos[s2]\npos[s1.r] pos[s0]\npos[s0.l] pos[s0.l2]\nvalency[s1.l] pos[s1]\n"
    "label pos[h] word[m]\n";
constexpr const char* far_templates = "word[s0] pos[q0]\npos[s1] pos[s0] distance\nword[s1.l2] valency[s0.r]\n";

struct Stack {
  std::vector<ParserState> states{ParserState{}};

  [[nodiscard]] const ParserState& top() const { return states.back(); }
  [[nodiscard]] bool can(Action action, std::size_t length) const {
    return action == Action::shift ? top().next <= length : states.size() > 2;
  }
  void take(Action action) {
    if (action == Action::shift) {
      states.push_back(top().shifted());
      return;
    }
    const ParserState old = top();
    states.pop_back();
    states.back() = old.reduced(action, states.back());
  }
};

class Sampling {
 public:
  Sampling(const char* templates, bool labelled, std::size_t length, Random& random)
      : extractor_(marginloom::parse_templates(templates, Scope::states), {0, 1, {}, {}}, {}),
        features_(extractor_, 10, 8),
        signatures_(features_, labelled),
        length_(length),
        random_(random) {
    // Few values, so that words are often alike.
    for (std::size_t k = 0; k < length * extractor_.views(); ++k) values_.push_back(1 + random.below(2));
    words_ = {values_, extractor_.views(), length};
    extractor_.states().compute_parts(words_, parts_);
    extractor_.labels().compute_parts(words_, labels_);
    signatures_.load(words_, &labels_);
  }

  // Derivations that were merged while they were sampled.
  std::size_t check(std::size_t rounds) {
    std::size_t merged = 0;
    std::map<std::pair<std::size_t, std::uint64_t>, Stack> seen;
    for (std::size_t round = 0; round < rounds; ++round) {
      Stack stack;
      for (std::size_t step = 1; step < 2 * length_; ++step) {
        stack.take(any_action(stack));
        const auto signature = signatures_.of(stack.top());
        const auto [place, is_new] = seen.try_emplace({step, signature.hash()}, stack);
        if (is_new) continue;
        CHECK(signatures_.of(place->second.top()) == signature);
        CHECK(features(place->second.top()) == features(stack.top()));
        check_further(place->second, stack);
        ++merged;
      }
    }
    return merged;
  }

 private:
  Action any_action(const Stack& stack) {
    for (;;) {
      const auto action = static_cast<Action>(random_.below(3));
      if (stack.can(action, length_)) return action;
    }
  }
  // Until the top of the stack is reduced onto what lies under it, which may differ.
  void check_further(Stack one, Stack other) {
    CHECK(one.states.size() == other.states.size());
    const std::size_t depth = one.states.size();
    for (int steps = 0; steps < 6; ++steps) {
      if (!one.can(Action::shift, length_) && !one.can(Action::left, length_)) return;
      const Action action = any_action(one);
      if (!one.can(action, length_) || (action != Action::shift && one.states.size() <= depth)) return;
      one.take(action);
      other.take(action);
      CHECK(features(one.top()) == features(other.top()));
      CHECK(signatures_.of(one.top()) == signatures_.of(other.top()));
    }
  }
  std::vector<FeatureKey> features(const ParserState& state) {
    std::vector<FeatureKey> keys;
    for (std::size_t group = 0; group < features_.states().groups().size(); ++group) {
      features_.states().visit(parts_, group, places_of(state, length_),
                               [&](std::size_t, FeatureKey key) { keys.push_back(key); });
    }
    return keys;
  }

  StateExtractor extractor_;
  StateFeatures features_;
  Signatures signatures_;
  std::size_t length_;
  Random& random_;
  std::vector<std::uint64_t> values_;
  WordValues words_;
  StateParts parts_;
  marginloom::KeyParts labels_;
};

TEST("state signature: states that are one have the same features, also after the same further steps") {
  Random random(7);
  std::size_t merged = 0;
  for (int round = 0; round < 30; ++round) {
    for (const bool labelled : {false, true}) {
      merged += Sampling(near_templates, labelled, 4 + random.below(5), random).check(60);
    }
    merged += Sampling(far_templates, false, 4 + random.below(5), random).check(60);
  }
  CHECK(merged > 10000);
}

TEST("state signature: words with the same values at other positions are one, unless distances are read") {
  const std::vector<std::uint64_t> values{5, 6, 5, 6, 5, 6};  // three words with the same two views
  for (const bool far : {false, true}) {
    const StateExtractor extractor(
        marginloom::parse_templates(far ? "word[s0] pos[s1]\ndistance" : "word[s0] pos[s1]", Scope::states),
        {0, 1, {}, {}}, {});
    const StateFeatures features(extractor, 10, 8);
    Signatures signatures(features, false);
    signatures.load({values, extractor.views(), 3}, nullptr);
    Stack left, right;  // s0 is the second word, or the first
    for (Stack* const stack : {&left, &right}) {
      stack->take(Action::shift);
      stack->take(Action::shift);
    }
    left.take(Action::left);
    right.take(Action::right);
    CHECK((signatures.of(left.top()) == signatures.of(right.top())) == !far);
  }
}

}  // namespace
