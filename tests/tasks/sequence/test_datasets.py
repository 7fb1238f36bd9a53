"""The invented corpus is reproducible, and hard enough that context matters."""

import doctest
import random
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from marginloom.errors import InputError
from marginloom.tasks.base import invented
from marginloom.tasks.sequence import datasets
from marginloom.tasks.sequence.datasets import main, make_tagging, write_conll

TAGS = {"ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN", "NUM", "PRON", "PROPN", "PUNCT", "SCONJ", "VERB"}


@pytest.fixture(scope="module")
def corpus():
    return make_tagging(3000)


def tokens(corpus):
    return [pair for words, tags in zip(*corpus, strict=True) for pair in zip(words, tags, strict=True)]


def tags_of_words(corpus):
    found = defaultdict(set)
    for word, tag in tokens(corpus):
        found[word].add(tag)
    return found


def ambiguous_share(corpus):
    tags = tags_of_words(corpus)
    pairs = tokens(corpus)
    return sum(len(tags[word]) > 1 for word, _ in pairs) / len(pairs)


def split(corpus, at):
    words, tags = corpus
    return (words[:at], tags[:at]), (words[at:], tags[at:])


def accuracy_of_most_frequent_tags(train, test):
    counts = defaultdict(Counter)
    for word, tag in tokens(train):
        counts[word][tag] += 1
    best = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    return sum(best.get(word, "NOUN") == tag for word, tag in tokens(test)) / len(tokens(test))


def test_examples_in_the_documentation_hold():
    assert doctest.testmod(datasets).failed == 0


def test_same_seed_gives_the_same_sentences_and_another_seed_others(corpus):
    assert make_tagging(3000) == corpus
    assert make_tagging(3000, seed=1) != corpus


def test_known_sentence_stays_the_same_across_platforms_and_versions():
    words, tags = make_tagging(3, seed=7)
    assert " ".join(words[2]) == "her vadoam vadoam a mailugrarn to skaitron gahoasment ."
    assert " ".join(tags[2]) == "DET NOUN VERB DET NOUN ADP ADJ NOUN PUNCT"


def test_global_random_state_is_neither_used_nor_changed(corpus):
    random.seed(3)
    before = random.getstate()
    assert make_tagging(3000) == corpus
    assert random.getstate() == before


@pytest.mark.parametrize("size", [0, 1, 17, 1000])
def test_fewer_sentences_are_the_first_of_more(corpus, size):
    assert make_tagging(size) == split(corpus, size)[0]


def test_caller_may_change_what_it_got(corpus):
    words, tags = make_tagging(5)
    words[0].append("extra")
    tags[0][0] = "X"
    assert make_tagging(5) == split(corpus, 5)[0]


def test_tags_are_the_thirteen_documented_ones(corpus):
    assert {tag for _, tag in tokens(corpus)} == TAGS


def test_sentences_have_3_to_40_tokens_and_end_in_punctuation(corpus):
    words, tags = corpus
    lengths = [len(sentence) for sentence in words]
    assert lengths == [len(sentence) for sentence in tags]
    assert min(lengths) >= 3
    assert 30 < max(lengths) <= 40
    assert 8 < sum(lengths) / len(lengths) < 20
    assert {sentence[-1] for sentence in tags} == {"PUNCT"}


def test_vocabulary_is_large_and_follows_zipf(corpus):
    counts = Counter(word for word, _ in tokens(corpus))
    assert len(counts) > 3000
    assert sum(count == 1 for count in counts.values()) > 0.2 * len(counts)
    assert sum(count for _, count in counts.most_common(50)) > 0.3 * counts.total()


def test_words_of_the_test_part_are_partly_unseen(corpus):
    train, test = split(corpus, 2400)
    seen = tags_of_words(train)
    unseen = sum(word not in seen for word, _ in tokens(test)) / len(tokens(test))
    assert 0.01 < unseen < 0.15


def test_each_kind_of_ambiguity_occurs(corpus):
    kinds = set(map(frozenset, tags_of_words(corpus).values()))
    for first, second in [("NOUN", "VERB"), ("ADJ", "NOUN"), ("DET", "PRON"), ("ADP", "SCONJ")]:
        assert any({first, second} <= kind for kind in kinds)


def test_share_of_ambiguous_tokens_is_moderate_and_grows(corpus):
    assert 0.1 < ambiguous_share(corpus) < 0.35
    shares = [ambiguous_share(make_tagging(1000, ambiguity=share)) for share in (0.0, 0.1, 0.4, 1.0)]
    assert shares[0] == 0
    assert all(smaller + 0.02 < larger for smaller, larger in pairwise(shares))


