"""Features of spans by templates: what each template gives, and what the language says of mistakes."""

import pytest

from marginloom import InputError, InputWarning
from marginloom.features import Lists
from marginloom.tasks.relations.features import SpanFeatureSet
from marginloom.tasks.relations.records import checked_sentences

TOKENS = ["Mr.", "Cole", "of", "New", "York", "City", "met", "Ann", "there", "."]
POS = ["NNP", "NNP", "IN", "NNP", "NNP", "NNP", "VBD", "NNP", "RB", "."]
SPANS = [(0, 2), (3, 6), (7, 8)]


def corpus(pos=True, spans=SPANS, tokens=TOKENS):
    entities = [{"start": start, "end": end} for start, end in spans]
    return checked_sentences([{"tokens": tokens, "entities": entities, **({"pos": POS} if pos else {})}])


@pytest.fixture
def written(tmp_path):
    def write(text):
        (tmp_path / "own.txt").write_text(text)
        return str(tmp_path / "own.txt")

    return write


def features_of(name, kind, row, **options):
    """Return the names of the features of a span (kind 0) or a pair."""
    features = SpanFeatureSet(name, **options)
    encoded = features.fit(corpus())
    rows = encoded[1 + kind]
    found = rows.features[rows.rows[row] : rows.rows[row + 1]].tolist()
    return [features.describe(kind, feature) for feature in found]


@pytest.mark.parametrize(
    ("template", "row", "found"),
    [
        ("bias", 0, ["bias"]),
        ("word[first]", 1, ["New"]),
        ("word[last]", 1, ["City"]),
        ("word[first-1]", 1, ["of"]),
        ("word[first-1]", 0, ["<s>"]),
        ("word[last+2]", 2, ["."]),
        ("word[last+5]", 2, ["</s>"]),
        ("word[all]", 1, ["New York City"]),
        ("lower[every]", 1, ["new", "york", "city"]),
        ("pos[every]", 1, ["NNP"]),
        ("pos[all]", 0, ["NNP NNP"]),
        ("suffix[all,2]", 1, ["ew rk ty"]),
        ("prefix[first,4]", 1, []),
        ("length", 0, ["2"]),
        ("length word[last]", 2, ["1 Ann"]),
        ("word[around.every]", 1, ["Mr.", "Cole", "of", "met", "Ann", "there"]),
        ("shortshape[all]", 0, ["Xx. Xx"]),
        ("word[sentence.every]", 2, TOKENS),
    ],
)
def test_what_a_span_gets(written, template, row, found):
    assert features_of(written(f"pair\n{template}"), 0, row) == [
        template if value == template else f"{template}={value}" for value in found
    ]


#: The pairs are (0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1).
@pytest.mark.parametrize(
    ("template", "row", "found"),
    [
        ("pair", 0, ["pair"]),
        ("order", 0, ["head first"]),
        ("order", 2, ["tail first"]),
        ("distance", 0, ["1"]),
        ("distance", 1, ["5"]),
        ("entities", 1, ["1"]),
        ("entities", 5, ["0"]),
        ("word[head.last] word[tail.first]", 2, ["City Mr."]),
        ("word[left.first] word[right.first]", 2, ["Mr. New"]),
        ("word[left.first-1] word[right.last+1]", 3, ["of there"]),
        ("word[between.every] order", 3, ["met head first"]),
        ("word[between.pairs]", 1, ["of New", "New York", "York City", "City met"]),
        ("pos[between.pairs]", 1, ["IN NNP", "NNP NNP", "NNP VBD"]),
        ("pos[between.all]", 1, ["IN NNP NNP NNP VBD"]),
        ("word[between.first]", 1, ["of"]),
        ("word[between.last]", 1, ["met"]),
        ("lower[tail.all]", 0, ["new york city"]),
        ("lower[sentence.every] pair", 0, [word.lower() + " " for word in TOKENS]),
    ],
)
def test_what_a_pair_gets(written, template, row, found):
    assert features_of(written(f"bias\n{template}"), 1, row) == [
        template if value == template else f"{template}={value}" for value in found
    ]


def test_what_lies_between_is_taken_as_a_whole_up_to_six_words(written):
    name = written("bias\nword[between.all]\nword[between.first]")
    tokens = [f"w{k}" for k in range(10)]
    for end, found in ((7, "w1 w2 w3 w4 w5 w6"), (8, None), (1, "<none>")):
        features = SpanFeatureSet(name)
        encoded = features.fit(corpus(pos=False, spans=[(0, 1), (end, end + 1)], tokens=tokens))
        names = [features.describe(1, k) for k in encoded.pairs.features[: encoded.pairs.rows[1]].tolist()]
        assert ([] if found is None else [f"word[between.all]={found}"]) == [n for n in names if "all" in n]
        assert any("first" in n for n in names) == (end > 1)


