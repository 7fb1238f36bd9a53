#include "io/libsvm.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include "test.hpp"

using marginloom::format_libsvm;
using marginloom::LibsvmRows;
using marginloom::parse_libsvm;

namespace {

std::string message_of(const std::string& text) {
  try {
    (void)parse_libsvm(text, "f", 10);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST("LIBSVM: rows have labels, entries and lines") {
  const LibsvmRows rows = parse_libsvm("b,a 1:0.5 4:-2e3\n\n# nothing\n 2:1\na\tqid:3\t3:+1 # end\nb", "f", 1);
  CHECK(rows.offsets == (std::vector<std::uint64_t>{0, 2, 3, 4, 4}));
  CHECK(rows.indices == (std::vector<std::int32_t>{0, 3, 1, 2}));
  CHECK(rows.values == (std::vector<double>{0.5, -2000, 1, 1}));
  CHECK(rows.label_offsets == (std::vector<std::uint64_t>{0, 2, 2, 3, 4}));
  CHECK(rows.labels == (std::vector<std::uint32_t>{0, 1, 1, 0}));
  CHECK(rows.names.name(0) == "b" && rows.names.name(1) == "a");
  CHECK(rows.lines == (std::vector<std::uint64_t>{1, 4, 5, 6}));
  CHECK(rows.groups == (std::vector<std::int64_t>{-1, -1, 3, -1}));
}

TEST("LIBSVM: errors name the line") {
  CHECK(message_of("1 1:1\n1 0:1\n") == "f, line 11: found '0:1': indices count from 1");
  CHECK(message_of("\n\n1 2:x").starts_with("f, line 12: "));
  CHECK(message_of("1 2:1 1:1").starts_with("f, line 10: "));
  CHECK(message_of(std::string("1 1:1\0", 6)).starts_with("f, line 10: "));
  CHECK(message_of("1 qid:-1 1:1").starts_with("f, line 10: found 'qid:-1'"));
  CHECK(message_of("1 qid: 1:1").starts_with("f, line 10: found 'qid:'"));
  CHECK(message_of("").empty());
}

TEST("LIBSVM: text that is written is read back") {
  const std::vector<std::string_view> labels{"1", "", "2,3", ""};
  const std::vector<std::uint64_t> offsets{0, 2, 3, 3, 3};
  const std::vector<std::int32_t> indices{0, 2147483646, 6};
  const std::vector<double> values{0.1, 5e-324, -1e300};
  const std::string text = format_libsvm<double>(labels, offsets, indices, values);
  const LibsvmRows rows = parse_libsvm(text, "f", 1);
  CHECK(rows.lines.size() == 4);
  CHECK(rows.label_offsets == (std::vector<std::uint64_t>{0, 1, 1, 3, 3}));
  CHECK(rows.indices == (std::vector<std::int32_t>{0, 2147483646, 6, 0}));
  CHECK(rows.values == (std::vector<double>{0.1, 5e-324, -1e300, 0}));
}

TEST("LIBSVM: single precision is read back, also where its digits are a double between two floats") {
  const std::vector<std::string_view> labels{"1"};
  const std::vector<std::uint64_t> offsets{0, 3};
  const std::vector<std::int32_t> indices{0, 1, 2};
  const std::vector<float> values{0.1F, 0x1.5c87fap-84F, 1e-45F};
  const std::string text = format_libsvm<float>(labels, offsets, indices, values);
  CHECK(text.starts_with("1 1:0.1 2:7.03853"));
  const LibsvmRows rows = parse_libsvm(text, "f", 1);
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(static_cast<float>(rows.values[i]) == values[i]);
}

}  // namespace
