"""An option without effect is an error with an algorithm that was named, and a warning with auto: at both doors."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from support.custom_chains import Majority, votes
from support.estimators import ESTIMATORS
from support.pairs import for_labels
from support.program import refuses, run
from typer.testing import CliRunner

from marginloom import DCD, InputError, MulticlassClassifier, OptionWarning, SequenceTagger, train
from marginloom.algorithms import ALGORITHMS
from marginloom.cli.app import app
from marginloom.common.parameters import option_name
from marginloom.core.choice import Choice
from marginloom.engines import Mixing
from marginloom.learners import Newton
from marginloom.tasks.multiclass.task import MulticlassTask
from marginloom.training.spec import DEFAULT_C, DEFAULT_TOL

#: A value of every option that some algorithms lack; those of C and tol are the defaults, which count as given too.
GIVEN = {"C": DEFAULT_C, "tol": DEFAULT_TOL, "loss": "hinge", "memory": "1G"}
UNUSED = [(name, option) for name, preset in ALGORITHMS.items() for option in GIVEN if option not in preset.common]
USED = [(name, option) for name, preset in ALGORITHMS.items() for option in GIVEN if option in preset.common]


class Guess(Majority):
    """Has no inference with the loss added, so that auto takes a perceptron."""

    def choose(self, circumstances):
        return Choice("averaged-perceptron", "a test")


def classes(count=30):
    """Make so few classes and features that auto takes Newton's method."""
    random = np.random.default_rng(0)
    X = random.normal(size=(count, 3))
    return X, X.argmax(axis=1)


def message(algorithm, option):
    return f"{algorithm} has no {option} ({option_name(option)}): leave it out"


