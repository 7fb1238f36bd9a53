#include "bindings/weights_for_python.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace marginloom::python {
namespace {

std::vector<const WeightsForPython*>& all_known() {
  static std::vector<const WeightsForPython*> known;
  return known;
}

nb::object read_only(WeightView weights, std::shared_ptr<const void> owner) {
  auto* kept = new std::shared_ptr<const void>(std::move(owner));
  const nb::capsule capsule(kept,
                            [](void* memory) noexcept { delete static_cast<std::shared_ptr<const void>*>(memory); });
  return nb::cast(nb::ndarray<nb::numpy, const double, nb::ndim<1>>(weights.data(), {weights.size()}, capsule));
}

}  // namespace

WeightsForPython::WeightsForPython(WeightView weights, std::shared_ptr<const void> owner)
    : weights_(weights), owner_(std::move(owner)) {
  all_known().push_back(this);
}

WeightsForPython::~WeightsForPython() {
  std::erase(all_known(), this);
}

nb::object WeightsForPython::array(WeightView weights) {
  for (const WeightsForPython* known : all_known()) {
    if (known->weights_.data() == weights.data() && known->weights_.size() == weights.size()) {
      return read_only(weights, known->owner_);
    }
  }
  auto copy = std::make_shared<const std::vector<double>>(weights.begin(), weights.end());
  return read_only(*copy, copy);
}

}  // namespace marginloom::python
