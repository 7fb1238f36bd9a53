"""FEATS in templates: as a whole and by name, in every scope, and what is said where it is not as it should be."""

import pytest
from support.program import fails, run

from marginloom import DependencyParser, InputError, RelationExtractor, SequenceTagger
from marginloom.tasks.parse.features import ArcFeatureSet

#: The case says which of two equal words is the subject; nothing else does.
WORDS = {"Nom": ("x", "N", "_", "Case=Nom|Number[psor]=Sing"), "Acc": ("x", "N", "_", "Case=Acc")}
VERB = ("v", "V", "_", "_")
COLUMNS = ("form", "upos", "xpos", "feats")


def sentence(*words):
    return [VERB if word == "v" else WORDS[word] for word in words]


X = [sentence("Nom", "v", "Acc"), sentence("Acc", "v", "Nom"), sentence("Nom", "Acc", "v")] * 3
LABELS = {"Nom": "nsubj", "Acc": "obj"}


def tree(words):
    verb = words.index(VERB) + 1
    cases = {row: LABELS[case] for case, row in WORDS.items()}
    return [(0, "root") if word == VERB else (verb, cases[word]) for word in words]


Y = [tree(words) for words in X]


@pytest.fixture
def own(tmp_path):
    def write(*lines):
        (tmp_path / "own.txt").write_text("\n".join(lines) + "\n")
        return str(tmp_path / "own.txt")

    return write


@pytest.mark.parametrize("atom", ["feats", "feats.Case"])
@pytest.mark.parametrize("stage", ["tree", "arc"])
def test_arcs_are_labelled_by_what_only_feats_says(own, atom, stage):
    templates = own("pos[h] pos[m]", f"label {atom}[m]")
    parser = DependencyParser(labelled=True, label_stage=stage, features=templates, hash_bits=12, C=10.0)
    assert parser.fit(X, Y).predict(X) == Y
    assert parser.columns_[-1] == ("upos" if stage == "tree" else "feats")
    templates = own("pos[h] pos[m]", "label word[m]")
    assert DependencyParser(labelled=True, features=templates, hash_bits=12, C=10.0).fit(X, Y).predict(X) != Y


@pytest.mark.parametrize("atom", ["feats", "feats.Number[psor]"])
def test_states_and_tokens_read_feats(own, atom):
    values = [
        ArcFeatureSet(own(f"{atom}[{place}]"), method=method, labelled=False, hash_bits=8).values(X[:1]).ravel()
        for method, place in (("graph", "m"), ("transition", "s0"))
    ]
    for found in values:
        assert found[0] not in (0, found[1], found[2])  # Nom, the verb, Acc
    tagger = SequenceTagger(features=own(f"{atom}[0]"), columns=COLUMNS, C=10.0)
    cases = [[word[3] == WORDS["Nom"][3] for word in words] for words in X]
    assert tagger.fit(X, [[str(case) for case in row] for row in cases]).score(
        X, [[str(case) for case in row] for row in cases]
    ) == pytest.approx(1.0)


def test_spans_read_feats(own):
    def example(words):
        tokens = [{"start": i, "end": i + 1, "type": word[3][5:8]} for i, word in enumerate(words) if word != VERB]
        names = {"tokens": [word[0] for word in words], "feats": [word[3] for word in words]}
        return {**names, "entities": tokens, "relations": []}

    examples = [example(words) for words in X]
    examples[0]["relations"] = [{"type": "r", "head": 0, "tail": 1}]
    extractor = RelationExtractor(features=own("feats.Case[first]", "order"), C=10.0).fit(examples)
    bare = [{"tokens": one["tokens"], "feats": one["feats"], "entities": one["entities"]} for one in examples]
    found = extractor.predict(bare)
    assert [[one["type"] for one in row["entities"]] for row in found] == [
        [one["type"] for one in row["entities"]] for row in examples
    ]
    with pytest.raises(InputError, match="found no field 'feats', expected the morphological features of the 3 tokens"):
        extractor.predict([{"tokens": row["tokens"], "entities": row["entities"]} for row in bare])


