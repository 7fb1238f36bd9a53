// The task of parsing against enumeration: features, losses, labels and searches together.
#include "tasks/parse/parse.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "all_trees.hpp"
#include "core/random.hpp"
#include "io/row_table.hpp"
#include "problems.hpp"
#include "test.hpp"

using namespace marginloom;  // the tests are about nearly all of it
using Kind = ArcTemplates::Kind;

namespace {

const char* const lines = R"(
pos[h] pos[m]
word[h] word[m] direction
word[m-1] pos[h+1] distance
prefix[m,3] direction distance
pos[h] pos[b] pos[m]
bias
pos[h] pos[s] pos[m] direction
word[s] pos[m]
label pos[h] pos[m]
label word[m] direction
label word[h]
label distance
)";

constexpr std::size_t labels = 4;

struct Options {
  bool projective = true, siblings = false, one_root = true, labelled = false, hashed = false;
  std::size_t memory = 0;
};

// Sentences of few words, so that features and trees repeat.
struct Treebank {
  RowTable table{2};
  std::vector<std::uint64_t> values;
  Heads heads;
  std::vector<std::uint16_t> right_labels;
  std::unique_ptr<ArcExtractor> extractor;
  std::shared_ptr<const ArcFeatures> features;
  std::unique_ptr<ParseTask> task;
  Options options;

  Treebank(const Options& chosen, std::uint64_t seed, std::size_t longest = 4) : options(chosen) {
    Random random(seed);
    for (std::size_t length = 0; length <= longest; ++length) {
      const auto trees = all_trees::of(length, options.projective, options.one_root);
      const Heads& tree = trees[random.below(trees.size())];
      heads.insert(heads.end(), tree.begin() + 1, tree.end());
      for (std::size_t t = 0; t < length; ++t) {
        table.add_cell(std::string("abcd")[random.below(4)] + std::string(random.below(3), 'e'));
        table.add_cell(std::string(1, "NV"[random.below(2)]));
        // Label 0 is the root's; label 3 may be anywhere.
        right_labels.push_back(
            static_cast<std::uint16_t>(tree[t + 1] == 0 ? (random.below(2) ? 0 : 3) : 1 + random.below(3)));
      }
      table.end_sentence();
    }
    extractor = std::make_unique<ArcExtractor>(templates(), AtomColumns{0, 1, std::nullopt}, Resources{});
    values = extractor->values(table, 1);
    if (options.hashed) {
      features = std::make_shared<ArcFeatures>(*extractor, 5, 8);
    } else {
      features = std::make_shared<ArcFeatures>(*extractor, learnt(1));
    }
    task = make(true);
  }

  [[nodiscard]] ByKind<Vocabulary> learnt(std::size_t min_count) const {
    const TokenColumns* const tables[] = {&table};
    return extractor->learn(tables, heads, {}, min_count);
  }
  [[nodiscard]] std::vector<Template> templates() const {
    auto all = parse_templates(lines, Scope::arcs);
    std::erase_if(all, [&](const Template& line) {
      return (!options.siblings && line.has(Atom::Place::sibling)) ||
             (!options.labelled && line.has(Atom::Kind::label));
    });
    return all;
  }
  [[nodiscard]] std::unique_ptr<ParseTask> make(bool gold) const {
    ParseOptions chosen{options.projective, options.siblings, options.one_root, options.labelled ? labels : 0, {}, 0};
    if (options.labelled) chosen.allowed = {{0, 3}, {1, 2, 3}};
    chosen.memory = options.memory;
    ParseData data{table.sentences(), values, {}, {}};
    if (gold) data.heads = heads;
    if (gold && options.labelled) data.labels = right_labels;
    return std::make_unique<ParseTask>(data, chosen, features, 2);
  }
  [[nodiscard]] std::size_t first(std::size_t i) const { return table.sentences()[i]; }
};

struct LabelledTree {
  Heads heads;
  std::vector<std::uint16_t> labels;  // from 1
};

// All trees of a sentence, with all labels that arcs may have.
std::vector<LabelledTree> all_outputs(const Treebank& bank, std::size_t i) {
  std::vector<LabelledTree> found;
  for (const Heads& heads : all_trees::of(bank.task->length(i), bank.options.projective, bank.options.one_root)) {
    std::vector<LabelledTree> grown{{heads, std::vector<std::uint16_t>(1, 0)}};
    for (std::size_t m = 1; m < heads.size() && bank.options.labelled; ++m) {
      std::vector<LabelledTree> next;
      for (const LabelledTree& tree : grown) {
        for (const int label : heads[m] == 0 ? std::vector<int>{0, 3} : std::vector<int>{1, 2, 3}) {
          next.push_back(tree);
          next.back().labels.push_back(static_cast<std::uint16_t>(label));
        }
      }
      grown = std::move(next);
    }
    found.insert(found.end(), grown.begin(), grown.end());
  }
  return found;
}

