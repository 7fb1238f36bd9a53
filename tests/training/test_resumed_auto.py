"""A run of auto goes on with what it had chosen, and every run with other threads, as the pages say."""

import signal
import time

import numpy as np
import pytest
from support.killing import KillAfter, Killed
from support.pairs import CASES, for_labels, racing
from support.program import TIMEOUT, run, start

from marginloom import (
    Checkpoint,
    InputError,
    ModelFileError,
    MulticlassClassifier,
    MultilabelClassifier,
    SequenceTagger,
    make_tagging,
)
from marginloom.algorithms import ALGORITHMS
from marginloom.engines import ENGINES
from marginloom.io.model import CHECKPOINT, load_model, save_model
from marginloom.tasks.sequence.datasets import write_conll
from marginloom.training.checkpoint import FILE_NAME, Snapshot

WORDS, TAGS = make_tagging(60, seed=0)
#: What auto takes for tags, by threads and whether the same bits are asked for.
CHOICES = {(1, False): "dcd-ssvm", (2, False): "shared-dcd", (2, True): "dcd-ssvm", (9, True): "ms-dcd"}


def tagger(threads=1, reproducible=False, **options):
    return SequenceTagger(
        **{
            "features": "words",
            "tol": 1e-9,
            "max_iter": 6,
            "n_threads": threads,
            "reproducible": reproducible,
            **options,
        }
    )


def killed(folder, estimator, X=WORDS, y=TAGS):
    """Cut a run off after its third pass."""
    with pytest.raises(Killed):
        estimator.fit(X, y, callbacks=[KillAfter(3)], checkpoint=Checkpoint(folder, interval=0))


def resumed(folder, estimator, X=WORDS, y=TAGS):
    return estimator.fit(X, y, checkpoint=folder, resume=True)


@pytest.mark.parametrize("after", CHOICES)
@pytest.mark.parametrize("before", CHOICES)
def test_it_goes_on_with_what_was_chosen_on_other_threads(tmp_path, before, after):
    assert tagger(*before).fit(WORDS, TAGS).algorithm_ == CHOICES[before]
    killed(tmp_path / "run", tagger(*before))
    if CHOICES[before] in racing(after[0]) and after[1]:  # that cannot be kept, whatever is chosen
        with pytest.raises(InputError, match="the engine shared does not give the same bits"):
            resumed(tmp_path / "run", tagger(*after))
        return
    rest = resumed(tmp_path / "run", tagger(*after))
    assert rest.algorithm_ == CHOICES[before]
    assert rest.n_iter_ == 6
    if CHOICES[before] not in racing(before[0]):
        assert np.array_equal(rest.model_.weights, tagger(*before).fit(WORDS, TAGS).model_.weights)


def test_what_was_given_with_auto_must_be_as_it_was(tmp_path):
    given = {"learner": {"inner_passes": 1}, "engine": "master-worker"}
    killed(tmp_path / "run", tagger(**given))
    with pytest.raises(InputError, match=r"learner inner_passes = 1, and now it is 5"):
        resumed(tmp_path / "run", tagger(2, engine="master-worker"))
    with pytest.raises(InputError, match=r"engine name = master-worker, and now it is serial"):
        resumed(tmp_path / "run", tagger(2, learner={"inner_passes": 1}))
    assert resumed(tmp_path / "run", tagger(2, **given)).algorithm_ == "dcd-ssvm"


def test_a_named_run_is_not_one_of_auto(tmp_path):
    killed(tmp_path / "run", tagger(algorithm="dcd-light"))
    with pytest.raises(InputError, match="algorithm = dcd-light, and now it is dcd-ssvm"):
        resumed(tmp_path / "run", tagger())


def wide():
    """Make classes that auto trains on the engine pipelined from eight threads on."""
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 200))
    return X, X[:, :5].argmax(axis=1)


def test_an_engine_that_was_chosen_needs_its_threads_still(tmp_path):
    X, y = wide()

    def classifier(threads):
        return MulticlassClassifier(tol=1e-9, max_iter=6, n_threads=threads)

    killed(tmp_path / "run", classifier(8), X, y)
    with pytest.raises(InputError, match=r"^the engine pipelined needs at least 3 threads, and 1 was given"):
        resumed(tmp_path / "run", classifier(1), X, y)
    rest = resumed(tmp_path / "run", classifier(3), X, y)
    assert rest.model_.settings["engine"]["name"] == "pipelined"
    assert classifier(3).fit(X, y).model_.settings["engine"]["name"] == "serial"


def rewritten(folder, change):
    header, tensors = load_model(folder / FILE_NAME, CHECKPOINT)
    save_model(folder / FILE_NAME, CHECKPOINT, change(header), tensors)


def test_a_checkpoint_of_an_earlier_version_leaves_the_choice_to_the_rule(tmp_path):
    killed(tmp_path / "run", tagger(2))
    rewritten(tmp_path / "run", lambda header: {name: header[name] for name in header if name != "choice"})
    with pytest.raises(InputError, match="algorithm = shared-dcd, and now it is dcd-ssvm"):
        resumed(tmp_path / "run", tagger(1))
    assert resumed(tmp_path / "run", tagger(2)).algorithm_ == "shared-dcd"


