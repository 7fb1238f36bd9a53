// Work that may be long asks whether to stop, and ends where it is told to.
#include <functional>
#include <string>

#include "engines/serial.hpp"
#include "features/extractor.hpp"
#include "features/templates.hpp"
#include "io/attribute_table.hpp"
#include "io/column_table.hpp"
#include "io/libsvm.hpp"
#include "learners/dcd.hpp"
#include "problems.hpp"
#include "test.hpp"

using marginloom::AttributeTable;
using marginloom::ColumnFormat;
using marginloom::ColumnTable;
using marginloom::Extractor;
using marginloom::StopRequest;
using marginloom::Vocabulary;

namespace {

constexpr std::size_t lines = 50;

std::string repeated(const std::string& line) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += line;
  return text;
}

// Asks every time, and says yes from the `last`-th time on.
StopRequest stop_at(std::size_t last, std::size_t& asked) {
  return StopRequest([last, &asked] { return ++asked >= last; }, StopRequest::Time(0));
}

void check_ends(const std::function<void(StopRequest)>& work) {
  std::size_t asked = 0;
  work(stop_at(1'000'000, asked));
  CHECK(asked >= lines);
  asked = 0;
  CHECK_THROWS(marginloom::Interrupted, work(stop_at(lines / 2, asked)), "interrupted");
  CHECK(asked == lines / 2);
}

TEST("interruption: reading ends between lines") {
  check_ends([](StopRequest stop) { (void)marginloom::parse_libsvm(repeated("1 1:1\n"), "f", 1, stop); });
  check_ends([](StopRequest stop) { ColumnTable(repeated("a X\n"), ColumnFormat::conll, "f", 1, 0, stop); });
  check_ends([](StopRequest stop) { AttributeTable(repeated("X\ta\n"), "f", 1, stop); });
}

TEST("interruption: encoding ends between tokens and sentences") {
  const AttributeTable attributes(repeated("X\ta\n"), "f", 1);
  check_ends([&](StopRequest stop) {
    Vocabulary vocabulary;
    (void)attributes.encode_labels(vocabulary, true, stop);
  });
  check_ends([&](StopRequest stop) {
    Vocabulary vocabulary;
    (void)attributes.encode_attributes(vocabulary, true, stop);
  });
  const ColumnTable columns(repeated("a X\n\n"), ColumnFormat::conll, "f", 1);
  const Extractor extractor(marginloom::parse_templates("word[0]"), {0, {}, {}}, {});
  Vocabulary vocabulary;
  check_ends([&](StopRequest stop) { (void)extractor.learn(columns, vocabulary, 1, stop); });
  check_ends([&](StopRequest stop) { (void)extractor.encode(columns, vocabulary, 1, stop); });
  check_ends([&](StopRequest stop) { (void)extractor.hash(columns, 5, 1, stop); });
}

TEST("interruption: a pass ends between parts of many weights") {
  constexpr std::size_t parts = 10;
  marginloom::Random random(1);
  auto problem = problems::make_problem({.sentences = 2}, random);
  problem.feature_count = parts * (std::size_t{1} << 16) / 8;
  const auto task = problem.task();
  const auto learner =
      std::make_shared<marginloom::Dcd>(task, std::vector<double>(problem.size(), 1.0), marginloom::Dcd::Parameters{});
  marginloom::SerialDual engine(task, learner, problem.examples(), {.seed = 1});
  std::size_t asked = 0;
  StopRequest never = stop_at(1'000'000, asked);
  CHECK(!engine.run_pass(never).stopped);
  const std::size_t all = asked;
  CHECK(all > parts);
  marginloom::SerialDual other(
      task,
      std::make_shared<marginloom::Dcd>(task, std::vector<double>(problem.size(), 1.0), marginloom::Dcd::Parameters{}),
      problem.examples(), {.seed = 1});
  asked = 0;
  StopRequest last = stop_at(all - parts / 2, asked);
  CHECK(other.run_pass(last).stopped);
  CHECK(asked == all - parts / 2);
}

}  // namespace
