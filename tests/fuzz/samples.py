"""Good models, checkpoints and files, which the cases damage."""

from __future__ import annotations

import dataclasses
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

from marginloom import (
    Checkpoint,
    DependencyParser,
    EarlyStopping,
    MulticlassClassifier,
    MultilabelClassifier,
    ObjectDetector,
    RelationExtractor,
    SequenceTagger,
    make_relations,
    make_tagging,
    make_treebank,
    write_conllu,
    write_crfsuite,
    write_detections,
    write_libsvm,
    write_relations,
)
from marginloom.cli import run
from marginloom.tasks.sequence.datasets import write_conll

WORDS, TAGS = make_tagging(12, seed=0)
# Lists all the way down, so that every part of them is changed at times.
TREE_WORDS, TREES = ([[list(part) for part in whole] for whole in wholes] for wholes in make_treebank(8, seed=0))
HEADS = [[head for head, _ in tree] for tree in TREES]
NAMED = [[{"word": word, "length": len(word) / 4} for word in sentence] for sentence in WORDS]
_NUMBERS = np.random.default_rng(0)
ROWS = np.round(_NUMBERS.normal(size=(14, 5)), 2)
CLASSES = np.array([3, 5, 9])[_NUMBERS.integers(3, size=14)]
SETS = [[name for name, there in zip("abcd", row, strict=True) if there] for row in ROWS[:, :4] > 0.2]
IMAGES = np.round(_NUMBERS.random((6, 7, 8)), 2)
OBJECTS = [(["cat", "dog"][i % 2], (i % 3, i % 4, 3, 4) if i % 2 else (i % 3, 1, 2, 2)) for i in range(6)]

# Lists all the way down here too.
SENTENCES = make_relations(10, seed=0)
GOLD = [{name: one[name] for name in ("entities", "relations")} for one in SENTENCES]

