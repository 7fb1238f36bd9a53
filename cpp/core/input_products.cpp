#include "core/input_products.hpp"

#include <algorithm>

#include "core/kernels.hpp"

namespace marginloom {

InputProducts::InputProducts(const InputMatrix& inputs, std::size_t most)
    : inputs_(inputs), stride_(2 * padded((most + 1) / 2)), rows_(inputs.width() * stride_), sums_(stride_) {}

void InputProducts::set_group(std::span<const std::size_t> examples) {
  clear();
  group_.assign(examples.begin(), examples.end());
  for (std::size_t j = 0; j < group_.size(); ++j) {
    if (j + 1 < group_.size()) inputs_.prefetch(group_[j + 1]);
    float* column = rows_.data() + j;
    inputs_.visit(group_[j], [=, this](std::size_t feature, double value) {
      column[feature * stride_] = static_cast<float>(value);
    });
  }
}

// All rows at once, or the entries one by one if they are few.
void InputProducts::clear() {
  std::size_t entries = 0;
  for (const std::size_t i : group_) entries += inputs_.entry_count(i);
  if (entries > inputs_.width()) {
    std::ranges::fill(rows_, 0.0F);
    return;
  }
  for (std::size_t j = 0; j < group_.size(); ++j) {
    inputs_.visit(group_[j], [&](std::size_t feature, double) { rows_[feature * stride_ + j] = 0; });
  }
}

void InputProducts::multiply(std::size_t i, std::span<float> products) {
  std::ranges::fill(sums_, 0.0F);
  inputs_.add_scores(i, rows_.data(), stride_, sums_.data());
  std::copy_n(sums_.begin(), products.size(), products.begin());
}

}  // namespace marginloom