def usage_error(*arguments):
    """Run the command here, and return what it says of wrong usage."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == 2
    return " ".join(done.output.replace("│", " ").split())


def test_every_option_is_one_that_some_lack_and_some_have():
    assert {option for _, option in UNUSED} == {option for _, option in USED} == set(GIVEN)


@pytest.mark.parametrize(("algorithm", "option"), UNUSED)
def test_a_named_algorithm_refuses_it_in_the_same_words_at_both_doors(tmp_path, algorithm, option):
    X, y = classes()
    with pytest.raises(InputError) as caught:
        train(MulticlassTask(X, y, 3), algorithm=algorithm, **{option: GIVEN[option]})
    assert str(caught.value) == message(algorithm, option)
    with pytest.raises(InputError) as caught:
        MulticlassClassifier(algorithm, **{option: GIVEN[option]}).fit(X, y)
    assert str(caught.value) == message(algorithm, option)
    given = (option_name(option), GIVEN[option])
    for quiet in ([], ["--quiet"]):  # before any file is read
        arguments = ("train", "classify", tmp_path / "none", "--model", tmp_path / "m", "--algorithm", algorithm)
        assert message(algorithm, option) in usage_error(*arguments, *given, *quiet)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_not_given_is_never_refused(algorithm):
    X, y = classes()
    make = MulticlassClassifier
    if for_labels(algorithm):
        make, y = ESTIMATORS["MultilabelClassifier"].make, np.eye(3, dtype=np.uint8)[y]
    threads = max(1, ALGORITHMS[algorithm].engine.least_threads())
    shards = {"shards": 2} if "shards" in vars(ALGORITHMS[algorithm].engine) else None
    used = {option: GIVEN[option] for name, option in USED if name == algorithm}
    options = {"max_iter": 2, "n_threads": threads, "engine": shards}
    with warnings.catch_warnings():
        warnings.simplefilter("error", OptionWarning)
        make(algorithm, **options, **used).fit(X, y)
        nothing = dict.fromkeys(GIVEN)
        estimator = make(algorithm, **options, **nothing).fit(X, y)
    assert clone(estimator).get_params() == make(algorithm, **options).get_params()


def test_several_are_named_together():
    with pytest.raises(InputError) as caught:
        train(MulticlassTask(*classes(), 3), algorithm="perceptron", C=1.0, tol=0.1, loss="hinge", memory=1)
    assert str(caught.value) == (
        "perceptron has no C, no tol, no loss and no memory (--C, --tol, --loss and --memory): leave them out"
    )


def test_an_estimator_shows_what_it_was_given_and_is_cloned_with_it():
    estimator = SequenceTagger("perceptron", tol=DEFAULT_TOL)
    assert repr(estimator) == "SequenceTagger(algorithm='perceptron', tol=0.01)"
    assert (estimator.C, estimator.tol, estimator.loss, estimator.memory) == (None, DEFAULT_TOL, None, None)
    with pytest.raises(InputError, match="perceptron has no tol"):
        clone(estimator).fit([["a"]], [["A"]])
    with pytest.warns(OptionWarning):  # the same parameters with auto
        clone(estimator).set_params(algorithm="auto", learner={"eta0": 0.5}).fit([["a"], ["b"]], [["A"], ["B"]])


@pytest.mark.parametrize(("option", "value"), [("C", -1), ("tol", 0), ("loss", "log"), ("memory", "much")])
@pytest.mark.parametrize("algorithm", ["auto", "perceptron"])
def test_a_value_that_cannot_be_is_told_first(algorithm, option, value):
    with pytest.raises(InputError, match=f"^{option} must be"):
        train(Majority(*votes()), algorithm=algorithm, **{option: value})


@pytest.mark.parametrize("option", GIVEN)
def test_auto_warns_of_it_and_trains_the_same(option):
    task = Guess(*votes())
    plain = train(task, max_iter=2)
    said = rf"^{option} \({option_name(option)}\) has no effect: auto has chosen averaged-perceptron, which has no "
    with pytest.warns(OptionWarning, match=f"{said}{option}$"):
        result = train(task, max_iter=2, **{option: GIVEN[option]})
    assert np.array_equal(result.weights, plain.weights)


def test_auto_warns_of_parameters_that_its_choice_does_not_have():
    X, y = classes()
    plain = MulticlassClassifier().fit(X, y)
    assert plain.algorithm_ == "shrinking-dcd"
    with pytest.warns(OptionWarning) as caught:
        given = MulticlassClassifier(learner={"eta0": 0.5, "sweeps": 3}, engine={"shards": 3}).fit(X, y)
    assert [str(warning.message) for warning in caught] == [
        f"{name} (--{name}) has no effect: auto has chosen shrinking-dcd, which has no {name}"
        for name in ("eta0", "shards")
    ]
    assert np.array_equal(given.coef_, plain.coef_)


def test_auto_warns_of_parameters_that_the_engine_of_its_choice_loses():
    case = ESTIMATORS["MultilabelClassifier"]
    plain = case.fit()
    assert plain.algorithm_ == "label-dcd"
    with pytest.warns(OptionWarning) as caught:
        given = case.fit(learner={"delta": 0.5, "rest": 3, "inner_passes": 10})
    lost = [str(warning.message).partition(" ")[0] for warning in caught]
    assert sorted(lost) == ["delta", "rest"]
    assert np.array_equal(given.coef_, plain.coef_)
    with warnings.catch_warnings():  # what asks for nothing is fine
        warnings.simplefilter("error")
        case.fit(learner={"rest": 0, "shrinking": 0.0})


def test_the_command_line_warns_in_a_line_that_quiet_does_not_hide(tmp_path):
    (tmp_path / "few.svm").write_text("1 1:1 2:2\n2 1:2 2:1\n1 1:0.5 2:2\n2 1:3 2:1\n")
    arguments = ("train", "classify", tmp_path / "few.svm", "--model", tmp_path / "m", "--shards", "2", "--eta0", "0.5")
    lines = [
        f"marginloom: warning: {name} ({option_name(name)}) has no effect: auto has chosen "
        f"dcd-ssvm, which has no {name}"
        for name in ("eta0", "shards")
    ]
    assert run(*arguments, "--quiet").stderr.splitlines() == lines
    said = run(*arguments).stderr.splitlines()
    assert [line for line in said if line.startswith("marginloom: warning")] == lines


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"learner": {"eta": 1}}, r"there is no parameter 'eta' \(did you mean 'eta0'\?\) of any learner"),
        ({"engine": {"shard": 1}}, r"there is no parameter 'shard' \(did you mean 'shards'\?\) of any engine"),
        ({"engine": "sharded"}, r"there is no engine 'sharded' \(did you mean 'shared'\?\)"),
        ({"engine": {"name": "sharded"}}, r"there is no engine 'sharded'"),
        ({"learner": {"eta0": -1}}, "eta0 must be a number, 0 or more, not -1"),
        ({"learner": {"variant": "pa-iii"}}, "variant must be"),
        ({"engine": {"shards": -1}}, "shards must be"),
        ({"learner": 7}, "learner must be a dict of parameters or a ready learner, not 7"),
    ],
)
def test_auto_takes_no_parameter_that_nothing_has_and_no_wrong_value(options, said):
    with pytest.raises(InputError, match=said):
        train(MulticlassTask(*classes(), 3), **options)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_loaded_estimator_can_be_fitted_again(algorithm, tmp_path):
    """A model remembers a C and a tolerance that its learner has no use for; they were not given."""
    X, y = classes()
    make = MulticlassClassifier
    if for_labels(algorithm):
        make, y = ESTIMATORS["MultilabelClassifier"].make, np.eye(3, dtype=np.uint8)[y]
    threads = max(1, ALGORITHMS[algorithm].engine.least_threads())
    shards = {"shards": 2} if "shards" in vars(ALGORITHMS[algorithm].engine) else None
    fitted = make(algorithm, max_iter=2, n_threads=threads, engine=shards).fit(X, y)
    fitted.save(tmp_path / "model")
    loaded = make.load(tmp_path / "model")
    again = loaded.set_params(n_threads=threads).fit(X, y)
    assert again.algorithm_ == algorithm
    if ALGORITHMS[algorithm].engine.gives_same_bits(threads):
        assert np.array_equal(again.coef_, fitted.coef_)


ENGINES_WITH_AUTO = [
    ("minibatch", "name an algorithm that has it .*: minibatch-perceptron or minibatch-mira$"),
    ("mixing", "name an algorithm that has it .*: parameter-mixing, ipm or ipm-mira$"),
]


@pytest.mark.parametrize(("engine", "said"), ENGINES_WITH_AUTO)
def test_an_engine_that_auto_cannot_take_is_refused_without_naming_what_nobody_chose(engine, said):
    for given in (engine, {"name": engine}):
        with pytest.raises(InputError, match=said) as caught:
            train(MulticlassTask(*classes(), 3), engine=given, n_threads=3)
        assert "shrinking-dcd" not in str(caught.value)
        assert "learner" not in str(caught.value)


def test_ready_learners_and_engines_that_auto_cannot_take_are_refused_by_their_names():
    task = MulticlassTask(*classes(), 3)
    with pytest.raises(InputError, match=r"^auto does not train this task with the learner newton; name .*: newton$"):
        train(task, learner=Newton())
    with pytest.raises(InputError, match=r"^auto does not train this task with the engine mixing; name .*: param"):
        train(task, engine=Mixing())


def test_too_few_threads_and_other_bits_are_told_of_the_engine_that_was_named():
    task = Majority(*votes())
    with pytest.raises(InputError) as caught:
        train(task, engine="decoupled")
    said = "and 1 was given; give --threads 2 (n_threads=2 in Python) or more"
    assert str(caught.value) == f"the engine decoupled needs at least 2 threads, {said}"
    with pytest.raises(InputError, match=r"^the engine shared does not give the same bits with 2 threads; "):
        train(task, engine="shared", n_threads=2, reproducible=True)


def test_auto_takes_another_learner_for_labels_where_an_engine_or_a_learner_is_named_that_its_own_does_not_go_with():
    case = ESTIMATORS["MultilabelClassifier"]
    for engine, algorithm in (("shared", "shared-dcd"), ("master-worker", "ms-dcd"), ("serial", "label-dcd")):
        assert case.fit(engine=engine, n_threads=2).algorithm_ == algorithm
    estimator = case.fit(engine="pipelined", n_threads=3, loss="hinge", reproducible=True)
    assert (estimator.algorithm_, estimator.model_.settings["engine"]["name"]) == ("dcd-ssvm", "pipelined")
    assert case.fit(learner=DCD(sweeps=1), n_threads=1).model_.settings["learner"]["sweeps"] == 1


def test_auto_leaves_out_what_an_engine_that_was_named_loses():
    """Its own choice for classes averages, which the engine decoupled cannot."""
    case = ESTIMATORS["MultilabelClassifier"]
    estimator = case.fit(engine="decoupled", n_threads=2)
    assert estimator.model_.settings["engine"]["name"] == "decoupled"
    assert estimator.model_.settings["learner"]["averaged"] is False
    with pytest.warns(OptionWarning, match=r"^averaged .* auto has chosen demi-dcd, which has no averaged$"):
        case.fit(engine="decoupled", n_threads=2, learner={"averaged": True})


def test_the_engine_pipelined_says_what_it_is_about_labels(tmp_path):
    case = ESTIMATORS["MultilabelClassifier"]
    needs = (
        "^the engine pipelined needs joint features that are products of an input's features and an output's columns"
    )
    for algorithm, loss in itertools.product(("auto", "dcd-ssvm"), (None, "squared_hinge")):
        options = {"algorithm": algorithm, "loss": loss, "engine": "pipelined", "n_threads": 3}
        slack = "here the 3 labels of a row do not share a slack: labels_per_slack is 1; take the hinge loss, or give "
        with pytest.raises(InputError, match=rf"{needs}, and {slack}labels_per_slack=3 \(--labels-per-slack 3\)$"):
            case.fit(**options)
        with pytest.raises(InputError, match=rf"{needs}, and here labels interact \(--interactions or --pair"):
            case.fit(**options, interactions="tree")
        case.fit(**options, labels_per_slack=3)  # both ways out that it tells
        case.fit(**{**options, "loss": "hinge"})


def test_label_dcd_says_what_it_is_about_labels():
    case = ESTIMATORS["MultilabelClassifier"]
    with pytest.raises(InputError, match=r"here labels share a slack; take the hinge loss, or give labels_per_slack=1"):
        case.fit(algorithm="label-dcd", labels_per_slack=2)
    case.fit(algorithm="label-dcd", labels_per_slack=2, loss="hinge")


def test_an_option_of_another_learner_is_refused_in_the_words_of_python(tmp_path):
    with pytest.raises(InputError) as caught:
        train(Majority(*votes()), algorithm="perceptron", learner={"k_best": 2})
    assert str(caught.value) == (
        "perceptron has no parameter 'k_best' (--k-best on the command line); its learner has: averaged, "
        "stop_separated, stop_unchanged"
    )
    arguments = ("train", "tag", tmp_path / "none", "--model", tmp_path / "m", "--algorithm", "perceptron")
    assert str(caught.value) in refuses(*arguments, "--k-best", "2")