@pytest.mark.parametrize("cell", ["Case", "=Nom", "Case=", "Case=Nom|", "Case=Nom||Number=Sing"])
def test_a_cell_that_is_no_list_is_named_with_its_place(own, cell):
    parser = DependencyParser(features=own("pos[h] pos[m]", "feats.Case[m] pos[h]"), hash_bits=8)
    wrong = [*X[:1], [*X[1][:1], ("y", "N", "_", cell), *X[1][2:]]]
    with pytest.raises(InputError, match=r"sentence 1, word 2: found the FEATS .*, expected a list of name=value"):
        parser.fit(wrong, [[head for head, _ in row] for row in Y[:2]])
    fitted = parser.fit(X, [[head for head, _ in row] for row in Y])
    with pytest.raises(InputError, match="sentence 1, word 2: found the FEATS"):
        fitted.predict(wrong)


def conllu(rows, *, feats=True):
    lines = []
    for words, heads in rows:
        for i, (word, (head, label)) in enumerate(zip(words, heads, strict=True), 1):
            cells = [word[0], "_", word[1], word[2], word[3] if feats else "_", str(head), label, "_", "_"]
            lines.append("\t".join([str(i), *cells]))
        lines.append("")
    return "\n".join(lines) + "\n"


def test_files_say_what_is_wrong_with_feats(own, tmp_path):
    (tmp_path / "t.conllu").write_text(conllu(zip(X, Y, strict=True)))
    train = ("train", "parse", tmp_path / "t.conllu", "--model", tmp_path / "m", "--features")
    said = fails(*train, own("pos[h] pos[m]", "feats.Gender[m]"))
    assert "own.txt, line 2: the template 'feats.Gender[m]' reads Gender, which no word has in its FEATS" in said
    assert "name one of those that occur: Case, Number[psor]" in said
    (tmp_path / "wrong.conllu").write_text((tmp_path / "t.conllu").read_text().replace("Case=Acc", "Acc", 1))
    run(*train, own("pos[h] pos[m]", "feats.Case[m]"))
    assert "wrong.conllu, line 3: found the FEATS 'Acc'" in fails("predict", tmp_path / "m", tmp_path / "wrong.conllu")
    (tmp_path / "none.conllup").write_text(
        "# global.columns = ID FORM UPOS HEAD DEPREL\n1\tx\tN\t2\tnsubj\n2\tv\tV\t0\troot\n\n"
    )
    said = fails("predict", tmp_path / "m", tmp_path / "none.conllup")
    assert "expected FEATS among them (the template 'feats.Case[m]' of " in said
    (tmp_path / "empty.conllu").write_text(conllu(zip(X, Y, strict=True), feats=False))
    assert (
        "no word has its feats, which the parser reads"
        in run("predict", tmp_path / "m", tmp_path / "empty.conllu").stderr
    )


def test_columns_that_tell_words_apart_are_read_unless_they_are_declined():
    heads = [[head for head, _ in row] for row in Y]

    def columns(**options):
        return DependencyParser(hash_bits=10, max_iter=2, tol=0.5, **options).fit(X, heads).columns_

    assert columns() == ("form", "upos", "feats")  # xpos is the same for all words
    assert columns(feats=False) == ("form", "upos")
    assert columns(features="arcs") == ("form", "upos")  # which has no template of feats
    varied = [[(form, upos, upos, feats) for form, upos, _, feats in words] for words in X]
    found = DependencyParser(hash_bits=10, max_iter=2, tol=0.5).fit(varied, heads)
    assert set(found.columns_) == set(COLUMNS)
    assert not {"xpos", "feats"} & set(
        DependencyParser(hash_bits=10, max_iter=2, tol=0.5, xpos=False, feats=False).fit(varied, heads).columns_
    )
