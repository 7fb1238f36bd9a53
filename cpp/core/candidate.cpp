#include "core/candidate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <type_traits>

namespace marginloom {
namespace {

// How the bytes of a batch begin. Its candidates follow, then the values of all entries, their indices, and the
// outputs.
struct BatchHeader {
  std::uint64_t candidates = 0;
  std::uint64_t entries = 0;
  std::uint64_t outputs = 0;      // bytes
  std::uint64_t value_bytes = 0;  // 1, 4 or 8: whole numbers, single or double precision
};

struct WrittenCandidate {
  std::uint64_t example = 0;
  double loss = 0;
  double squared_norm = 0;
  std::uint32_t entries = 0;
  std::uint32_t output = 0;
  std::uint64_t implicit = 0;
};

void require_fit(bool holds) {
  if (!holds) throw std::invalid_argument("these bytes are not those of candidates");
}

template <class Narrow>
[[nodiscard]] bool holds(double value) {
  if (std::is_integral_v<Narrow> && !(std::abs(value) <= 127)) return false;
  const auto again = static_cast<double>(static_cast<Narrow>(value));
  return std::bit_cast<std::uint64_t>(again) == std::bit_cast<std::uint64_t>(value);
}

template <class Narrow>
[[nodiscard]] bool holds_all(std::span<const Entry> entries) {
  return std::ranges::all_of(entries, [](const Entry& entry) { return holds<Narrow>(entry.value); });
}

// Calls use(number) with a number of the type that has so many bytes.
template <class Use>
void with_values(std::uint64_t bytes, Use use) {
  if (bytes == 1) return use(std::int8_t{});
  if (bytes == 4) return use(float{});
  use(double{});
}

// Takes from the front of bytes, or puts behind others.
class Reader {
 public:
  explicit Reader(ByteView bytes) : bytes_(bytes) {}

  [[nodiscard]] ByteView take(std::uint64_t size) {
    require_fit(size <= bytes_.size());
    const ByteView result = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return result;
  }
  template <class T>
  [[nodiscard]] T take() {
    T result;
    std::memcpy(&result, take(sizeof(T)).data(), sizeof(T));
    return result;
  }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }

 private:
  ByteView bytes_;
};

template <class T>
[[nodiscard]] T element(ByteView bytes, std::size_t k) {
  T result;
  std::memcpy(&result, bytes.data() + k * sizeof(T), sizeof(T));
  return result;
}

}  // namespace

std::vector<std::uint8_t> CandidateBatch::to_bytes() const {
  BatchHeader header{candidates_.size(), entries_.size(), outputs_.size(), sizeof(double)};
  if (holds_all<float>(entries_)) header.value_bytes = holds_all<std::int8_t>(entries_) ? 1 : sizeof(float);
  std::vector<std::uint8_t> bytes(sizeof header + candidates_.size() * sizeof(WrittenCandidate) +
                                  entries_.size() * (header.value_bytes + sizeof(WeightIndex)) + outputs_.size());
  std::uint8_t* to = bytes.data();
  const auto put = [&to](const auto& value) {
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  };
  put(header);
  for (const Stored& stored : candidates_) {
    const Candidate& candidate = stored.candidate;
    put(WrittenCandidate{.example = candidate.example,
                         .loss = candidate.loss,
                         .squared_norm = candidate.squared_norm,
                         .entries = static_cast<std::uint32_t>(candidate.difference.size()),
                         .output = static_cast<std::uint32_t>(candidate.output.size()),
                         .implicit = candidate.implicit ? 1U : 0U});
  }
  with_values(header.value_bytes, [&](auto narrow) {
    for (const Entry& entry : entries_) put(static_cast<decltype(narrow)>(entry.value));
  });
  for (const Entry& entry : entries_) put(entry.index);
  std::ranges::copy(outputs_, to);
  return bytes;
}

CandidateBatch CandidateBatch::from_bytes(ByteView bytes, std::size_t examples, std::size_t dimension) {
  Reader reader(bytes);
  const auto header = reader.take<BatchHeader>();
  require_fit(header.value_bytes == 1 || header.value_bytes == 4 || header.value_bytes == 8);
  require_fit(header.candidates <= reader.left() / sizeof(WrittenCandidate));
  const ByteView written = reader.take(header.candidates * sizeof(WrittenCandidate));
  require_fit(header.entries <= reader.left() / (header.value_bytes + sizeof(WeightIndex)));
  const ByteView values = reader.take(header.entries * header.value_bytes);
  const ByteView indices = reader.take(header.entries * sizeof(WeightIndex));
  const ByteView outputs = reader.take(header.outputs);
  require_fit(reader.left() == 0);
  CandidateBatch result;
  result.entries_.resize(header.entries);
  result.outputs_.assign(outputs.begin(), outputs.end());
  with_values(header.value_bytes, [&](auto narrow) {
    for (std::size_t k = 0; k < header.entries; ++k) {
      result.entries_[k] = {element<WeightIndex>(indices, k),
                            static_cast<double>(element<decltype(narrow)>(values, k))};
    }
  });
  require_fit(std::ranges::all_of(
      result.entries_, [&](const Entry& entry) { return entry.index < dimension && std::isfinite(entry.value); }));
  std::size_t entry = 0;
  std::size_t byte = 0;
  result.candidates_.reserve(header.candidates);
  for (std::size_t k = 0; k < header.candidates; ++k) {
    const auto one = element<WrittenCandidate>(written, k);
    require_fit(one.example < examples && std::isfinite(one.loss));
    require_fit(one.squared_norm >= 0 && std::isfinite(one.squared_norm));
    require_fit(one.implicit == 0 || (one.implicit == 1 && one.entries == 0));
    require_fit(one.entries <= header.entries - entry && one.output <= header.outputs - byte);
    const auto difference = std::span<const Entry>(result.entries_).subspan(entry, one.entries);
    const auto output = ByteView(result.outputs_).subspan(byte, one.output);
    require_fit(std::ranges::adjacent_find(difference, std::greater_equal<>(), &Entry::index) == difference.end());
    result.candidates_.push_back({{.example = one.example,
                                   .loss = one.loss,
                                   .squared_norm = one.squared_norm,
                                   .key = output_key(output),
                                   .output = output,
                                   .difference = difference,
                                   .implicit = one.implicit == 1},
                                  entry,
                                  byte});
    entry += one.entries;
    byte += one.output;
  }
  require_fit(entry == header.entries && byte == header.outputs);
  return result;
}

}  // namespace marginloom