_FOR_TAGGING = [
    "dcd-ssvm", "ms-dcd", "demi-dcd", "cpd", "n-slack", "one-slack", "bcfw", "fsmo", "fastssvm", "averaged-perceptron",
    "mira", "kbest-mira", "passive-aggressive", "sgd", "minibatch-mira", "ipm", "subsample",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Sample:
    """An estimator with what it is trained on; its model and checkpoint are among the files."""

    name: str
    make: Callable[[], Any]
    X: Any
    y: Any
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    stops_early: bool = False
    calibrated: bool = False

    def fit(self, estimator=None, **options):
        """Train an estimator, or a new one."""
        estimator = self.make() if estimator is None else estimator
        if self.stops_early:
            evaluated = (self.X, self.y) if not self.options else (self.X, self.y, *self.options.values())
            options |= {"eval_set": evaluated, "callbacks": [EarlyStopping(2)]}
        estimator.fit(self.X, self.y, **self.options, **options)
        return self.calibrate(estimator) if self.calibrated else estimator

    def calibrate(self, estimator):
        """Calibrate on the training examples, where the model has probabilities."""
        return estimator.calibrate(self.X, self.y, **self.options)


def _tagger(algorithm="dcd-ssvm", **options):
    threads = 2 if algorithm in ("ms-dcd", "demi-dcd") else 1
    return lambda: SequenceTagger(
        algorithm, **{"features": "words", "max_iter": 3, "n_threads": threads, "warm_start": True, **options}
    )


def _classifier(algorithm="dcd-ssvm", **options):
    return lambda: MulticlassClassifier(algorithm, max_iter=3, warm_start=True, **options)


def _multilabel(algorithm="dcd-ssvm", **options):
    return lambda: MultilabelClassifier(algorithm, max_iter=3, warm_start=True, **options)


def _detector(algorithm="dcd-ssvm", **options):
    return lambda: ObjectDetector(algorithm, max_iter=3, warm_start=True, **options)


def _parser(algorithm="dcd-ssvm", **options):
    return lambda: DependencyParser(algorithm, **{"max_iter": 3, "warm_start": True, "hash_bits": 8, **options})


def _extractor(algorithm="dcd-ssvm", **options):
    return lambda: RelationExtractor(algorithm, **{"max_iter": 3, "warm_start": True, **options})


SAMPLES = [
    *(Sample(f"tag {name}", _tagger(name), WORDS, TAGS) for name in _FOR_TAGGING),
    Sample("tag early", _tagger("averaged-perceptron", max_iter=6), WORDS, TAGS, stops_early=True),
    Sample("tag tagging", _tagger(features="tagging", start_end=True), WORDS, TAGS),
    Sample("tag order 2", _tagger(order=2), WORDS, TAGS),
    Sample("tag calibrated", _tagger(), WORDS, TAGS, calibrated=True),
    Sample("tag order 2 calibrated", _tagger(order=2), WORDS, TAGS, calibrated=True),
    Sample("tag beam", _tagger("minibatch-mira", beam=3, update="early"), WORDS, TAGS),
    Sample("tag hashed", _tagger(features="tagging", hash_bits=6), WORDS, TAGS),
    Sample("tag named", _tagger("sgd", features=None), NAMED, TAGS),
    Sample("tag matrix", _tagger(features=None), ROWS, CLASSES, {"lengths": [4, 10]}),
    Sample("tag constrained", _tagger(constraints=[("ADJ", "ADJ")], features="words"), WORDS, TAGS),
    Sample("classify numbers", _classifier(), ROWS, CLASSES),
    Sample("classify sparse", _classifier("bcfw"), sparse.csr_matrix(ROWS), CLASSES.astype(str)),
    Sample("classify costs", _classifier(cost_matrix=2 * (1 - np.eye(3))), ROWS, CLASSES),
    Sample("classify mira", _classifier("mira"), ROWS, CLASSES),
    Sample("classify calibrated", _classifier(), ROWS, CLASSES, calibrated=True),
    Sample("classify one-slack", _classifier("one-slack"), ROWS, CLASSES),
    Sample("classify early", _classifier("fsmo"), ROWS, CLASSES, stops_early=True),
    Sample("multilabel lists", _multilabel(), ROWS, SETS),
    Sample("multilabel calibrated", _multilabel(), ROWS, SETS, calibrated=True),
    Sample("multilabel tree", _multilabel(interactions="tree"), ROWS, SETS),
    Sample("multilabel full", _multilabel("averaged-perceptron", interactions="full"), ROWS, (ROWS[:, :4] > 0.2) * 1),
    Sample("multilabel bcfw", _multilabel("bcfw", label_costs={"a": 2.0}), sparse.csr_matrix(ROWS), SETS),
    Sample("multilabel binary", _multilabel("label-dcd"), ROWS, SETS),
    Sample("multilabel hinge", _multilabel("label-dcd", loss="hinge"), sparse.csr_matrix(ROWS), SETS),
    Sample("detect", _detector(), IMAGES, OBJECTS),
    Sample("detect calibrated", _detector(), IMAGES, OBJECTS, calibrated=True),
    Sample("detect perceptron", _detector("averaged-perceptron", fit_intercept=True), IMAGES, OBJECTS),
    Sample("parse", _parser(), TREE_WORDS, HEADS),
    Sample("parse labelled", _parser(labelled=True, xpos=True), TREE_WORDS, TREES),
    Sample("parse calibrated", _parser(labelled=True), TREE_WORDS, TREES, calibrated=True),
    Sample("parse vocabulary", _parser("bcfw", labelled=True, order=2, hash_bits=None), TREE_WORDS, TREES),
    Sample(
        "parse any", _parser("averaged-perceptron", projective=False, min_count=2, hash_bits=None), TREE_WORDS, TREES
    ),
    Sample("parse inexact", _parser(order=2, projective=False, roots="many"), TREE_WORDS, HEADS),
    Sample("relations", _extractor(missed_relation_loss=2.0), SENTENCES, GOLD),
    Sample("relations calibrated", _extractor(), SENTENCES, GOLD, calibrated=True),
    Sample("relations hashed", _extractor("bcfw", hash_bits=8, type_constraints="predict"), SENTENCES, GOLD),
    Sample("relations mira", _extractor("mira", min_count=2, type_constraints="none"), SENTENCES, GOLD),
    Sample("relations early", _extractor(node_limit=5), SENTENCES, GOLD, stops_early=True),
    Sample("parse transition", _parser("minibatch-mira", method="transition", beam=4, hash_bits=10), TREE_WORDS, HEADS),
    Sample(
        "parse transition labels",
        _parser("averaged-perceptron", method="transition", labelled=True, merging=False, hash_bits=None),
        TREE_WORDS,
        TREES,
    ),
    Sample("parse early", _parser(labelled=True, feature_cache="1M"), TREE_WORDS, TREES, stops_early=True),
]
BY_NAME = {sample.name: sample for sample in SAMPLES}

#: Arguments of `marginloom train`: the files by their roles, and options that keep it short.
PROGRAMS = {
    "conll": ["tag", "train.conll", "--dev", "dev.conll", "--patience", "3", "--features", "tagging"],
    "conllu": ["tag", "train.conllu", "--dev", "dev.conllu", "--features", "words"],
    "crfsuite": ["tag", "train.crfsuite", "--dev", "dev.crfsuite"],
    "templates": [
        "tag",
        "train.conll",
        "--features",
        "set.txt",
        "--clusters",
        "brown.txt",
        "--gazetteer",
        "g=names.txt",
    ],
    "beam": [
        *("tag", "train.conll", "--dev", "dev.conll", "--features", "longer.txt", "--constraints", "none"),
        *("--beam", "3", "--update", "standard", "--algorithm", "minibatch-perceptron"),
    ],
    "crfpp": ["tag", "train.conll", "--features", "set.crfpp"],
    "classify": ["classify", "train.svm", "--dev", "dev.svm"],
    "multilabel": ["multilabel", "train.sets", "--dev", "dev.sets"],
    "detect": ["detect", "train.npz", "--dev", "dev.npz"],
    "trees": ["parse", "train.trees", "--dev", "dev.trees", "--labelled", "--hash-bits", "8"],
    "conllx": ["parse", "train.conllx", "--dev", "dev.conllx", "--xpos", "--hash-bits", "8", "--invalid-gold", "skip"],
    "relations": ["relations", "train.relations", "--dev", "dev.relations", "--relation-types", "types.txt"],
    "spans": [
        "relations",
        "train.relations",
        "--features",
        "spans.txt",
        "--clusters",
        "brown.txt",
        "--gazetteer",
        "g=names.txt",
        "--hash-bits",
        "8",
        "--invalid-gold",
        "repair",
    ],
    "states": [
        *("parse", "train.trees", "--dev", "dev.trees", "--features", "states.txt", "--labelled", "--hash-bits", "0"),
        *("--method", "transition", "--beam", "3", "--update", "early", "--algorithm", "mira"),
    ],
    "arcs": [
        "parse",
        "train.trees",
        "--dev",
        "dev.trees",
        "--features",
        "arcs.txt",
        "--clusters",
        "brown.txt",
        "--gazetteer",
        "g=names.txt",
        "--labelled",
        "--order",
        "2",
        "--non-projective",
        "--hash-bits",
        "0",
    ],
}
TEMPLATES = """bias
word[0]
lower[-1] word[0]
prefix[0,2]
suffix[0,3]
shape[0]
shortshape[1]
cluster[0,4]
gazetteer[0]
label[-1] word[0]
label[-1] gazetteer[0] shape[0]
"""
LONGER_TEMPLATES = "word[0]\nlabel[-2] label[-1] word[0]\nlabel[-2] suffix[0,2]\n"
CRFPP_TEMPLATES = """# of CRF++
U00:%x[-1,0]/%x[0,0]
U01:%x[0,0]

B
B01:%x[0,0]
"""
ARC_TEMPLATES = """bias
pos[h] pos[m] direction distance
word[m-1] lower[h+1]
pos[h] pos[b] pos[m]
cluster[m,4] gazetteer[m]
prefix[m,2] shape[h]
column[m,5]
pos[h] pos[s] pos[m]
label word[m]
label pos[h] direction
"""
STATE_TEMPLATES = """bias
pos[s0] pos[s1] distance
word[s0] lower[q0]
pos[s1] pos[s1.r] pos[s0.l2]
prefix[q1,2] shape[s2]
pos[s0] valency[s0.l]
label word[m]
label pos[h] direction
"""


SPAN_TEMPLATES = """bias
word[first]
word[last+1] lower[first-1]
suffix[every,2]
pos[all] length
shape[around.every]
cluster[last,4]
gazetteer[every]
pair
order distance entities
lower[between.every] order
pos[between.pairs]
word[between.all]
prefix[head.last,2] word[tail.first]
word[left.first-1] shortshape[right.last+1]
word[sentence.every] pair
"""


def build(folder):
    """Write all files into a folder."""
    folder = Path(folder)
    build_inputs(folder)
    with mock.patch.object(Checkpoint, "remove"):  # the last one stays when the run has ended
        for sample in SAMPLES:
            checkpoint = Checkpoint(folder / f"{sample.name} checkpoint", interval=0)
            sample.fit(checkpoint=checkpoint).save(folder / f"{sample.name}.model")
            assert checkpoint.exists(), sample.name
        for name in PROGRAMS:
            code = run([*train_arguments(name, folder), "--model", str(folder / f"program {name}.model")])
            assert code == 0, name


def train_arguments(name, folder, damaged=None):
    """Return the command line that trains on files in the folder; `damaged` maps names of files to others."""
    files = {path.name for path in Path(folder).iterdir()}
    arguments = ["train"]
    for word in PROGRAMS[name]:
        prefix, equals, last = word.rpartition("=")
        given = (damaged or {}).get(last) or (str(Path(folder, last)) if last in files else None)
        arguments.append(word if given is None else f"{prefix}{equals}{given}")
    checkpoint = str(Path(folder, f"program {name} checkpoint"))
    return [*arguments, "--max-iter", "3", "--quiet", "--save-state", *_checkpoint(checkpoint)]


def _checkpoint(folder):
    return ["--checkpoint", folder, "--checkpoint-interval", "0"]


def build_inputs(folder):
    """Write the files that `PROGRAMS` name."""
    for part, seed in (("train", 0), ("dev", 1)):
        words, tags = make_tagging(12, seed=seed)
        write_conll(folder / f"{part}.conll", words, tags)
        (folder / f"{part}.conllu").write_text(_conllu(words, tags), encoding="utf-8")
        sentences, trees = make_treebank(10, seed=seed, nonprojective=0.3)
        write_conllu(folder / f"{part}.trees", sentences, trees)
        text = (folder / f"{part}.trees").read_text()
        (folder / f"{part}.conllx").write_text(text)
        (folder / f"{part}.trees").write_text(f"# text = x\n1-2\tal{8 * f'{chr(9)}_'}\n{text}")
        attributes = [[{"w": word, "bias": 1.0, "size": len(word) / 3} for word in sentence] for sentence in words]
        write_crfsuite(folder / f"{part}.crfsuite", attributes, tags)
        write_libsvm(folder / f"{part}.svm", ROWS, CLASSES.tolist())
        write_libsvm(folder / f"{part}.sets", ROWS, SETS)
        write_relations(folder / f"{part}.relations", [{**one, "id": 7} for one in make_relations(40, seed=seed)])
        labels, boxes = zip(*OBJECTS, strict=True)
        write_detections(folder / f"{part}.npz", IMAGES, list(labels), list(boxes))
    (folder / "set.txt").write_text(TEMPLATES)
    (folder / "longer.txt").write_text(LONGER_TEMPLATES)
    (folder / "set.crfpp").write_text(CRFPP_TEMPLATES)
    (folder / "arcs.txt").write_text(ARC_TEMPLATES)
    (folder / "spans.txt").write_text(SPAN_TEMPLATES)
    (folder / "types.txt").write_text(
        "# RELATION HEAD TAIL\nLive_In Peop Loc\nWork_For\tPeop\tOrg\nOrgBased_In Org Loc\nLocated_In Loc Loc\n"
        "Kill Peop Peop\n"
    )
    (folder / "states.txt").write_text(STATE_TEMPLATES)
    words = sorted({word for sentence in WORDS for word in sentence})
    (folder / "brown.txt").write_text("".join(f"{n:b}\t{word}\t{n}\n" for n, word in enumerate(words, 1)))
    (folder / "names.txt").write_text("\n".join(" ".join(sentence[:2]) for sentence in WORDS) + "\n")


def _conllu(words, tags):
    from support.program import conllu

    return conllu(words, tags, comments=True)


COMPRESSORS = {".gz": gzip.compress, ".xz": lzma.compress}
