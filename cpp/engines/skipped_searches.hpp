// Examples that skip some searches: one in which a search found nothing and which has no candidates skips the next
// search, and twice as many and one more each time that this happens again, up to a limit. Far from the margin nothing
// changes for long; what is missed meanwhile is found afterwards, and a certificate, which searches everything, makes
// all examples be searched again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/example_ids.hpp"
#include "core/state.hpp"

namespace marginloom {

class SkippedSearches {
 public:
  // `most` searches in a row at most; 0: no example ever skips one.
  SkippedSearches(std::size_t examples, int most)
      : most_(static_cast<std::uint8_t>(std::clamp(most, 0, 255))), counts_(most > 0 ? examples : 0) {}

  // Whether an example may ever skip a search.
  [[nodiscard]] bool any() const { return !counts_.empty(); }

  // Whether example i skips the search of this pass; to be asked once a pass.
  [[nodiscard]] bool skip(std::size_t i) {
    if (counts_.empty() || counts_[i].left == 0) return false;
    --counts_[i].left;
    return true;
  }

  // Takes down whether a search of example i found nothing and left it without candidates.
  void note(std::size_t i, bool idle) {
    if (counts_.empty()) return;
    Count& count = counts_[i];
    count.in_a_row = static_cast<std::uint8_t>(idle ? std::min(2 * count.in_a_row + 1, int{most_}) : 0);
    count.left = count.in_a_row;
  }

  void forget() { std::ranges::fill(counts_, Count{}); }

  // In states they have the name that the first version gave them.
  void add_to(StateArrays& state) const {
    if (counts_.empty()) return;
    std::vector<std::uint8_t> bytes;
    for (const Count& count : counts_) bytes.insert(bytes.end(), {count.left, count.in_a_row});
    state[name] = std::move(bytes);
  }

  // After a state of a run in which no example skips any, all are searched.
  void take_from(const StateArrays& state, const ExampleIds& ids) {
    forget();
    if (counts_.empty() || !state.contains(name)) return;
    const auto& bytes = state_array<std::uint8_t>(state, name);
    if (bytes.size() % 2 != 0) throw std::invalid_argument("'rests' of the state has another length");
    const auto places = ids.places_in(state, bytes.size() / 2);
    for (std::size_t j = 0; j < places.size(); ++j) {
      if (places[j]) counts_[*places[j]] = {bytes[2 * j], bytes[2 * j + 1]};
    }
  }

  // Adds those of two states of different examples to the state of both.
  static void merge(const StateArrays& first, const StateArrays& second, StateArrays& state) {
    if (first.contains(name) && second.contains(name)) {
      state[name] = concatenated<std::uint8_t>(first, second, name);
    }
  }

 private:
  static constexpr const char* name = "rests";

  struct Count {
    std::uint8_t left = 0;      // of the searches to skip
    std::uint8_t in_a_row = 0;  // the last time
  };
  std::uint8_t most_;
  std::vector<Count> counts_;
};

}  // namespace marginloom