def test_clusters_and_gazetteers_are_looked_up(tmp_path, written):
    (tmp_path / "brown").write_text("0110\tCole\t3\n111\tYork\t2\n")
    (tmp_path / "cities").write_text("New York City\nParis\n")
    lists = Lists.read(tmp_path / "brown", {"city": tmp_path / "cities"})
    name = written("cluster[last,3]\ngazetteer[every]\ngazetteer[first]\ngazetteer[head.every] order\ncluster[all,9]")
    assert features_of(name, 0, 0, lists=lists) == ["cluster[last,3]=011"]
    assert features_of(name, 0, 1, lists=lists) == [
        "gazetteer[every]=city-B", "gazetteer[every]=city-I", "gazetteer[first]=city-B",
    ]  # fmt: skip
    assert features_of(name, 1, 2, lists=lists) == [
        "gazetteer[head.every] order=city-B tail first", "gazetteer[head.every] order=city-I tail first",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("word[0]", r"line 1: found 'word\[0\]', expected something like word\[head.last\+1\], at first, last, every"),
        ("bias\nwurd[first]", r"line 2: found 'wurd\[first\]', expected one of bias, word, .*length, order, entities"),
        ("word[middle]", "expected something like"),
        ("word[every+1]", "expected something like"),
        ("word[between.first+1]", "expected something like"),
        ("word[pairs]", "expected something like"),
        ("word[head.pairs]", "expected something like"),
        ("word[sentence.first]", "expected something like"),
        ("word[around.all]", "expected something like"),
        ("gazetteer[all]", "expected something like"),
        ("prefix[first]", r"expected something like prefix\[head.last\+1,3\]"),
        ("word[first", "expected something like"),
        ("word[first]x", "expected something like"),
        ("order[first]", "order without brackets"),
        ("column[first,2]", "expected one of bias"),
        ("xpos[first]", "expected one of bias"),
        ("label", "expected one of bias"),
        ("word[every] pos[every]", "at most one atom with several values"),
        ("gazetteer[first] pos[between.pairs]", "at most one atom with several values"),
        ("word[first] order", "but not both on a line"),
        ("word[first] word[head.last]", "but not both on a line"),
        ("length distance", "but not both on a line"),
        ("word[first]\nword[first]", "every template once"),
        ("# nothing", r"expected one a line, such as word\[first\]"),
        ("word[first]", "found no template about pairs"),
        ("order", "found no template about one span"),
    ],
)
def test_mistakes_in_templates_are_told_with_their_line(written, text, message):
    with pytest.raises(InputError, match=rf"own\.txt.*{message}"):
        SpanFeatureSet(written(text)).fit(corpus())


def test_other_templates_know_nothing_of_spans():
    from marginloom import _core

    for scope in ("tokens", "arcs", "states"):
        for text in ("length", "pair", "word[first]"):
            with pytest.raises(ValueError, match="expected"):
                _core.numbered_templates(text, scope)
    with pytest.raises(ValueError, match="templates are not about words"):
        _core.numbered_templates("bias", "words")


def test_without_tags_the_named_set_reads_none():
    with_tags, without = SpanFeatureSet(), SpanFeatureSet()
    with_tags.fit(corpus())
    without.fit(corpus(pos=False))
    assert (with_tags.reads_pos, without.reads_pos) == (True, False)
    with pytest.raises(InputError, match=r"X: sentence 0: found no field 'pos', expected the tags of the 10 tokens"):
        with_tags.transform(corpus(pos=False))
    assert len(without.transform(corpus()).spans.features) > 0


def test_templates_that_read_tags_need_them(written):
    with pytest.raises(InputError, match="sentence 0: found no field 'pos'"):
        SpanFeatureSet(written("pos[first]\npair")).fit(corpus(pos=False))


@pytest.mark.parametrize("text", ["cluster[last,4]\npair", "gazetteer[first]\npair"])
def test_templates_that_need_lists_say_so(written, text):
    with pytest.raises(InputError, match=r"none (were|was) given"):
        SpanFeatureSet(written(text)).fit(corpus())


def test_lists_that_no_template_uses_are_warned_of(tmp_path, written):
    (tmp_path / "cities").write_text("Ulm\n")
    features = SpanFeatureSet(written("bias\npair"), lists=Lists.read(None, {"city": tmp_path / "cities"}))
    with pytest.warns(InputWarning, match=r"no template with gazetteer\[...\]"):
        features.fit(corpus())


@pytest.mark.parametrize("options", [{}, {"hash_bits": 9}])
def test_rows_are_the_same_for_any_number_of_threads(options):
    from marginloom import make_relations

    many = checked_sentences(make_relations(200))
    found = [SpanFeatureSet(n_threads=threads, **options).fit(many) for threads in (1, 2, 5)]
    for other in found[1:]:
        for kind in (1, 2):
            assert (other[kind].features == found[0][kind].features).all()
            assert (other[kind].rows == found[0][kind].rows).all()


def test_rare_features_can_be_left_out():
    every, frequent = SpanFeatureSet(), SpanFeatureSet(min_count=2)
    for features in (every, frequent):
        features.fit(corpus())
    assert 0 < frequent.counts["pairs"] < every.counts["pairs"]
    with pytest.raises(InputError, match="min_count=1000 leaves no feature"):
        SpanFeatureSet(min_count=1000).fit(corpus())
    with pytest.raises(InputError, match="with hash_bits no feature is counted"):
        SpanFeatureSet(min_count=2, hash_bits=5)


def test_there_is_no_other_set():
    with pytest.raises(InputError, match="there is no feature set 'arcs' for spans, nor a file of that name"):
        SpanFeatureSet("arcs")
