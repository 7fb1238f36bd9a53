// Runs all tests, or those whose name contains the first argument.
#include <cstdio>
#include <exception>
#include <string>

#include "test.hpp"

// Searches and visits of the engine `shared` read weights while other threads change them, see engines/shared.hpp: each
// is read whole, and an old one will do. Everything else that two threads touch is checked.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:find_in_live_weights\nrace:gather_scores\n";
}

int main(int count, char** arguments) {
  const std::string wanted = count > 1 ? arguments[1] : "";
  int passed = 0;
  int failed = 0;
  for (const test::Test& test : test::all()) {
    if (std::string(test.name).find(wanted) == std::string::npos) continue;
    std::string problem;
    try {
      test.run();
    } catch (const test::Failure& failure) {
      problem = failure.text;
    } catch (const std::exception& error) {
      problem = std::string("unexpected exception: ") + error.what();
    }
    if (!problem.empty()) std::fprintf(stderr, "FAILED %s\n  %s\n", test.name, problem.c_str());
    ++(problem.empty() ? passed : failed);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed > 0 || passed == 0;  // a name that matches nothing is a mistake
}
