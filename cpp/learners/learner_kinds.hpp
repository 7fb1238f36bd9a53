// The kinds of learners: engines are written against these, never against a learner.
#pragma once

#include <memory>
#include <type_traits>
#include <variant>

#include "learners/block_learner.hpp"
#include "learners/online_learner.hpp"
#include "learners/pass_learner.hpp"

namespace marginloom {

using AnyLearner =
    std::variant<std::shared_ptr<OnlineLearner>, std::shared_ptr<BlockLearner>, std::shared_ptr<PassLearner>>;

// The kind that a class of learners is of.
template <class Learner>
using KindOf =
    std::conditional_t<std::is_base_of_v<BlockLearner, Learner>, BlockLearner,
                       std::conditional_t<std::is_base_of_v<PassLearner, Learner>, PassLearner, OnlineLearner>>;

// What users and Python call a kind.
template <class Kind>
inline constexpr const char* kind_name = nullptr;
template <>
inline constexpr const char* kind_name<OnlineLearner> = "online";
template <>
inline constexpr const char* kind_name<BlockLearner> = "dual";
template <>
inline constexpr const char* kind_name<PassLearner> = "whole-pass";

}  // namespace marginloom
