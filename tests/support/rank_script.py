"""What the ranks of a test run: fits in all of them, and how each has seen it, in a file of its own.

Arguments: the folder, and what happens there.
"""

import hashlib
import json
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

from mpi4py.MPI import COMM_WORLD

from marginloom import MPI, Callback, Checkpoint, InputError, PartError, SequenceTagger, make_tagging
from marginloom.clusters import pace
from marginloom.training.part import Part

FOLDER, WHAT = Path(sys.argv[1]), sys.argv[2]
RANK = COMM_WORLD.rank
WORDS, TAGS = make_tagging(60, seed=0)


CASCADE = {
    "algorithm": "fsmo",
    "engine": {"name": "cascade", "parts": 3, "feedback": 2, "rounds": 4},
    "learner": {"batch": 20},
}


def tagger(**more):
    return SequenceTagger(**{"algorithm": "ms-dcd", "engine": {"rounds": 1}, "features": "words", "tol": 0.01, **more})


def bits(estimator):
    text = [hashlib.sha256(estimator.model_.weights.tobytes()).hexdigest(), repr(estimator.certificate_)]
    return [*text, estimator.n_iter_, estimator.stopped_, len(estimator.history_)]


def kill_at(wanted, times):
    """Kill rank 1 as soon as it is asked that so many times; a search with several answers counts once."""
    usual, left, last = Part.answer, [times], [b""]

    def answer(self, question, common, *given):
        if question == wanted and RANK == 1:
            weights = common["weights"].tobytes() if question == "search" else b""
            left[0] -= weights != last[0] or not weights
            last[0] = weights
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
        return usual(self, question, common, *given)

    Part.answer = answer


class Odd(Callback):
    def after_iteration(self, run, row):
        raise InputError("the callback does not like this")


class Report:
    def __init__(self):
        self.lines = []

    def add(self, *what):
        self.lines.append(list(what))
        (FOLDER / f"seen.{RANK}").write_text(json.dumps(self.lines))


@contextmanager
def many_answers(fails_at=0):
    """Let ranks give many answers to a search, count those of this rank, and let one of them fail in rank 1."""
    usual, least, answers = Part.answer, pace._LEAST_SECONDS, []

    def answer(self, question, *given):
        if question == "search":
            answers.append(question)
            if RANK == 1 and len(answers) == fails_at:
                raise InputError("this search does not work")
        return usual(self, question, *given)

    Part.answer, pace._LEAST_SECONDS = answer, 1e-9
    try:
        yield answers
    finally:
        Part.answer, pace._LEAST_SECONDS = usual, least


def fits():
    """Fit again and again, also where it goes wrong in one rank."""
    report = Report()
    cluster = MPI()
    with many_answers() as answers:
        report.add("divided", *bits(tagger(cluster=cluster, engine={"rounds": 4}).fit(WORDS, TAGS)), len(answers))
    for place in (1, 13):
        with many_answers(fails_at=place):
            try:
                tagger(cluster=cluster).fit(WORDS, TAGS)
            except (InputError, PartError) as error:
                report.add("no answer", str(error))
    fitted = tagger(cluster=cluster, warm_start=True).fit(WORDS, TAGS, callbacks=[])
    report.add("fitted", *bits(fitted))
    for callbacks in ([Odd()], []):
        try:
            report.add("again", *bits(tagger(cluster=cluster).fit(WORDS, TAGS, callbacks=callbacks)))
        except (InputError, PartError) as error:
            report.add("failed", str(error))
    try:
        tagger(cluster=cluster, C=1.0 if RANK else 2.0).fit(WORDS, TAGS)
    except PartError as error:
        report.add("differs", str(error))
    try:
        tagger(cluster=cluster).fit(WORDS, TAGS[1:] if RANK else TAGS)
    except (InputError, PartError) as error:
        report.add("odd data", str(error))
    fitted.set_params(C=1.0, random_state=None).fit(WORDS, TAGS)  # from its state, with a seed that rank 0 draws
    report.add("warm", *bits(fitted))


def killed():
    """Train with a checkpoint; rank 1 is killed somewhere."""
    place = sys.argv[3]
    if place == "reading":
        if RANK == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    else:
        questions = {"round": "search", "certificate": "slacks", "solution": "solve"}
        kill_at(questions[place], {"certificate": 1, "solution": 40}.get(place, 3))
    more = CASCADE if place == "solution" else {}
    tagger(cluster=MPI(), **more).fit(WORDS, TAGS, checkpoint=Checkpoint(FOLDER / "run", interval=0))


{"fits": fits, "killed": killed}[WHAT]()
