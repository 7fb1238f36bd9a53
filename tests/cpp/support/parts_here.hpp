// A world whose parts are in this process: what they are asked and answer goes through copies, as it would elsewhere.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
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
  std::vector<StateArrays> ask(const std::string& question, const marginloom::ArrayViews& common,
                               std::vector<StateArrays> own) override {
    ++questions;
    if (before) before(question);
    StateArrays everyones;
    for (const auto& [name, array] : common) {
      std::visit([&](auto values) { everyones[name] = std::vector(values.begin(), values.end()); }, array);
    }
    std::vector<StateArrays> answers;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      marginloom::StopRequest never;
      answers.push_back(
          parts_[part]->answer(question, marginloom::views(everyones), marginloom::views(own[part]), never));
      if (after) after(question, part, answers.back());
    }
    return answers;
  }

  std::size_t questions = 0;
  std::function<void(const std::string&)> before;  // called with a question
  std::function<void(const std::string&, std::size_t, StateArrays&)>
      after;  // and with each answer, which it may change

 private:
  std::vector<std::shared_ptr<marginloom::Part>> parts_;
};