// phi of a tree from the names of its features: strings are looked up, nothing of keys and parts is used.
class Reference {
 public:
  explicit Reference(const Treebank& bank)
      : bank_(bank), templates_(bank.templates()), reader_(bank.table, {0, 1, std::nullopt}, resources_, templates_) {}

  std::map<std::size_t, double> phi(std::size_t i, const LabelledTree& tree) {
    reader_.load(i);
    std::map<std::size_t, double> sum;
    const ParseWeights& layout = bank_.task->layout();
    for (std::size_t m = 1; m < tree.heads.size(); ++m) {
      const std::size_t h = tree.heads[m];
      add(Kind::arc, h, m, 0, 0, 1, sum);
      if (bank_.options.siblings) add(Kind::sibling, h, m, nearest_sibling(tree.heads, m), layout.siblings, 1, sum);
      if (bank_.options.labelled) add(Kind::label, h, m, 0, layout.labels + tree.labels[m], layout.stride, sum);
    }
    return sum;
  }

 private:
  void add(Kind kind, std::size_t h, std::size_t m, std::size_t sibling, std::size_t first, std::size_t stride,
           std::map<std::size_t, double>& sum) {
    const ArcTemplates& lines = bank_.extractor->of(kind);
    for (std::size_t line = 0; line < lines.size(); ++line) {
      std::vector<std::string> names;
      if (lines.has_between(line)) {
        for (std::size_t b = std::min(h, m) + 1; b < std::max(h, m); ++b) {
          names.push_back(lines.feature_name(reader_, line, h, m, b));
        }
        std::ranges::sort(names);
        names.erase(std::ranges::unique(names).begin(), names.end());
      } else if (lines.name(line) != "prefix[m,3] direction distance" || reads_prefix(m)) {
        names.push_back(lines.feature_name(reader_, line, h, m, sibling));
      }
      for (const std::string& name : names) {
        const std::uint32_t number = bank_.features->numbers(kind).find(lines.key_of(name));
        if (number != KeyTable::unknown) sum[first + number * stride] += 1;
      }
    }
  }
  [[nodiscard]] bool reads_prefix(std::size_t m) const {
    std::string text;
    return reader_.append_value({Atom::Kind::prefix, Atom::Place::token, 0, 3}, m - 1, text);
  }

  const Treebank& bank_;
  Resources resources_;
  std::vector<Template> templates_;
  AtomReader reader_;
};

double dot(const std::map<std::size_t, double>& phi, WeightView w) {
  double sum = 0;
  for (const auto& [k, value] : phi) sum += w[k] * value;
  return sum;
}

double loss_of(const Treebank& bank, std::size_t i, const LabelledTree& tree) {
  double loss = 0;
  for (std::size_t m = 1; m < tree.heads.size(); ++m) {
    const std::size_t word = bank.first(i) + m - 1;
    loss += tree.heads[m] != bank.heads[word] || (bank.options.labelled && tree.labels[m] != bank.right_labels[word]);
  }
  return loss;
}

LabelledTree gold_of(const Treebank& bank, std::size_t i) {
  LabelledTree gold{Heads(1, 0), std::vector<std::uint16_t>(1, 0)};
  for (std::size_t word = bank.first(i); word < bank.first(i + 1); ++word) {
    gold.heads.push_back(bank.heads[word]);
    gold.labels.push_back(bank.right_labels[word]);
  }
  return gold;
}

std::vector<std::uint8_t> encoded(const LabelledTree& tree, bool labelled) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t m = 1; m < tree.heads.size(); ++m) {
    bytes.push_back(static_cast<std::uint8_t>(tree.heads[m]));
    bytes.push_back(0);
  }
  for (std::size_t m = 1; m < tree.heads.size() && labelled; ++m) {
    bytes.push_back(static_cast<std::uint8_t>(tree.labels[m]));
  }
  return bytes;
}

