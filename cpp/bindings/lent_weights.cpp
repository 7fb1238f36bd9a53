#include "bindings/lent_weights.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace marginloom::python {
namespace {

std::vector<const LentWeights*>& all_lent() {
  static std::vector<const LentWeights*> lent;
  return lent;
}

nb::object read_only(WeightView weights, std::shared_ptr<const void> owner) {
  auto* kept = new std::shared_ptr<const void>(std::move(owner));
  const nb::capsule capsule(kept,
                            [](void* memory) noexcept { delete static_cast<std::shared_ptr<const void>*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, const double, nb::ndim<1>>(weights.data(), {weights.size()}, capsule));
}

}  // namespace

LentWeights::LentWeights(WeightView weights, std::shared_ptr<const void> owner)
    : weights_(weights), owner_(std::move(owner)) {
  all_lent().push_back(this);
}

LentWeights::~LentWeights() {
  std::erase(all_lent(), this);
}

nb::object LentWeights::array(WeightView weights) {
  for (const LentWeights* lent : all_lent()) {
    if (lent->weights_.data() == weights.data() && lent->weights_.size() == weights.size()) {
      return read_only(weights, lent->owner_);
    }
  }
  auto copy = std::make_shared<const std::vector<double>>(weights.begin(), weights.end());
  return read_only(*copy, copy);
}

}  // namespace marginloom::python
