// A world whose parts are in this process: what they are asked and answer goes through copies, as it would elsewhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/world.hpp"
#include "engines/part.hpp"

class PartsHere final : public marginloom::World {
 public:
  using StateArrays = marginloom::StateArrays;
  using MakePart = std::function<std::shared_ptr<marginloom::Part>(int threads)>;

  // The parts have one thread, two, three, one, ...
  PartsHere(std::size_t parts, const MakePart& make) {
    for (std::size_t part = 0; part < parts; ++part) parts_.push_back(make(1 + static_cast<int>(part % 3)));
  }

  std::size_t parts() const override { return parts_.size(); }
  std::vector<double> shares(const std::string& question) const override {
    return uneven.empty() ? World::shares(question) : uneven;
  }
  void ask(const std::string& question, const marginloom::ArrayViews& common, const marginloom::ArrayViews& changed,
           std::vector<StateArrays> own, const Take& take) override {
    ++questions;
    if (before) before(question);
    StateArrays everyones;
    for (const auto& [name, array] : common) {
      if (changed.contains(name)) ++questions_of_changes;
      std::visit([&](auto values) { everyones[name] = sent(values, changed, name); }, array);
    }
    last_ = everyones;
    for (std::size_t k = 0; k < own.size(); ++k) {
      marginloom::StopRequest never;
      marginloom::Part& part = *parts_[k % parts_.size()];
      StateArrays answer = part.answer(question, marginloom::views(everyones), marginloom::views(own[k]), never);
      if (after) after(question, k, answer);
      take(k, std::move(answer));
    }
  }

  std::vector<double> uneven;  // shares of the work; else one for each part, of the same size

  std::size_t questions = 0;
  std::size_t questions_of_changes = 0;
  std::function<void(const std::string&)> before;  // called with a question
  std::function<void(const std::string&, std::size_t, StateArrays&)>
      after;  // and with each answer, with its number, which it may change

 private:
  // What arrives of an array: the places that have changed, and the rest as it was in the question before.
  template <class T>
  std::vector<T> sent(std::span<const T> values, const marginloom::ArrayViews& changed, const std::string& name) const {
    std::vector<T> result(values.begin(), values.end());
    const auto found = changed.find(name);
    if (found == changed.end()) return result;
    result = std::get<std::vector<T>>(last_.at(name));
    for (const std::uint64_t place : std::get<std::span<const std::uint64_t>>(found->second)) {
      for (std::size_t k = 4 * place; k < std::min<std::size_t>(4 * place + 4, values.size()); ++k) {
        result.at(k) = values[k];
      }
    }
    return result;
  }

  StateArrays last_;  // of all parts
  std::vector<std::shared_ptr<marginloom::Part>> parts_;
};
