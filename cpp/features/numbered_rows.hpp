// Numbers for the keys of features, by a vocabulary or a hash, sentence by sentence on several threads.
//
// `make(numbering)` returns one thread's workspace, whose extract(sentence, rows) appends the rows of a sentence and
// asks the numbering for the number of every key. Rows come in the order of the sentences whatever the number of
// threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "features/atom_reader.hpp"
#include "features/sparse_rows.hpp"
#include "features/vocabulary.hpp"

namespace marginloom {

// Numbers a key, or answers Vocabulary::unknown.
using Numbering = std::function<std::uint32_t(std::string_view)>;

// How many there are to look at; none where there is no token.
[[nodiscard]] inline std::size_t sentences_of(const TokenColumns& table) {
  return table.sentences().back() == 0 ? 0 : table.sentences().size() - 1;
}

// The rows of one run of sentences per thread, so that the parts lie in order.
template <class Make, class MakeNumbering>
[[nodiscard]] std::vector<SparseRows> rows_in_parts(std::size_t count, const Make& make, int threads,
                                                    const MakeNumbering& numbering, StopRequest& stop) {
  const std::size_t parts = std::clamp<std::size_t>(count / 16, 1, static_cast<std::size_t>(std::max(threads, 1)));
  std::vector<SparseRows> rows(parts);
  if (count == 0) return rows;
  std::atomic<bool> ended{false};  // the other threads ask it, and only the caller its owner
  const auto extract_part = [&](int thread, std::size_t part, std::size_t) {
    auto workspace = make(numbering(part));
    for (std::size_t i = count * part / parts; i < count * (part + 1) / parts; ++i) {
      if (told_to_stop() || (thread == 0 && stop.stopped())) ended = true;
      if (ended.load(std::memory_order_relaxed)) return;
      workspace.extract(i, rows[part]);
    }
  };
  if (!parallel_for(parts, 1, threads, stop, extract_part) || ended) throw Interrupted();
  return rows;
}

[[nodiscard]] inline SparseRows joined(std::vector<SparseRows> parts) {
  SparseRows all = std::move(parts.front());
  for (std::size_t part = 1; part < parts.size(); ++part) {
    const std::uint64_t before = all.features.size();
    for (std::size_t t = 1; t < parts[part].tokens.size(); ++t) all.tokens.push_back(before + parts[part].tokens[t]);
    all.features.insert(all.features.end(), parts[part].features.begin(), parts[part].features.end());
  }
  return all;
}

// Features that the vocabulary does not have are left out by the workspace.
template <class Make>
[[nodiscard]] SparseRows encoded_rows(std::size_t count, const Make& make, const Vocabulary& vocabulary, int threads,
                                      StopRequest& stop) {
  const auto look_up = [&](std::size_t) -> Numbering {
    return [&vocabulary](std::string_view key) { return vocabulary.find(key); };
  };
  return joined(rows_in_parts(count, make, threads, look_up, stop));
}

// Adds the features to the vocabulary, numbered as they are first seen whatever the number of threads.
template <class Make>
[[nodiscard]] SparseRows learnt_rows(std::size_t count, const Make& make, Vocabulary& vocabulary, int threads,
                                     StopRequest& stop) {
  std::vector<Vocabulary> seen(static_cast<std::size_t>(std::max(threads, 1)));
  const auto collect = [&](std::size_t part) -> Numbering {
    return [&own = seen[part]](std::string_view key) { return own.intern(key); };
  };
  std::vector<SparseRows> parts = rows_in_parts(count, make, threads, collect, stop);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    std::vector<std::uint32_t> numbers(seen[part].size());
    for (std::size_t id = 0; id < numbers.size(); ++id) numbers[id] = vocabulary.intern(seen[part].name(id));
    for (std::uint32_t& feature : parts[part].features) feature = numbers[feature];
  }
  return joined(std::move(parts));
}

// Numbers features by the lowest `bits` bits of a hash of their key.
template <class Make>
[[nodiscard]] SparseRows hashed_rows(std::size_t count, const Make& make, int bits, int threads, StopRequest& stop) {
  if (bits < 1 || bits > 31) throw std::invalid_argument("hashing takes 1 to 31 bits");
  const auto cut = [&](std::size_t) -> Numbering {
    return [mask = (1u << bits) - 1](std::string_view key) { return key_hash(key) & mask; };
  };
  return joined(rows_in_parts(count, make, threads, cut, stop));
}

}  // namespace marginloom
