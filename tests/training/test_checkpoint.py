"""A run that is cut off anywhere goes on from its checkpoint to the same bits, and never from another run's."""

import copy
import itertools
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from safetensors.numpy import save_file
from support.chain_tasks import make_task
from support.killing import KillAfter, Killed
from support.oracles import TinyChains
from support.pairs import with_effect

from marginloom import (
    Callback,
    Checkpoint,
    EarlyStopping,
    InputError,
    ModelFileError,
    SequenceTagger,
    State,
    make_tagging,
    train,
)
from marginloom.io.model import CHECKPOINT, load_model, save_model
from marginloom.training.checkpoint import LOCK_NAME, Snapshot

WORDS, TAGS = make_tagging(80, seed=0)
DEV = make_tagging(40, seed=1)
OTHER = make_tagging(40, seed=2)
NAME = "checkpoint.safetensors"
LABELS = sorted({label for labels in TAGS for label in labels})
UNSEEN_PAIR = min(
    set(itertools.product(LABELS, LABELS)) - {pair for labels in TAGS for pair in itertools.pairwise(labels)}
)


def tagger(algorithm="dcd-ssvm", **parameters):
    options = {"features": "words", "tol": 0.05, "max_iter": 40 if algorithm.startswith("dcd") else 6, **parameters}
    return SequenceTagger(algorithm, **with_effect(algorithm, options))


def fit(estimator, **options):
    return estimator.fit(WORDS, TAGS, **options)


def killed(folder, iteration, estimator=None, callbacks=(), **options):
    """Cut a run off after some pass; its checkpoint is of the pass before."""
    with pytest.raises(Killed):
        fit(
            estimator or tagger(),
            callbacks=[*callbacks, KillAfter(iteration)],
            checkpoint=Checkpoint(folder, interval=0),
            **options,
        )


def without_times(rows):
    rows = copy.deepcopy(rows)
    for row in rows:
        del row["seconds"], row["threads"], row["working_set_mb"]
    return rows


def is_same(one, other, folder):
    one.save(folder / "one")
    other.save(folder / "other")
    assert (folder / "one").read_bytes() == (folder / "other").read_bytes()
    assert without_times(one.history_) == without_times(other.history_)
    assert (one.n_iter_, one.stopped_, one.certificate_) == (other.n_iter_, other.stopped_, other.certificate_)


@pytest.mark.parametrize(
    ("algorithm", "parameters", "certificates"),
    [
        ("dcd-ssvm", {}, 1),
        ("dcd-light", {"C": 0.1, "tol": 0.15}, 2),
        ("dcd-ssvm", {"loss": "hinge"}, 1),
        ("cpd", {"max_iter": 40}, 1),
        ("n-slack", {}, 1),
        ("one-slack", {"max_iter": 40}, 1),
        ("bcfw", {"learner": {"averaged": True, "inner_passes": 2}}, 1),
        ("fsmo", {}, 1),
        ("perceptron", {}, 0),
        ("averaged-perceptron", {}, 0),
        ("kbest-mira", {}, 0),
        ("passive-aggressive", {}, 0),
        ("sgd", {"C": 0.01, "learner": {"averaged": True}}, 0),
        ("minibatch-perceptron", {"n_threads": 2}, 0),
        ("minibatch-mira", {"engine": {"batch_size": 5}, "n_threads": 2}, 0),
        ("ipm", {"engine": {"shards": 3}, "n_threads": 2}, 0),
        ("ipm-mira", {"engine": {"shards": 3, "inner_epochs": 2, "mixing": "errors"}}, 0),
        ("parameter-mixing", {"engine": {"shards": 7}, "n_threads": 2}, 0),
        ("subsample", {}, 0),
    ],
)
def test_a_run_cut_off_after_any_pass_ends_with_the_same_bits(tmp_path, algorithm, parameters, certificates):
    whole = fit(tagger(algorithm, **parameters))
    assert whole.stopped_ == ("tolerance" if certificates else "iterations")
    # One that comes too early takes rounding errors out of the weights and changes when the next one comes.
    assert [row["certified"] for row in whole.history_].count(True) >= certificates
    for iteration in range(2, whole.n_iter_ + 1):
        killed(tmp_path / "run", iteration, tagger(algorithm, **parameters))
        assert Snapshot.load(tmp_path / "run" / NAME).progress["iteration"] == iteration - 1
        rest = fit(tagger(algorithm, **parameters), checkpoint=tmp_path / "run", resume=True)
        is_same(whole, rest, tmp_path)
        assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
