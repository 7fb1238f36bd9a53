#include "features/vocabulary.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "test.hpp"

using marginloom::Vocabulary;

namespace {

// On a text and offsets that live as long as the vocabulary.
Vocabulary lent(std::string text, std::vector<std::uint64_t> offsets) {
  const auto owner = std::make_shared<std::pair<std::string, std::vector<std::uint64_t>>>(text, offsets);
  return {owner->first, owner->second, owner};
}

}  // namespace

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
  const Vocabulary copy = lent(std::string(names.text()), {names.offsets().begin(), names.offsets().end()});
  CHECK(copy.size() == names.size());
  CHECK(copy.text() == names.text());
  CHECK(std::ranges::equal(copy.offsets(), names.offsets()));
  for (std::size_t id = 0; id < names.size(); ++id) CHECK(copy.find(names.name(id)) == id);
  CHECK(lent("", {0}).size() == 0);
}

TEST("vocabulary: text that is lent stays where it is until a name is added") {
  const std::string text = "abc";
  const std::vector<std::uint64_t> offsets{0, 1, 3};
  const auto owner = std::make_shared<int>();
  Vocabulary names(text, offsets, owner);
  CHECK(names.text().data() == text.data());
  CHECK(names.offsets().data() == offsets.data());
  Vocabulary other = names;
  CHECK(owner.use_count() == 3);
  CHECK(names.intern("bc") == 1);
  CHECK(names.text().data() == text.data());
  CHECK(names.intern("d") == 2);
  CHECK(owner.use_count() == 2);
  CHECK(names.text() == "abcd");
  CHECK(names.find("a") == 0);
  CHECK(names.find("bc") == 1);
  CHECK(names.find("d") == 2);
  CHECK(other.find("d") == Vocabulary::unknown);
  CHECK(other.name(1) == "bc");
}

TEST("vocabulary: broken offsets are refused") {
  CHECK_THROWS(std::invalid_argument, lent("ab", {}), "offsets");
  CHECK_THROWS(std::invalid_argument, lent("ab", {1, 2}), "offsets");
  CHECK_THROWS(std::invalid_argument, lent("ab", {0, 1}), "offsets");
  CHECK_THROWS(std::invalid_argument, lent("ab", {0, 3}), "offsets");
  CHECK_THROWS(std::invalid_argument, lent("ab", {0, 2, 1, 2}), "offsets");
  CHECK_THROWS(std::invalid_argument, lent("ab", {0, 1000000000000, 2}), "offsets");
}

TEST("vocabulary: a name that is there twice is refused") {
  CHECK_THROWS(std::invalid_argument, lent("abab", {0, 2, 4}), "twice");
  CHECK_THROWS(std::invalid_argument, lent("", {0, 0, 0}), "twice");
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

TEST("vocabulary: many names are found as each of them alone") {
  Vocabulary names;
  std::vector<std::string> wanted;
  for (int k = 0; k < 500; ++k)
    wanted.push_back(std::string(static_cast<std::size_t>(k % 23), 'x') + std::to_string(k));
  const std::vector<std::string_view> views(wanted.begin(), wanted.end());
  std::vector<std::uint32_t> ids(views.size());
  names.find_all(views, ids);
  for (const std::uint32_t id : ids) CHECK(id == Vocabulary::unknown);
  for (std::size_t k = 0; k < wanted.size(); k += 3) names.intern(wanted[k]);
  names.find_all(views, ids);
  for (std::size_t k = 0; k < wanted.size(); ++k) CHECK(ids[k] == names.find(wanted[k]));
}

TEST("vocabulary: hashes are those that models with hashed features were trained with") {
  CHECK(marginloom::key_hash("") == 0x8C388281U);
  CHECK(marginloom::key_hash("a") == 0xAAB6513BU);
  CHECK(marginloom::key_hash("ab") == 0x2B755F30U);
  CHECK(marginloom::key_hash("abcdefg") == 0xC6D644FCU);
  CHECK(marginloom::key_hash("abcdefgh") == 0x1142E24DU);
  CHECK(marginloom::key_hash("abcdefghijklmno") == 0x3CC40614U);
}

TEST("vocabulary: separators are replaced unless two names become the same") {
  Vocabulary names;
  names.intern(
      "a\xff"
      "b");
  names.intern("c");
  CHECK(names.with_separators_as(':').find("a:b") == 0);
  names.intern("a:b");
  CHECK_THROWS(std::invalid_argument, names.with_separators_as(':'), "two different features are called 'a:b'");
}
