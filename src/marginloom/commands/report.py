"""What `marginloom train` says when it is done: how it ended, how good the weights are, and what to do next."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Mapping
from typing import Any

from marginloom.commands.scores import print_scores
from marginloom.common.memory import MB
from marginloom.common.parameters import option_text
from marginloom.training.certificate import Certificate
from marginloom.training.result import Result

#: Labels whose scores are shown after training; ``evaluate`` and an object of JSON have all.
MOST_LABELS = 10
_WIDTH = 80

_ENDS = {
    "tolerance": "reached the tolerance (--tol)",
    "estimate": "the estimated gap reached the tolerance",
    "iterations": "reached the maximum number of passes (--max-iter)",
    "early": "stopped early",
    "separated": "every training example is predicted correctly",
    "unchanged": "the training loss no longer changed",
    "callback": "stopped by a callback",
    "interrupted": "interrupted",
}


def print_report(
    result: Result, files: Mapping[str, str | None], scores: Mapping[str, Any], steps: Mapping[str, Mapping[str, Any]]
) -> None:
    """Print the report of a training run.

    Parameters
    ----------
    result : Result
        The run.
    files : mapping
        What was written, by what it is: ``model`` and perhaps ``trace``.
    scores : mapping
        The scores of every set of examples.
    steps : mapping
        What was trained before, as `Model.steps` has it.
    """
    before = [f"{name}: {step_sentence(step)}" for name, step in steps.items()]
    for text in (*before, _summary(result), _certificate(result)):
        print(textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False))
    for name, value in result.chosen.items():
        print(f"chosen during training: {option_text(name, value)}")
    if result.working_set_mb * MB > result.memory.working_sets:
        print(
            f"The candidates took {result.working_set_mb:.1f} MB, more than the memory that they were given: dual "
            "variables and their outputs are always kept."
        )
    print_scores(scores, MOST_LABELS)
    for name, path in files.items():
        if path is not None:
            print(f"{name:<6} {path}")
    print("\n".join(_next_steps(str(files["model"]), "dev" in scores, result)))


def _certificate(result: Result) -> str:
    if result.certificate is not None:
        return certificate_sentence(result.certificate)
    if result.stopped == "interrupted":
        return "No certificate: training was interrupted before it was computed."
    value = ""
    if result.primal is not None:
        known = "" if result.exact else "at most " if result.bounded else "about "
        value = f" The training objective is {known}{result.primal:.6g}."
    return f"No certificate: {result.algorithm.name} computes no lower bound on the training objective.{value}"


def certificate_sentence(certificate: Certificate) -> str:
    """Say what a certificate proves, in one sentence.

    Examples
    --------
    >>> certificate_sentence(Certificate(primal=2.0, dual=1.98, gap=0.01, exact=True))
    'Certified: no weights can lower the training objective of 2 by more than 1 % (lower bound 1.98).'
    """
    primal, dual, percent = f"{certificate.primal:.6g}", f"{certificate.dual:.6g}", f"{100 * certificate.gap:.3g} %"
    if not certificate.bounded:
        return (
            f"Not certified, because inference is inexact: the training objective is about {primal}, about {percent} "
            f"above the lower bound {dual}."
        )
    value = primal if certificate.exact else f"at most {primal}"
    bound = f"(lower bound {dual})"
    return f"Certified: no weights can lower the training objective of {value} by more than {percent} {bound}."


def step_sentence(step: Mapping[str, Any]) -> str:
    """Say how a part of a model was trained before its weights, in one line.

    Examples
    --------
    >>> step_sentence({"algorithm": "dcd-ssvm", "iterations": 7, "C": 0.1, "primal": None})
    'dcd-ssvm: 7 passes, C = 0.1. No certificate.'
    """
    text = f"{step.get('algorithm')}: {step.get('iterations')} passes, C = {step.get('C')}."
    if step["primal"] is None:
        return f"{text} No certificate."
    numbers = {name: step[name] for name in ("primal", "dual", "gap", "exact", "bounded")}
    return f"{text} {certificate_sentence(Certificate(**numbers))}"


def _summary(result: Result) -> str:
    passes = f"{result.iterations} pass{'' if result.iterations == 1 else 'es'}"
    training = result.algorithm.training_threads(result.n_threads)
    threads = f"{training} thread{'' if training == 1 else 's'}"
    if result.asked is not None:
        parts = result.asked["parts"]
        threads += f" in each of {parts} processes" if parts != 1 else " in one other process"
    end = _ENDS.get(result.stopped, result.stopped)
    text = f"{result.algorithm.name}: {passes} in {result.seconds['train']:.2f} s on {threads}; {end}"
    if result.weights_iteration not in (None, result.iterations):
        text += f"; the weights are those of pass {result.weights_iteration}"
    return text


def _next_steps(model: str, has_dev: bool, result: Result) -> list[str]:
    """Return what to try next: use the model, and the one parameter that matters most."""
    steps = [
        f"marginloom predict {shlex.quote(model)} INPUT",
        f"marginloom inspect {shlex.quote(model)}",
    ]
    if result.certificate is not None:
        C = result.trace.settings["C"]
        where = "compare the scores on --dev" if has_dev else "compare the scores with --dev FILE"
        steps.append(f"train again with --C {C / 10:g} and --C {C * 10:g}, and {where}")
    return [f"{'next' if place == 0 else '':<6} {step}" for place, step in enumerate(steps)]