def test_early_stopping_goes_on_with_its_best_state(tmp_path, algorithm):
    estimator = tagger(algorithm, tol=1e-9, max_iter=100)
    whole = fit(estimator, eval_set=DEV, callbacks=[EarlyStopping(3)])
    assert whole.stopped_ == "early"
    for iteration in range(2, whole.n_iter_ + 1):
        killed(tmp_path / "run", iteration, tagger(algorithm, tol=1e-9, max_iter=100), [EarlyStopping(3)], eval_set=DEV)
        rest = fit(
            tagger(algorithm, tol=1e-9, max_iter=100),
            eval_set=DEV,
            callbacks=[EarlyStopping(3)],
            checkpoint=tmp_path / "run",
            resume=True,
        )
        is_same(whole, rest, tmp_path)


def test_a_run_may_be_cut_off_again_and_again(tmp_path):
    whole = fit(tagger())
    for iteration in range(2, whole.n_iter_ + 1):
        killed(tmp_path / "run", iteration, resume=iteration > 2)
    is_same(whole, fit(tagger(), checkpoint=tmp_path / "run", resume=True), tmp_path)


def test_checkpoints_do_not_change_the_result(tmp_path):
    for interval in (0, 1e9):
        is_same(fit(tagger()), fit(tagger(), checkpoint=Checkpoint(tmp_path / "run", interval=interval)), tmp_path)


def test_end_of_the_passes_is_a_checkpoint_too(tmp_path):
    """The process dies in the last certificate, or before the model is written."""

    class DieAtTheEnd(Callback):
        def after_training(self, run):
            raise Killed

    with pytest.raises(Killed):
        fit(tagger(max_iter=3), callbacks=[DieAtTheEnd()], checkpoint=Checkpoint(tmp_path / "run", interval=0))
    rest = fit(tagger(max_iter=3), checkpoint=tmp_path / "run", resume=True)
    is_same(fit(tagger(max_iter=3)), rest, tmp_path)


def test_limits_may_change_and_more_passes_follow(tmp_path):
    killed(tmp_path / "run", 5, tagger(tol=1e-9))
    short = fit(tagger(tol=0.5, max_iter=2, n_threads=2), checkpoint=tmp_path / "run", resume=True)
    assert short.n_iter_ == 4
    killed(tmp_path / "run", 5, tagger(tol=1e-9))
    long = fit(tagger(tol=1e-9, max_iter=20), checkpoint=tmp_path / "run", resume=True)
    is_same(fit(tagger(tol=1e-9, max_iter=20)), long, tmp_path)


def test_resume_without_a_checkpoint_starts_from_the_beginning(tmp_path):
    is_same(fit(tagger()), fit(tagger(), checkpoint=tmp_path / "run", resume=True), tmp_path)


def test_interruption_keeps_the_last_whole_pass(tmp_path):
    class Interrupt(Callback):
        def after_iteration(self, run, row):
            if row["iteration"] == 4:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="interrupted"):
        fit(tagger(), callbacks=[Interrupt()], checkpoint=tmp_path / "run")
    assert Snapshot.load(tmp_path / "run" / NAME).progress["iteration"] == 4
    is_same(fit(tagger()), fit(tagger(), checkpoint=tmp_path / "run", resume=True), tmp_path)


def test_unfinished_run_is_not_overwritten(tmp_path):
    killed(tmp_path / "run", 3)
    before = (tmp_path / "run" / NAME).read_bytes()
    with pytest.raises(InputError, match=r"has not finished; go on with it .*resume"):
        fit(tagger(), checkpoint=tmp_path / "run")
    assert (tmp_path / "run" / NAME).read_bytes() == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"algorithm": "dcd-light"}, "algorithm = dcd-ssvm, and now it is dcd-light"),
        ({"algorithm": "perceptron"}, "algorithm = dcd-ssvm, and now it is perceptron"),
        ({"C": 0.2}, "C = 0.1, and now it is 0.2"),
        ({"random_state": 7}, "seed = 0, and now it is 7"),
        ({"learner": {"delta": 0.1}}, "learner delta = 0.01, and now it is 0.1"),
        ({"engine": {"shuffle": False}}, "engine shuffle = True, and now it is False"),
        ({"start_end": True}, "other start_end"),
        ({"label_costs": {TAGS[0][0]: 2.0}}, "other label_costs"),
        ({"constraints": [UNSEEN_PAIR]}, "other constraints"),
        ({"min_count": 2}, "other features"),
    ],
)
def test_other_settings_are_refused_by_name(tmp_path, change, named):
    killed(tmp_path / "run", 3)
    before = (tmp_path / "run" / NAME).read_bytes()
    with pytest.raises(InputError, match=named) as caught:
        fit(tagger(**change), checkpoint=tmp_path / "run", resume=True)
    assert str(tmp_path / "run" / NAME) in str(caught.value)
    assert (tmp_path / "run" / NAME).read_bytes() == before


