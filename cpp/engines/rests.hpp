// Examples that are spared some searches: one in which a search found nothing and which has no candidates is left out
// of the next search, and of twice as many and one more each time that this happens again, up to a limit. Far from the
// margin nothing changes for long; what is missed meanwhile is found when the rest is over, and a certificate, which
// searches everything, ends all rests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/example_ids.hpp"
#include "core/state.hpp"

namespace marginloom {

class Rests {
 public:
  // `longest` searches at most; 0: nothing ever rests.
  Rests(std::size_t examples, int longest)
      : longest_(static_cast<std::uint8_t>(std::clamp(longest, 0, 255))), rests_(longest > 0 ? examples : 0) {}

  // Whether to leave out example i in this pass; to be asked once a pass.
  [[nodiscard]] bool spares(std::size_t i) {
    if (rests_.empty() || rests_[i].left == 0) return false;
    --rests_[i].left;
    return true;
  }

  // Takes down whether a search of example i found nothing and left it without candidates.
  void note(std::size_t i, bool idle) {
    if (rests_.empty()) return;
    Rest& rest = rests_[i];
    rest.length = static_cast<std::uint8_t>(idle ? std::min(2 * rest.length + 1, int{longest_}) : 0);
    rest.left = rest.length;
  }

  void end_all() { std::ranges::fill(rests_, Rest{}); }

  void add_to(StateArrays& state) const {
    if (rests_.empty()) return;
    std::vector<std::uint8_t> bytes;
    for (const Rest& rest : rests_) bytes.insert(bytes.end(), {rest.left, rest.length});
    state["rests"] = std::move(bytes);
  }

  // A state of a run without rests wakes all.
  void take_from(const StateArrays& state, const ExampleIds& ids) {
    end_all();
    if (rests_.empty() || !state.contains("rests")) return;
    const auto& bytes = state_array<std::uint8_t>(state, "rests");
    if (bytes.size() % 2 != 0) throw std::invalid_argument("'rests' of the state has another length");
    const auto places = ids.places_in(state, bytes.size() / 2);
    for (std::size_t j = 0; j < places.size(); ++j) {
      if (places[j]) rests_[*places[j]] = {bytes[2 * j], bytes[2 * j + 1]};
    }
  }

 private:
  struct Rest {
    std::uint8_t left = 0;
    std::uint8_t length = 0;  // of the last one
  };
  std::uint8_t longest_;
  std::vector<Rest> rests_;
};

}  // namespace marginloom