@pytest.mark.parametrize(
    "change",
    [
        {"algorithm": "no-such"},
        {"algorithm": 3},
        {"reason": None},
        {"learner": [1]},
        {"engine": "mixing"},
        {"engine": 5},
        {"max_iter": "many"},
        {"unknown": 1},
    ],
)
def test_a_choice_that_cannot_be_is_a_damaged_checkpoint(tmp_path, change):
    killed(tmp_path / "run", tagger(2))
    rewritten(tmp_path / "run", lambda header: {**header, "choice": {**header["choice"], **change}})
    with pytest.raises(ModelFileError, match="do not fit together"):
        resumed(tmp_path / "run", tagger(2))


def test_the_command_line_says_that_it_goes_on_with_its_choice(tmp_path):
    write_conll(tmp_path / "train.conll", WORDS, TAGS)
    folder, endless = tmp_path / "run", ("--max-iter", "1000000000", "--tol", "1e-300")
    arguments = ("train", "tag", tmp_path / "train.conll", "--model", tmp_path / "m", "--features", "words")
    process = start(*arguments, *endless, "--threads", "2", "--checkpoint", folder, "--checkpoint-interval", "0")
    deadline = time.monotonic() + TIMEOUT
    try:
        while not (folder / FILE_NAME).exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    passes = str(Snapshot.load(folder / FILE_NAME).progress["iteration"] + 2)
    rest = run(*arguments, "--max-iter", passes, "--tol", "1e-300", "--checkpoint", folder, "--resume")
    assert "auto chose shared-dcd (2 threads; chosen before the checkpoint)\n" in rest.stderr


def other_threads(name, engine, before, after, folder, **options):
    """Cut a run off on so many threads, and go on with others; return both, the first not cut off."""
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 5))
    y = X[:, :4].argmax(axis=1)
    make = MulticlassClassifier
    if for_labels(name):
        make, y = MultilabelClassifier, np.eye(4, dtype=np.uint8)[y]
    lost = {parameter.name: parameter.neutral for parameter in ENGINES[engine].loses(ALGORITHMS[name].learner)}
    tol = {"tol": 1e-12} if "tol" in ALGORITHMS[name].common else {}

    def estimator(threads):
        return make(name, engine={"name": engine, **options}, learner=lost, max_iter=5, n_threads=threads, **tol)

    killed(folder, estimator(before), X, y)
    return estimator(before).fit(X, y), resumed(folder, estimator(after), X, y)


@pytest.mark.parametrize(("name", "engine"), [*CASES, ("shrinking-dcd", "pipelined")])
@pytest.mark.parametrize("more", [True, False])
def test_threads_may_change_on_every_engine(tmp_path, name, engine, more):
    shards = {"shards": 3} if engine == "mixing" else {}
    fewest = max(2, ENGINES[engine]().least_threads())
    before, after = (fewest, fewest + 2) if more else (fewest + 2, fewest)
    whole, rest = other_threads(name, engine, before, after, tmp_path / "run", **shards)
    assert rest.n_iter_ == whole.n_iter_
    if ENGINES[engine]().gives_same_bits(after) and engine != "pipelined":
        assert np.array_equal(rest.coef_, whole.coef_)


@pytest.mark.parametrize("name", ["ipm", "parameter-mixing"])
def test_shards_that_were_not_given_are_those_of_the_threads_and_can_be_given(tmp_path, name):
    with pytest.raises(InputError, match=r"engine shards = 4, and now it is 2; resume with the same settings"):
        other_threads(name, "mixing", 4, 2, tmp_path / "run")
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 5))
    y = X[:, :4].argmax(axis=1)
    rest = resumed(tmp_path / "run", MulticlassClassifier(name, engine={"shards": 4}, max_iter=5, n_threads=2), X, y)
    assert rest.n_iter_ == 5


def test_auto_keeps_to_the_learner_of_the_state_that_it_starts_from():
    X, y = wide()
    classifier = MulticlassClassifier("newton", warm_start=True).fit(X, y)
    assert MulticlassClassifier().fit(X, y).algorithm_ != "newton"
    classifier.set_params(algorithm="auto").fit(X, y)
    assert classifier.algorithm_ == "newton"
    assert classifier.certificate_.gap <= 0.01


def test_auto_asks_for_the_algorithm_of_a_state_without_duals():
    X, y = wide()
    classifier = MulticlassClassifier("averaged-perceptron", warm_start=True).fit(X, y)
    said = r"^the state to start from is one of the learner perceptron, .*; name the algorithm that the state is of"
    with pytest.raises(InputError, match=said) as caught:
        classifier.set_params(algorithm="auto").fit(X, y)
    assert "dcd" not in str(caught.value)
    assert classifier.set_params(algorithm="averaged-perceptron").fit(X, y).n_iter_ == 10


@pytest.mark.parametrize("algorithm", [name for name, preset in ALGORITHMS.items() if preset.learner.has_dual()])
def test_auto_goes_on_from_the_duals_of_every_learner(algorithm):
    X, y = wide()
    X = X[:, :30]
    make = MulticlassClassifier
    if for_labels(algorithm):
        make, y = MultilabelClassifier, np.eye(5, dtype=np.uint8)[y]
    estimator = make(algorithm, warm_start=True, n_threads=2, max_iter=3).fit(X, y)
    estimator.set_params(algorithm="auto").fit(X, y)
    assert ALGORITHMS[estimator.algorithm_].learner.name == ALGORITHMS[algorithm].learner.name
