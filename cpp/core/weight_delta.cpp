#include "core/weight_delta.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>

#include "core/task.hpp"

namespace marginloom {

void WeightDelta::add(std::size_t example, std::span<const ByteView> outputs, std::span<const double> steps) {
  implicit_.push_back({indices_.size(), example, outputs.size()});
  steps_.insert(steps_.end(), steps.begin(), steps.end());
  for (const ByteView output : outputs) {
    lengths_.push_back(output.size());
    outputs_.insert(outputs_.end(), output.begin(), output.end());
  }
}

void WeightDelta::clear() {
  indices_.clear();
  changes_.clear();
  implicit_.clear();
  steps_.clear();
  lengths_.clear();
  outputs_.clear();
}

void WeightDelta::apply(const Task& task, std::span<double> w) const {
  std::vector<ByteView> outputs;
  std::size_t added = 0;
  std::size_t next = 0;
  std::size_t byte = 0;
  const auto add_until = [&](std::size_t end) {
    for (; added < end; ++added) w[indices_[added]] += changes_[added];
  };
  for (const Steps& one : implicit_) {
    add_until(one.after);
    outputs.clear();
    for (std::size_t j = 0; j < one.outputs; ++j) {
      outputs.push_back(ByteView(outputs_).subspan(byte, lengths_[next + j]));
      byte += lengths_[next + j];
    }
    implicit_differences(task).scatter(one.example, outputs, std::span(steps_).subspan(next, one.outputs), {w.data()});
    next += one.outputs;
  }
  add_until(indices_.size());
}

void WeightDelta::append(const WeightDelta& later) {
  for (Steps one : later.implicit_) {
    one.after += indices_.size();
    implicit_.push_back(one);
  }
  indices_.insert(indices_.end(), later.indices_.begin(), later.indices_.end());
  changes_.insert(changes_.end(), later.changes_.begin(), later.changes_.end());
  steps_.insert(steps_.end(), later.steps_.begin(), later.steps_.end());
  lengths_.insert(lengths_.end(), later.lengths_.begin(), later.lengths_.end());
  outputs_.insert(outputs_.end(), later.outputs_.begin(), later.outputs_.end());
}

void WeightDelta::expand(const Task& task) {
  std::map<WeightIndex, double> sums;
  if (implicit_.empty()) {
    for (std::size_t k = 0; k < indices_.size(); ++k) sums[indices_[k]] += changes_[k];
  } else {
    std::vector<double> dense(task.dimension());
    apply(task, dense);
    for (std::size_t k = 0; k < dense.size(); ++k) {
      if (dense[k] != 0) sums.emplace_hint(sums.end(), static_cast<WeightIndex>(k), dense[k]);
    }
  }
  clear();
  for (const auto& [index, change] : sums) {
    if (change != 0) add(index, change);
  }
}

std::span<const WeightIndex> WeightDelta::indices(std::size_t begin, std::size_t end) const {
  const auto first = std::ranges::lower_bound(indices_, begin);
  return {first, std::ranges::lower_bound(first, indices_.end(), end)};
}

void WeightDelta::apply_times(double factor, std::size_t begin, std::size_t end, std::span<double> w) const {
  if (!implicit_.empty()) throw std::logic_error("a delta is expanded before a part of it is applied");
  const auto own = indices(begin, end);
  const auto changes = std::span(changes_).subspan(static_cast<std::size_t>(own.data() - indices_.data()), own.size());
  for (std::size_t k = 0; k < own.size(); ++k) w[own[k]] += factor * changes[k];
}

std::vector<std::uint8_t> WeightDelta::to_bytes() const {
  if (!implicit_.empty()) throw std::logic_error("a delta is expanded before it is written");
  std::vector<std::uint8_t> bytes(indices_.size() * (sizeof(WeightIndex) + sizeof(double)));
  if (bytes.empty()) return bytes;
  std::memcpy(bytes.data(), changes_.data(), changes_.size() * sizeof(double));
  std::memcpy(bytes.data() + changes_.size() * sizeof(double), indices_.data(), indices_.size() * sizeof(WeightIndex));
  return bytes;
}

WeightDelta WeightDelta::from_bytes(ByteView bytes, std::size_t dimension) {
  constexpr std::size_t each = sizeof(WeightIndex) + sizeof(double);
  if (bytes.size() % each != 0) throw std::invalid_argument("these bytes are not those of a change of weights");
  WeightDelta result;
  if (bytes.empty()) return result;
  const std::size_t count = bytes.size() / each;
  result.changes_.resize(count);
  result.indices_.resize(count);
  std::memcpy(result.changes_.data(), bytes.data(), count * sizeof(double));
  std::memcpy(result.indices_.data(), bytes.data() + count * sizeof(double), count * sizeof(WeightIndex));
  result.check(dimension);
  return result;
}

void WeightDelta::check(std::size_t dimension) const {
  if (std::ranges::adjacent_find(indices_, std::ranges::greater_equal()) != indices_.end()) {
    throw std::invalid_argument("changes of weights are not in the order of the weights");
  }
  for (const WeightIndex index : indices_) {
    if (index >= dimension) throw std::invalid_argument("a change of weights is of a weight that is not there");
  }
  for (const double change : changes_) {
    if (!std::isfinite(change)) throw std::invalid_argument("a change of weights is not a number");
  }
}

}  // namespace marginloom