def test_full_ambiguity_makes_every_verb_and_adjective_a_noun():
    words = invented.open_words(1.0)
    assert set(words["verb"]) | set(words["adjective"]) < set(words["noun"])
    assert not set(words["verb"]) & set(words["adjective"])


def test_most_frequent_tag_of_each_word_is_not_enough(corpus):
    train, test = split(corpus, 2400)
    assert 0.8 < accuracy_of_most_frequent_tags(train, test) < 0.93
    # Even with every word known: what is missing is context.
    assert accuracy_of_most_frequent_tags(corpus, corpus) < 0.95


def test_tag_before_tells_much_of_what_the_word_leaves_open(corpus):
    by_word, by_context = defaultdict(Counter), defaultdict(Counter)
    ambiguous = {word for word, tags in tags_of_words(corpus).items() if len(tags) > 1}
    for words, tags in zip(*corpus, strict=True):
        for before, word, tag in zip(["start", *tags], words, tags, strict=False):
            if word in ambiguous:
                by_word[word][tag] += 1
                by_context[word, before][tag] += 1
    right = [sum(max(c.values()) for c in counts.values()) for counts in (by_word, by_context)]
    total = sum(c.total() for c in by_word.values())
    assert right[1] / total > right[0] / total + 0.1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_sentences": -1}, "n_sentences is -1"),
        ({"ambiguity": 1.5}, "ambiguity is 1.5"),
        ({"ambiguity": float("nan")}, "ambiguity is nan"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        make_tagging(**arguments)


def test_conll_file_has_tabs_and_a_blank_line_after_each_sentence(tmp_path):
    path = tmp_path / "out.conll"
    write_conll(path, [["naïve", "#"], ["it"]], [["1", "2"], ["1"]], [["A", "N"], ["P"]])
    assert path.read_bytes() == "naïve\t1\tA\n#\t2\tN\n\nit\t1\tP\n\n".encode()


def test_conll_file_of_no_sentence_is_empty(tmp_path):
    write_conll(tmp_path / "out.conll", [], [])
    assert (tmp_path / "out.conll").read_bytes() == b""


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([], "no column"),
        ([[["a"]], [["A"], ["B"]]], r"columns have \[1, 2\] sentences"),
        ([[["a"], ["b", "c"]], [["A"], ["B"]]], r"sentence 1 .* has \[2, 1\] tokens"),
        ([[["a"], []]], r"sentence 1 .* has \[0\] tokens"),
        ([[["New York"]]], "sentence 0 .* field 'New York'"),
        ([[["a"]], [[""]]], "sentence 0 .* field ''"),
        ([[["a\n"]]], r"sentence 0 .* field 'a\\n'"),
    ],
)
def test_columns_that_no_reader_would_give_back_are_refused(tmp_path, columns, message):
    with pytest.raises(InputError, match=message):
        write_conll(tmp_path / "out.conll", *columns)
    assert not (tmp_path / "out.conll").exists()


def read_conll(path):
    blocks = path.read_text(encoding="utf-8").split("\n\n")[:-1]
    return [[tuple(line.split("\t")) for line in block.splitlines()] for block in blocks]


def test_command_writes_the_three_parts_into_a_new_folder(tmp_path):
    folder = tmp_path / "new" / "corpus"
    assert main([str(folder), "--sentences", "205", "--seed", "4", "--ambiguity", "0.5"]) == 0
    parts = [read_conll(folder / f"{name}.conll") for name in ("train", "dev", "test")]
    assert [len(part) for part in parts] == [164, 20, 21]
    words, tags = make_tagging(205, seed=4, ambiguity=0.5)
    assert [sentence for part in parts for sentence in part] == [
        list(zip(w, t, strict=True)) for w, t in zip(words, tags, strict=True)
    ]


def test_command_that_cannot_write_says_so_and_returns_one(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main([str(tmp_path / "file"), "--sentences", "20"]) == 1
    assert "cannot create the folder" in capsys.readouterr().err


def test_command_with_too_few_sentences_is_wrong_usage(tmp_path, capsys):
    with pytest.raises(SystemExit) as exit_information:
        main([str(tmp_path), "--sentences", "9"])
    assert exit_information.value.code == 2
    assert "at least 10" in capsys.readouterr().err