void check_find(const Options& options, std::uint64_t seed) {
  const Treebank bank(options, seed, options.labelled ? 3 : 4);
  Reference reference(bank);
  Random random(seed + 100);
  const auto scratch = bank.task->make_scratch();
  for (int turn = 0; turn < 4; ++turn) {
    const auto w = problems::random_vector(bank.task->dimension(), random, problems::eighths);
    for (std::size_t i = 0; i < bank.task->size(); ++i) {
      const auto right = reference.phi(i, gold_of(bank, i));
      for (const double scale : {0.0, 1.0, 2.5}) {
        CandidateBatch found;
        const double bound = bank.task->find(i, w, {.loss_scale = scale}, *scratch, found);
        double greatest = 0;
        for (const LabelledTree& tree : all_outputs(bank, i)) {
          const double violation = scale * loss_of(bank, i, tree) + dot(reference.phi(i, tree), w) - dot(right, w);
          greatest = std::max(greatest, violation);
        }
        CHECK_NEAR(bound, greatest, 1e-9);
        if (found.empty()) continue;
        std::map<std::size_t, double> difference(right);
        const Candidate candidate = found[0];
        LabelledTree tree = gold_of(bank, i);
        for (std::size_t m = 1; m < tree.heads.size(); ++m) {
          tree.heads[m] = candidate.output[2 * m - 2];
          if (options.labelled) tree.labels[m] = candidate.output[2 * tree.heads.size() - 2 + m - 1];
        }
        CHECK_NEAR(scale * candidate.loss + dot(reference.phi(i, tree), w) - dot(right, w), greatest, 1e-9);
        CHECK(candidate.loss == loss_of(bank, i, tree));
        for (const auto& [k, value] : reference.phi(i, tree)) difference[k] -= value;
        std::erase_if(difference, [](const auto& entry) { return entry.second == 0; });
        CHECK(difference.size() == candidate.difference.size());
        double norm = 0;
        for (const Entry& entry : candidate.difference) {
          CHECK(difference.at(entry.index) == entry.value);
          norm += double{entry.value} * entry.value;
        }
        CHECK_NEAR(candidate.squared_norm, norm, 1e-9);
      }
    }
  }
}

}  // namespace

TEST("parse: find agrees with enumeration, of every kind of tree, by vocabulary and by hashing") {
  std::uint64_t seed = 1;
  for (const bool projective : {true, false}) {
    for (const bool one_root : {true, false}) {
      for (const bool labelled : {true, false}) {
        for (const bool hashed : {true, false}) {
          check_find({projective, false, one_root, labelled, hashed}, seed++);
          if (projective) check_find({projective, true, one_root, labelled, hashed}, seed++);
        }
      }
    }
  }
}

TEST("parse: features that are kept give the same scores and candidates, whatever part of them fits") {
  for (const bool hashed : {true, false}) {
    const Treebank plain({.labelled = true, .hashed = hashed}, 40);
    for (const std::size_t memory : {200, 1'000'000}) {
      const Treebank kept({.labelled = true, .hashed = hashed, .memory = memory}, 40);
      CHECK(kept.task->kept_bytes() > 0);
      CHECK(kept.task->kept_bytes() <= memory);
      check_find({.labelled = true, .hashed = hashed, .memory = memory}, 41);
    }
  }
}

TEST("parse: k best trees differ in heads and come in order") {
  const Treebank bank({.labelled = true}, 50);
  const auto task = bank.make(false);
  Random random(51);
  const auto w = problems::random_vector(task->dimension(), random, problems::uniform);
  const auto scratch = task->make_scratch();
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < task->size(); ++i) {
    task->predict(i, w, 1000, *scratch, outputs);
    CHECK(outputs.size() == all_trees::of(task->length(i), true, true).size());
    std::set<std::string> heads;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (k > 0) CHECK(outputs[k].score <= outputs[k - 1].score);
      const auto end = outputs[k].bytes.begin() + static_cast<std::ptrdiff_t>(2 * task->length(i));
      heads.emplace(outputs[k].bytes.begin(), end);
    }
    CHECK(heads.size() == outputs.size());
  }
}

TEST("parse: candidates are rebuilt from their bytes, and what is not allowed is told from what is damaged") {
  for (const bool siblings : {true, false}) {
    const Treebank bank({.siblings = siblings, .labelled = true}, 60);
    const auto scratch = bank.task->make_scratch();
    for (std::size_t i = 0; i < bank.task->size(); ++i) {
      for (const LabelledTree& tree : all_outputs(bank, i)) {
        std::size_t count = 0;
        FunctionSink sink([&](const Candidate& found) {
          ++count;
          CHECK(found.loss == loss_of(bank, i, tree));
          CHECK(std::ranges::equal(found.output, encoded(tree, true)));
        });
        CHECK(bank.task->candidate(i, encoded(tree, true), *scratch, sink));
        CHECK(count == 1);
      }
    }
    CandidateBatch none;
    const LabelledTree crossing{{0, 3, 4, 0, 3}, {0, 1, 1, 0, 1}};
    CHECK(!bank.task->candidate(4, encoded(crossing, true), *scratch, none));
    const LabelledTree two_roots{{0, 0, 0, 2, 2}, {0, 0, 0, 1, 1}};
    CHECK(!bank.task->candidate(4, encoded(two_roots, true), *scratch, none));
    const LabelledTree root_label{{0, 0, 1, 1, 1}, {0, 0, 0, 1, 1}};
    CHECK(!bank.task->candidate(4, encoded(root_label, true), *scratch, none));
    const LabelledTree beyond{{0, 9, 1, 1, 1}, {0, 0, 1, 1, 1}};
    CHECK_THROWS(std::invalid_argument,
                 static_cast<void>(bank.task->candidate(4, encoded(beyond, true), *scratch, none)),
                 "the head 9 among 4 words");
    CHECK_THROWS(std::invalid_argument,
                 static_cast<void>(bank.task->candidate(4, encoded(root_label, false), *scratch, none)),
                 "the wrong length");
  }
}