def test_other_data_is_refused(tmp_path):
    killed(tmp_path / "run", 3, eval_set=DEV)
    again = {"checkpoint": tmp_path / "run", "resume": True, "eval_set": DEV}
    with pytest.raises(InputError, match="other examples"):
        tagger().fit(WORDS[1:], TAGS[1:], **again)
    with pytest.raises(InputError, match="other features"):  # the same labels over other words
        tagger().fit([[WORDS[0][0]] * len(WORDS[0]), *WORDS[1:]], TAGS, **again)
    with pytest.raises(InputError, match="other sample_weight"):
        tagger().fit(WORDS, TAGS, sample_weight=[2.0] + [1.0] * 79, **again)
    for evaluated in (None, OTHER):
        with pytest.raises(InputError, match="other evaluation sets"):
            tagger().fit(WORDS, TAGS, **{**again, "eval_set": evaluated})
    assert fit(tagger(), **again).stopped_ == "tolerance"


def test_other_early_stopping_is_refused(tmp_path):
    again = {"checkpoint": tmp_path / "run", "resume": True, "eval_set": DEV}
    killed(tmp_path / "run", 3, callbacks=[EarlyStopping(50)], eval_set=DEV)
    with pytest.raises(InputError, match="callbacks = EarlyStopping, and now it is none"):
        fit(tagger(), **again)
    with pytest.raises(InputError, match=r"min_delta = 0\.0, and now it is 0\.5"):
        fit(tagger(), callbacks=[EarlyStopping(50, min_delta=0.5)], **again)
    assert fit(tagger(), callbacks=[EarlyStopping(60)], **again).n_iter_ > 3  # the patience may differ
    killed(tmp_path / "run", 3, eval_set=DEV)
    with pytest.raises(InputError, match="callbacks = none, and now it is EarlyStopping"):
        fit(tagger(), callbacks=[EarlyStopping(50)], **again)


def test_callback_of_the_users_own_is_kept(tmp_path):
    class Counter(Callback):
        def before_training(self, run):
            self.seen, self.first = [], None

        def after_iteration(self, run, row):
            self.seen.append(row["iteration"])
            self.first = self.first or run.state()

        def state(self):
            return {"seen": list(self.seen), "first": self.first}

        def restore(self, state):
            self.seen, self.first = state["seen"], state["first"]

    whole, rest = Counter(), Counter()
    fit(tagger(), callbacks=[whole])
    killed(tmp_path / "run", 4, callbacks=[Counter()])
    fit(tagger(), callbacks=[rest], checkpoint=tmp_path / "run", resume=True)
    assert rest.seen == whole.seen
    assert isinstance(rest.first, State)
    assert rest.first.iteration == 1
    assert {name: array.tobytes() for name, array in rest.first.arrays.items()} == {
        name: array.tobytes() for name, array in whole.first.arrays.items()
    }


def test_callback_state_that_no_file_can_hold_is_an_error(tmp_path):
    class Odd(Callback):
        def state(self):
            return {"odd": object()}

    with pytest.raises(InputError, match="states of callbacks only as JSON"):
        fit(tagger(), callbacks=[Odd()], checkpoint=Checkpoint(tmp_path / "run", interval=0))


