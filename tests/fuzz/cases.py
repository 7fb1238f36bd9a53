"""The subjects of cases, and how a case is made from its number."""

from __future__ import annotations

from random import Random

from fuzz.checkpoints import checkpoint_in_python, checkpoint_on_the_command_line
from fuzz.estimators import estimator_input
from fuzz.identifiers import identifiers
from fuzz.inputs import input_file, reader
from fuzz.kills import kill_and_resume, program
from fuzz.limits import little_memory
from fuzz.models import model_in_python, model_on_the_command_line, state
from fuzz.signals import signal_in_a_search

#: Each subject with its share of a thousand cases.
SUBJECTS = {
    model_in_python: 240,
    model_on_the_command_line: 130,
    state: 120,
    checkpoint_in_python: 120,
    checkpoint_on_the_command_line: 60,
    input_file: 115,
    identifiers: 15,
    reader: 70,
    estimator_input: 105,
    program: 10,
    kill_and_resume: 5,
    signal_in_a_search: 4,
    little_memory: 6,
}
assert sum(SUBJECTS.values()) == 1000


def subject_of(seed, number):
    """Return the function that makes and runs a case."""
    place = Random(f"{seed} {number // 1000}")
    order = [subject for subject, share in SUBJECTS.items() for _ in range(share)]
    place.shuffle(order)
    return order[number % 1000]


def run_case(seed, number, lab):
    """Run a case and return its outcome; a failure is raised."""
    return subject_of(seed, number)(Random(f"{seed}/{number}"), lab)
