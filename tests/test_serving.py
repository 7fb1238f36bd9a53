"""Models in other programs: plain words to trees, the web service of docs/serving.md, and spaCy."""

import http.client
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from support.places import ROOT
from support.program import QUICK_PARSER, fails, run

import marginloom
from marginloom import DependencyParser, InputError, SequenceTagger, make_tagging, write_conllu
from marginloom.tasks.parse.datasets import make_treebank

LIMIT = 120


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a tagger and a parser of generated sentences, and one that tags spans."""
    folder = tmp_path_factory.mktemp("serving")
    X, y = make_treebank(60, seed=0)
    write_conllu(folder / "train.conllu", X, y)
    run("train", "tag", folder / "train.conllu", "-o", folder / "tagger", "--features", "words", "--tol", "0.5")
    run("train", "parse", folder / "train.conllu", "-o", folder / "parser", "--labelled", "--no-xpos", *QUICK_PARSER)
    SequenceTagger(features="words", tol=0.5).fit([["Ann", "ran"]] * 4, [["B-PER", "O"]] * 4).save(folder / "entities")
    return folder


def test_plain_words_are_tagged_and_parsed_in_one_step(models):
    tagger, parser = marginloom.load(models / "tagger"), marginloom.load(models / "parser")
    X = [[word for word, *_ in sentence] for sentence in make_treebank(3, seed=1)[0]]
    tags = tagger.predict(X)
    rows = [list(zip(words, own, strict=True)) for words, own in zip(X, tags, strict=True)]
    expected = parser.predict(rows)
    assert parser.predict(X, tagger=tagger) == expected
    text = "\n".join(" ".join(words) for words in X).encode() + b"\n"
    said = run("predict", models / "parser", "-", "--tagger", models / "tagger", "--format", "text", stdin=text).stdout
    lines = [line.split("\t") for line in said.split("\n") if line and not line.startswith("#")]
    assert [cells[3] for cells in lines] == [tag for own in tags for tag in own]
    assert [(int(cells[6]), cells[7]) for cells in lines] == [arc for tree in expected for arc in tree]


def test_what_a_tagger_cannot_give_is_rejected(models):
    tagger = marginloom.load(models / "tagger")
    X, y = make_treebank(10, seed=0)
    both = DependencyParser(xpos=True, hash_bits=10, max_iter=1).fit(X, y)
    with pytest.raises(InputError, match="reads the column xpos"):
        both.predict([["a"]], tagger=tagger)
    with pytest.raises(InputError, match="give a fitted SequenceTagger"):
        both.predict([["a"]], tagger=both)
    (models / "x.conllx").write_text("1\ta\t_\tX\tX\t_\t0\troot\t_\t_\n\n")
    assert "conllx" in fails("predict", models / "parser", models / "x.conllx", "--tagger", models / "tagger")


def test_the_web_service_of_the_page_answers_over_http(models, tmp_path):
    (program,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs/serving.md").read_text(encoding="utf-8"), re.S)
        if "serve_forever" in block
    ]
    assert len([line for line in program.splitlines() if line.strip()]) <= 36
    (tmp_path / "service.py").write_text(program)
    tagger = (
        SequenceTagger(features="words", tol=0.5).fit(*make_tagging(60, seed=0)).calibrate(*make_tagging(40, seed=1))
    )
    tagger.save(tmp_path / "model")
    command = [sys.executable, tmp_path / "service.py", tmp_path / "model", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as service:
        try:
            port = int(service.stdout.readline())
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)
            sentences = make_tagging(3, seed=2)[0]

            def ask(body):
                connection.request("POST", "/", body)
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read())

            status, found = ask(json.dumps({"sentences": sentences}))
            assert status == 200
            assert found["labels"] == [list(labels) for labels in tagger.predict(sentences)]
            for own, p in zip(found["confidence"], tagger.predict_proba(sentences), strict=True):
                np.testing.assert_allclose(own, p.max(axis=1))
            assert ask(b"{}")[0] == ask(b"not JSON")[0] == 400
        finally:
            service.kill()


def test_spacy_pipelines_have_the_component(models):
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("marginloom", config={name: str(models / name) for name in ("tagger", "parser", "entities")})
    tagger, parser = marginloom.load(models / "tagger"), marginloom.load(models / "parser")
    doc = nlp("Ann ran")
    words = [["Ann", "ran"]]
    assert [token.tag_ for token in doc] == tagger.predict(words)[0]
    tree = parser.predict(words, tagger=tagger)[0]
    assert [0 if token.head == token else token.head.i + 1 for token in doc] == [head for head, _ in tree]
    assert [(span.text, span.label_) for span in doc.ents] == [("Ann", "PER")]
    assert [len(found) for found in nlp.pipe(["Ann ran", "", "Ann"])] == [2, 0, 1]


def test_a_component_with_nothing_to_do_is_rejected():
    from marginloom.spacy_component import MarginloomComponent

    with pytest.raises(InputError, match="nothing to do"):
        MarginloomComponent()
    with pytest.raises(InputError, match="name a tagger too"):
        MarginloomComponent(parser="parser")
