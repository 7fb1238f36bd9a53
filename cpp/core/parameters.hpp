// Parameters by name: each is a field of a struct. Python gives names and values; a struct's fields are listed once, by
// the learner or engine whose parameters they are, and everything else follows from that list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace marginloom {

using ParameterValue = std::variant<bool, std::int64_t, double, std::string>;
using ParameterValues = std::map<std::string, ParameterValue, std::less<>>;

// One of the values of a parameter, as users write it.
template <class Value>
using Word = std::pair<const char*, Value>;

// What is known of a parameter without its struct.
struct ParameterType {
  std::string name;
  std::string type;                // as Python calls it: bool, int, float or str
  std::vector<std::string> words;  // all that it accepts, if these are words
};

template <class Struct>
struct Parameter {
  ParameterType type;
  std::function<void(Struct&, const ParameterValue&)> set;
};

namespace parameter_values {

template <class Value>
[[nodiscard]] constexpr const char* type_name() {
  static_assert(std::is_arithmetic_v<Value>, "a parameter that is no number needs words");
  if constexpr (std::is_same_v<Value, bool>) return "bool";
  return std::is_integral_v<Value> ? "int" : "float";
}

[[noreturn]] inline void refuse(std::string_view name, std::string_view wanted) {
  throw std::invalid_argument("the parameter " + std::string(name) + " must be " + std::string(wanted));
}

template <class Value>
[[nodiscard]] Value number(const ParameterValue& given, std::string_view name) {
  if constexpr (std::is_same_v<Value, bool>) {
    if (const auto* value = std::get_if<bool>(&given)) return *value;
  } else if constexpr (std::is_integral_v<Value>) {
    const auto* value = std::get_if<std::int64_t>(&given);
    if (value && std::in_range<Value>(*value)) return static_cast<Value>(*value);
  } else {
    if (const auto* value = std::get_if<double>(&given)) return static_cast<Value>(*value);
    if (const auto* value = std::get_if<std::int64_t>(&given)) return static_cast<Value>(*value);
  }
  std::string expected = "of the type ";
  expected.append(type_name<Value>()).append(" and within its range");
  refuse(name, expected);
}

}  // namespace parameter_values

template <class Struct, class Value>
[[nodiscard]] Parameter<Struct> parameter(const char* name, Value Struct::* member) {
  return {{name, parameter_values::type_name<Value>(), {}}, [name, member](Struct& to, const ParameterValue& given) {
            to.*member = parameter_values::number<Value>(given, name);
          }};
}

// A parameter whose values are words for users. The words must outlive it.
template <class Struct, class Value>
[[nodiscard]] Parameter<Struct> parameter(const char* name, Value Struct::* member,
                                          std::span<const Word<std::type_identity_t<Value>>> words) {
  ParameterType type{name, "str", {}};
  for (const auto& word : words) type.words.emplace_back(word.first);
  return {std::move(type), [name, member, words](Struct& to, const ParameterValue& given) {
            const auto* text = std::get_if<std::string>(&given);
            const auto found =
                std::ranges::find_if(words, [&](const auto& word) { return text && *text == word.first; });
            if (found == words.end()) parameter_values::refuse(name, "one of its words");
            to.*member = found->second;
          }};
}

template <class Struct>
class ParameterList {
 public:
  ParameterList() = default;
  ParameterList(std::initializer_list<Parameter<Struct>> parameters) : parameters_(parameters) {}

  [[nodiscard]] std::vector<ParameterType> types() const {
    std::vector<ParameterType> result;
    for (const auto& parameter : parameters_) result.push_back(parameter.type);
    return result;
  }

  // A struct with these values; std::invalid_argument if they are not all of its fields, or one is not a parameter.
  [[nodiscard]] Struct filled(const ParameterValues& values) const {
    Struct result{};
    for (const auto& parameter : parameters_) {
      const auto found = values.find(parameter.type.name);
      if (found == values.end()) throw std::invalid_argument("the parameter " + parameter.type.name + " is missing");
      parameter.set(result, found->second);
    }
    if (values.size() > parameters_.size()) refuse_unknown(values);
    return result;
  }

 private:
  void refuse_unknown(const ParameterValues& values) const {
    for (const auto& [name, value] : values) {
      const auto has_name = [&](const Parameter<Struct>& parameter) { return parameter.type.name == name; };
      if (std::ranges::none_of(parameters_, has_name)) throw std::invalid_argument("there is no parameter " + name);
    }
  }

  std::vector<Parameter<Struct>> parameters_;
};

}  // namespace marginloom