TEST("parse: rearranged trees are said not to be exact and never score less than projective ones") {
  const Treebank any({.projective = false, .siblings = true}, 70);
  CHECK(!any.task->capabilities().exact);
  CHECK(!any.task->capabilities().bounded);
  Reference reference(any);
  Random random(71);
  const auto scratch = any.task->make_scratch();
  for (int turn = 0; turn < 8; ++turn) {
    const auto w = problems::random_vector(any.task->dimension(), random, problems::eighths);
    for (std::size_t i = 1; i < any.task->size(); ++i) {
      std::vector<Output> found;
      any.task->predict(i, w, 1, *scratch, found);
      for (const Heads& heads : all_trees::of(any.task->length(i), true, true)) {
        CHECK(found[0].score >= dot(reference.phi(i, {heads, {}}), w) - 1e-9);
      }
    }
  }
}

TEST("parse: names of features lead to their keys, and damaged names are refused") {
  const Treebank bank({.siblings = true, .labelled = true}, 80);
  const auto vocabularies = bank.learnt(1);
  for (const Kind kind : {Kind::arc, Kind::sibling, Kind::label}) {
    const Vocabulary& names = vocabularies[static_cast<std::size_t>(kind)];
    CHECK(names.size() > 0);
    for (std::size_t id = 0; id < names.size(); ++id) {
      CHECK(bank.features->numbers(kind).find(bank.extractor->of(kind).key_of(names.name(id))) == id);
    }
  }
  const ArcTemplates& arcs = bank.extractor->of(Kind::arc);
  for (const char* const damaged : {"", "x", "0", "0:",
                                    "99:a\x1F"
                                    "b",
                                    "0:a\x1F"
                                    "b\x1F"
                                    "c"}) {
    CHECK_THROWS(std::invalid_argument, static_cast<void>(arcs.key_of(damaged)), "a feature's name");
  }
  CHECK(arcs.described("0:N\x1FV") == "pos[h]=N pos[m]=V");
}

TEST("parse: words may have the characters that names of features are written with") {
  RowTable table(2);
  const std::vector<std::string> words{
      "a\x1F"
      "b",
      "a", "\x1E", "\x1E\x1F", "\x1F"};
  Heads heads;
  for (const std::string& word : words) {
    table.add_cell(word);
    table.add_cell("N");
    heads.push_back(static_cast<Head>(heads.size()));
  }
  table.end_sentence();
  const ArcExtractor extractor(parse_templates("word[m] word[h]", Scope::arcs), {0, 1, std::nullopt}, {});
  const TokenColumns* const tables[] = {&table};
  const auto names = extractor.learn(tables, heads, {}, 1);
  const ArcFeatures features(extractor, names);
  const auto values = extractor.values(table, 1);
  KeyParts parts;
  extractor.of(Kind::arc).compute_parts({values, extractor.views(), words.size()}, parts);
  for (std::size_t m = 1; m <= words.size(); ++m) {
    extractor.of(Kind::arc).visit_arc(parts, m - 1, m, [&](std::size_t, FeatureKey key, std::size_t) {
      CHECK(features.numbers(Kind::arc).find(key) == m - 1);
    });
  }
  CHECK(extractor.of(Kind::arc).described(names[0].name(1)) == "word[m]=a word[h]=" + words[0]);
}

TEST("parse: templates that look at no word are templates too") {
  const ArcExtractor extractor(parse_templates("direction distance", Scope::arcs), {0, 1, std::nullopt}, {});
  CHECK(extractor.views() == 0);
  const auto features = std::make_shared<ArcFeatures>(extractor, 4, 8);
  const std::vector<std::uint64_t> sentences{0, 3};
  const Heads heads{2, 0, 2};
  const ParseTask task({sentences, {}, heads, {}}, {}, features, 1);
  const auto scratch = task.make_scratch();
  CandidateBatch found;
  const std::vector<double> w(task.dimension(), 0.0);
  CHECK(task.find(0, w, {.loss_scale = 1}, *scratch, found) == 3);
  CHECK(found.size() == 1);
}

TEST("parse: features below the least count are not learnt") {
  const Treebank bank({}, 90);
  const auto all = bank.learnt(1);
  const auto some = bank.learnt(2);
  CHECK(some[0].size() < all[0].size());
  CHECK(some[0].size() > 0);
}
