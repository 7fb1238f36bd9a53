#include "core/parameters.hpp"

#include <array>

#include "test.hpp"

using marginloom::parameter;
using marginloom::ParameterList;
using marginloom::ParameterValues;
using marginloom::Word;

namespace {

enum class Colour { red, blue };
constexpr std::array<Word<Colour>, 2> colour_words{{{"red", Colour::red}, {"blue", Colour::blue}}};

struct Options {
  bool flag = false;
  int count = 1;
  std::size_t size = 2;
  double share = 0.5;
  Colour colour = Colour::red;
};

const ParameterList<Options> options{parameter("flag", &Options::flag), parameter("count", &Options::count),
                                     parameter("size", &Options::size), parameter("share", &Options::share),
                                     parameter("colour", &Options::colour, colour_words)};

ParameterValues values() {
  return {{"flag", true}, {"count", -3}, {"size", 7}, {"share", 0.25}, {"colour", std::string("blue")}};
}

void check_refused(const char* name, const marginloom::ParameterValue& value, const char* text) {
  ParameterValues changed = values();
  changed[name] = value;
  CHECK_THROWS(std::invalid_argument, (void)options.filled(changed), text);
}

}  // namespace

TEST("parameters: a struct is filled by name") {
  const Options filled = options.filled(values());
  CHECK(filled.flag);
  CHECK(filled.count == -3);
  CHECK(filled.size == 7);
  CHECK(filled.share == 0.25);
  CHECK(filled.colour == Colour::blue);
}

TEST("parameters: names, types and words can be read") {
  const auto types = options.types();
  CHECK(types.size() == 5);
  CHECK(types[0].name == "flag");
  CHECK(types[0].type == "bool");
  CHECK(types[1].type == "int");
  CHECK(types[2].type == "int");
  CHECK(types[3].type == "float");
  CHECK(types[4].type == "str");
  CHECK(types[4].words == std::vector<std::string>({"red", "blue"}));
}

TEST("parameters: what does not fit is refused by name") {
  check_refused("flag", 1, "flag must be of the type bool");
  check_refused("count", 0.5, "count must be of the type int");
  check_refused("count", std::int64_t{1} << 40, "count must be of the type int and within its range");
  check_refused("size", -1, "size must be of the type int and within its range");
  check_refused("colour", std::string("green"), "colour must be one of its words");
  check_refused("colour", 1, "colour must be one of its words");
  check_refused("weight", 1.0, "there is no parameter weight");
  ParameterValues few = values();
  few.erase("share");
  CHECK_THROWS(std::invalid_argument, (void)options.filled(few), "the parameter share is missing");
}