def test_a_checkpoint_of_a_version_without_a_parameter_goes_on_with_what_it_stood_for(tmp_path):
    folder = tmp_path / "run"
    one_round = tagger("ms-dcd", engine={"rounds": 1})
    killed(folder, 4, one_round)
    header, tensors = load_model(folder / NAME, CHECKPOINT)
    for name in ("rounds", "learners"):
        del header["identity"]["settings"]["engine"][name]
    save_model(folder / NAME, CHECKPOINT, header, tensors)
    with pytest.raises(InputError, match="of a run with engine rounds = 1, and now it is 5"):
        fit(tagger("ms-dcd", engine={"rounds": 5}), checkpoint=folder, resume=True)
    resumed = fit(tagger("ms-dcd"), checkpoint=folder, resume=True)
    assert resumed.tagger_.settings["engine"] == {"name": "master-worker", "shuffle": True, "rounds": 1, "learners": 1}
    assert resumed.tagger_.weights.tobytes() == fit(one_round).tagger_.weights.tobytes()


def test_damaged_checkpoint_is_an_error(tmp_path):
    killed(tmp_path / "run", 3)
    path = tmp_path / "run" / NAME
    content = path.read_bytes()
    numbers = np.random.default_rng(0)
    damaged = [b"", b"text", content[:-1], content[: len(content) // 2], content[:20]]
    for place in numbers.integers(0, len(content), 40):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(numbers.integers(8))
        damaged.append(bytes(flipped))
    for wrong in damaged:
        path.write_bytes(wrong)
        with pytest.raises(ModelFileError, match=str(path)):
            fit(tagger(), checkpoint=tmp_path / "run", resume=True)
        assert path.read_bytes() == wrong


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / NAME
    fit(tagger()).save(path)
    with pytest.raises(ModelFileError, match="this is a model, expected a checkpoint"):
        fit(tagger(), checkpoint=tmp_path, resume=True)
    save_file({"a": np.zeros(3)}, path)
    with pytest.raises(ModelFileError, match="not a marginloom checkpoint"):
        fit(tagger(), checkpoint=tmp_path, resume=True)
    path.unlink()
    killed(tmp_path, 3)
    with pytest.raises(ModelFileError, match="this is a checkpoint, expected a model"):
        SequenceTagger.load(path)


def without(mapping, *names):
    return {name: value for name, value in mapping.items() if name not in names}


@pytest.mark.parametrize(
    "change",
    [
        lambda header, tensors: (without(header, "progress"), tensors),
        lambda header, tensors: ({**header, "progress": {**header["progress"], "iteration": "3"}}, tensors),
        lambda header, tensors: ({**header, "progress": {**header["progress"], "seconds": None}}, tensors),
        lambda header, tensors: ({**header, "identity": {}}, tensors),
        lambda header, tensors: ({**header, "identity": {"settings": 1, "fingerprints": 2}}, tensors),
        lambda header, tensors: ({**header, "state": {"learner": "dcd"}}, tensors),
        lambda header, tensors: ({**header, "callbacks": [1]}, tensors),
        lambda header, tensors: (header, without(tensors, "trace")),
        lambda header, tensors: (header, {**tensors, "trace": np.zeros(4, np.uint8)}),
        lambda header, tensors: (header, {**tensors, "trace": np.frombuffer(b"[1]", np.uint8)}),
    ],
)
def test_parts_that_do_not_fit_are_an_error(tmp_path, change):
    killed(tmp_path, 3)
    path = tmp_path / NAME
    save_model(path, CHECKPOINT, *change(*load_model(path, CHECKPOINT)))
    with pytest.raises(ModelFileError, match="do not fit together"):
        fit(tagger(), checkpoint=tmp_path, resume=True)


@pytest.mark.parametrize("name", ["state.duals", "state.weights", "state.random", "state.dual_outputs"])
def test_state_that_does_not_fit_is_an_error(tmp_path, name):
    killed(tmp_path, 3)
    header, tensors = load_model(tmp_path / NAME, CHECKPOINT)
    for changed in (without(tensors, name), {**tensors, name: np.zeros(3, np.int64)}):
        save_model(tmp_path / NAME, CHECKPOINT, header, changed)
        with pytest.raises(InputError, match="state"):
            fit(tagger(), checkpoint=tmp_path, resume=True)


def test_folder_that_cannot_be_is_refused_before_training(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="does not exist"):
        fit(tagger(), checkpoint=tmp_path / "a" / "b")
    with pytest.raises(InputError, match="is a file, not a folder"):
        fit(tagger(), checkpoint=tmp_path / "file")
    with pytest.raises(InputError, match="interval of checkpoints must be a number, 0 or more"):
        Checkpoint(tmp_path, interval=-1)
    with pytest.raises(InputError, match="give checkpoint="):
        fit(tagger(), resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


KILLED_IN_THE_WRITE = """
import os, signal, sys
from marginloom import Checkpoint, SequenceTagger, make_tagging

written = 0
real = os.fsync

def kill(descriptor):
    global written
    written += 1
    if written == 3:
        os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
        os.kill(os.getpid(), signal.SIGKILL)
    real(descriptor)

os.fsync = kill
estimator = SequenceTagger(features="words", tol=0.05, max_iter=40)
estimator.fit(*make_tagging(80, seed=0), checkpoint=Checkpoint(sys.argv[1], interval=0))
"""


def test_kill_in_the_middle_of_a_write_leaves_the_checkpoint_before(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED_IN_THE_WRITE, tmp_path / "run"], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    assert Snapshot.load(tmp_path / "run" / NAME).progress["iteration"] == 2
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert len(left) == 3  # and half a file, which the next run removes
    assert {NAME, LOCK_NAME} < left
    is_same(fit(tagger()), fit(tagger(), checkpoint=tmp_path / "run", resume=True), tmp_path)
    assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.parametrize("made_before", [False, True])
@pytest.mark.parametrize("interval", [0, 3600], ids=["with checkpoints", "too short for one"])
def test_the_folder_stays_if_it_was_there_or_had_a_checkpoint(tmp_path, interval, made_before):
    if made_before:
        (tmp_path / "run").mkdir()
    fit(tagger(), checkpoint=Checkpoint(tmp_path / "run", interval=interval))
    assert [path.name for path in tmp_path.rglob("*")] == (["run"] if made_before or interval == 0 else [])


def test_a_folder_that_was_made_for_a_refused_run_does_not_stay(tmp_path):
    with pytest.raises(InputError, match="perceptron has no tol"):
        fit(SequenceTagger("perceptron", tol=0.1), checkpoint=tmp_path / "run")
    with pytest.raises(InputError, match="sample_weight"):
        fit(tagger(), checkpoint=tmp_path / "run", sample_weight=[1.0])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("interval", [0, 3600], ids=["with checkpoints", "too short for one"])
def test_train_leaves_a_checkpoint_that_was_written(tmp_path, interval):
    task = make_task(TinyChains(1, sentences=12), "plain")
    place = Checkpoint(tmp_path / "run", interval=interval)
    result = train(task, tol=1e-9, max_iter=3, checkpoint=place)
    assert result.iterations == 3
    assert place.exists() == (interval == 0)
    place.remove()
    assert not place.exists()


def test_folder_in_use_is_refused_to_other_fits(tmp_path):
    class FitWithin(Callback):
        """Starts other runs into the same folder, in this thread and in others."""

        def __init__(self, *folders):
            self.folders = folders
            self.said = []

        def after_iteration(self, run, row):
            if row["iteration"] == 2:
                for folder in self.folders:
                    thread = threading.Thread(target=self.fit, args=[folder])
                    thread.start()
                    thread.join()
                self.fit(tmp_path / "link")

        def fit(self, folder):
            try:
                fit(tagger(), checkpoint=folder, resume=True)
            except InputError as error:
                self.said.append(str(error))

    own = Checkpoint(tmp_path / "run", interval=0)
    (tmp_path / "run").mkdir()
    (tmp_path / "link").symlink_to("run")
    other = FitWithin(own, tmp_path / "run")
    is_same(fit(tagger()), fit(tagger(), checkpoint=own, callbacks=[other]), tmp_path)
    assert len(other.said) == 3
    assert all("is in use by" in said for said in other.said)
    for _ in range(2):  # one after another
        is_same(fit(tagger()), fit(tagger(), checkpoint=own), tmp_path)
    assert list((tmp_path / "run").iterdir()) == []


def test_folder_in_use_can_be_looked_at_but_not_cleared(tmp_path):
    folder = tmp_path / "run"

    class Look(Callback):
        def after_iteration(self, run, row):
            if row["iteration"] == 3:
                assert Checkpoint(folder).exists()
                assert Snapshot.load(folder / NAME).progress["iteration"] == 2
                with pytest.raises(InputError, match="is in use by"):
                    Checkpoint(folder).remove()

    fit(tagger(), checkpoint=Checkpoint(folder, interval=0), callbacks=[Look()])
    Checkpoint(folder).remove()
    Checkpoint(tmp_path / "never there").remove()
    assert list(tmp_path.iterdir()) == [folder]
