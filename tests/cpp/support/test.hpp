// A test harness on one page. A failed check ends its test; the others still run.
//
//   TEST("subject: behaviour") { CHECK(sum == 3); CHECK_NEAR(x, 0.1, 1e-9); CHECK_THROWS(std::bad_alloc, f(),
//   "text"); }
#pragma once

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

namespace test {

struct Test {
  const char* name;
  void (*run)();
};

struct Failure {  // not a std::exception, so that CHECK_THROWS does not take it for the one it waits for
  std::string text;
};

inline std::vector<Test>& all() {
  static std::vector<Test> tests;
  return tests;
}

inline bool add(const char* name, void (*run)()) {
  all().push_back({name, run});
  return true;
}

[[noreturn]] inline void fail(const char* file, int line, const std::string& text) {
  throw Failure{std::string(file) + ":" + std::to_string(line) + ": " + text};
}

inline void near(const char* file, int line, const char* text, double found, double expected, double tolerance) {
  if (std::abs(found - expected) <= tolerance) return;  // false for NaN
  std::ostringstream message;
  message.precision(17);
  message << text << " is " << found << ", expected " << expected << " within " << tolerance;
  fail(file, line, message.str());
}

}  // namespace test

#define TEST_JOIN_(a, b) a##b
#define TEST_JOIN(a, b) TEST_JOIN_(a, b)
#define TEST(name)                                                                             \
  static void TEST_JOIN(test_, __LINE__)();                                                    \
  static const bool TEST_JOIN(added_, __LINE__) = test::add(name, TEST_JOIN(test_, __LINE__)); \
  static void TEST_JOIN(test_, __LINE__)()

#define CHECK(...)                                                                 \
  do {                                                                             \
    if (!(__VA_ARGS__)) test::fail(__FILE__, __LINE__, "not true: " #__VA_ARGS__); \
  } while (false)

#define CHECK_NEAR(found, expected, tolerance) test::near(__FILE__, __LINE__, #found, found, expected, tolerance)

// `text` must be part of the exception's message.
#define CHECK_THROWS(Type, expression, text)                                                                 \
  do {                                                                                                       \
    bool test_thrown = false;                                                                                \
    try {                                                                                                    \
      (void)(expression);                                                                                    \
    } catch (const Type& test_error) {                                                                       \
      test_thrown = true;                                                                                    \
      const std::string test_message = test_error.what();                                                    \
      if (test_message.find(text) == std::string::npos) {                                                    \
        test::fail(__FILE__, __LINE__, #expression " threw '" + test_message + "', without '" + text + "'"); \
      }                                                                                                      \
    }                                                                                                        \
    if (!test_thrown) test::fail(__FILE__, __LINE__, #expression " did not throw " #Type);                   \
  } while (false)
