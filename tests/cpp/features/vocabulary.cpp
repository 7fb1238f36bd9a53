#include "features/vocabulary.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "test.hpp"

using marginloom::Vocabulary;

TEST("vocabulary: names are numbered in the order in which they are first seen") {
  Vocabulary names;
  CHECK(names.size() == 0);
  CHECK(names.find("NN") == Vocabulary::unknown);
  CHECK(names.intern("NN") == 0);
  CHECK(names.intern("VB") == 1);
  CHECK(names.intern("NN") == 0);
  CHECK(names.intern("") == 2);
  CHECK(names.size() == 3);
  CHECK(names.find("VB") == 1);
  CHECK(names.find("") == 2);
  CHECK(names.find("V") == Vocabulary::unknown);
  CHECK(names.name(1) == "VB");
  CHECK(names.name(2).empty());
}

TEST("vocabulary: names may hold any byte") {
  using namespace std::string_view_literals;
  Vocabulary names;
  CHECK(names.intern("a"sv) == 0);
  CHECK(names.intern("a\0"sv) == 1);
  CHECK(names.intern("a\0\0"sv) == 2);
  CHECK(names.intern("\xff\xfe"sv) == 3);
  CHECK(names.find("a\0"sv) == 1);
  CHECK(names.name(2) == "a\0\0"sv);
}

TEST("vocabulary: names keep their numbers while it grows, even if hashes clash") {
  marginloom::Random random(10);
  Vocabulary names;
  std::vector<std::string> model;
  for (std::size_t id = 0; id < 400000; ++id) {  // so many that some twenty pairs share a hash of 32 bits
    model.push_back(std::to_string(id) + std::string(random.below(20), 'x'));
    CHECK(names.intern(model.back()) == id);
    const std::size_t earlier = random.below(model.size());
    CHECK(names.intern(model[earlier]) == earlier);
  }
  CHECK(names.size() == model.size());
  for (std::size_t id = 0; id < model.size(); ++id) {
    CHECK(names.find(model[id]) == id);
    CHECK(names.name(id) == model[id]);
  }
  for (std::size_t id = 0; id < model.size(); id += 7) CHECK(names.find(model[id] + "y") == Vocabulary::unknown);
}

TEST("vocabulary: text and offsets make the same vocabulary again") {
  Vocabulary names;
  for (int k = 0; k < 1000; ++k) names.intern("name" + std::to_string(k * k));
  names.intern("");
  Vocabulary copy(names.text(), names.offsets());
  CHECK(copy.size() == names.size());
  CHECK(copy.text() == names.text());
  CHECK(copy.offsets() == names.offsets());
  for (std::size_t id = 0; id < names.size(); ++id) CHECK(copy.find(names.name(id)) == id);
  CHECK(copy.intern("new") == names.size());
  CHECK(Vocabulary("", {0}).size() == 0);
}

TEST("vocabulary: broken offsets are refused") {
  CHECK_THROWS(std::invalid_argument, Vocabulary("ab", {}), "offsets");
  CHECK_THROWS(std::invalid_argument, Vocabulary("ab", {1, 2}), "offsets");
  CHECK_THROWS(std::invalid_argument, Vocabulary("ab", {0, 1}), "offsets");
  CHECK_THROWS(std::invalid_argument, Vocabulary("ab", {0, 3}), "offsets");
  CHECK_THROWS(std::invalid_argument, Vocabulary("ab", {0, 2, 1, 2}), "offsets");
  CHECK_THROWS(std::invalid_argument, Vocabulary("ab", {0, 1000000000000, 2}), "offsets");
}

TEST("vocabulary: a name that is there twice is refused") {
  CHECK_THROWS(std::invalid_argument, Vocabulary("abab", {0, 2, 4}), "twice");
  CHECK_THROWS(std::invalid_argument, Vocabulary("", {0, 0, 0}), "twice");
}

TEST("vocabulary: a selection is numbered in the order asked for") {
  Vocabulary names;
  for (const char* name : {"a", "b", "c", "d"}) names.intern(name);
  const std::vector<std::uint32_t> wanted{3, 0, 2};
  const Vocabulary chosen = names.selected(wanted);
  CHECK(chosen.size() == 3);
  CHECK(chosen.find("d") == 0);
  CHECK(chosen.find("a") == 1);
  CHECK(chosen.find("c") == 2);
  CHECK(chosen.find("b") == Vocabulary::unknown);
  CHECK_THROWS(std::invalid_argument, names.selected(std::vector<std::uint32_t>{0, 4}), "beyond");
  CHECK_THROWS(std::invalid_argument, names.selected(std::vector<std::uint32_t>{1, 1}), "twice");
}
