"""A short form of ``make fuzz``: nothing crashes, hangs, shows a traceback or loses a file."""

import json
import os
import subprocess
import sys

import pytest
from fuzz.cases import SUBJECTS, run_case, subject_of
from fuzz.kills import kill_and_resume
from fuzz.lab import Lab
from fuzz.limits import little_memory
from fuzz.samples import build
from fuzz.signals import signal_in_a_search
from fuzz.watched import FAILED, run_watched

SEED = 2026
#: Run real processes, and take as long as fifty others.
LONG = (kill_and_resume, signal_in_a_search, little_memory)
#: The first hundred and more, with one only of each that takes long.
NUMBERS = [number for number in range(120) if subject_of(SEED, number) not in LONG]
NUMBERS += [next(number for number in range(1000) if subject_of(SEED, number) is subject) for subject in LONG]


def test_damaged_files_and_inputs_do_no_harm(tmp_path):
    (tmp_path / "samples").mkdir()
    build(tmp_path / "samples")
    finished = list(run_watched(SEED, iter(NUMBERS), tmp_path, workers=2, patience=60.0))
    failures = [f"--seed {SEED} --case {case.number}: {case.text}" for case in finished if case.outcome == FAILED]
    assert not failures, "\n".join(failures)
    assert sorted(case.number for case in finished) == sorted(NUMBERS)
    assert {case.outcome for case in finished} == {"accepted", "refused"}


def test_every_subject_has_its_share():
    subjects = [subject_of(SEED, number) for number in range(1000)]
    assert {subject: subjects.count(subject) for subject in SUBJECTS} == SUBJECTS


def test_number_of_a_case_is_enough_to_make_it_again(tmp_path):
    (tmp_path / "samples").mkdir()
    build(tmp_path / "samples")
    number = next(n for n in range(1000) if subject_of(SEED, n).__name__ == "model_in_python")
    contents = []
    for name in ("one", "two"):
        lab = Lab(tmp_path / "samples", tmp_path / name)
        lab.scratch.mkdir()
        contents.append((run_case(SEED, number, lab), (lab.scratch / "m").read_bytes()))
    assert contents[0] == contents[1]


@pytest.mark.slow
def test_program_goes_on_where_it_was_stopped(tmp_path):
    first, second = (fuzz("--seed", SEED, "--cases", count, "--folder", tmp_path) for count in (2, 3))
    assert f"2 cases of seed {SEED}, 0 failed" in first
    assert f"3 cases of seed {SEED}, 0 failed" in second
    journal = (tmp_path / f"seed-{SEED}.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["number"] for line in journal) == [0, 1, 2]


def fuzz(*arguments):
    """Run the program and return what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_worker_that_dies_is_a_failed_case_and_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "samples").mkdir()
    monkeypatch.setattr("fuzz.watched._serve", _die)
    finished = list(run_watched(SEED, iter(range(2)), tmp_path, workers=1, patience=60.0))
    assert [case.outcome for case in finished] == [FAILED, FAILED]
    assert "exit code 3" in finished[0].text


def test_worker_that_hangs_is_a_failed_case(tmp_path, monkeypatch):
    (tmp_path / "samples").mkdir()
    monkeypatch.setattr("fuzz.watched._serve", _hang)
    finished = list(run_watched(SEED, iter(range(1)), tmp_path, workers=1, patience=0.0))
    assert [(case.outcome, case.text) for case in finished] == [(FAILED, "not done after 0 seconds")]


def _die(*_):
    raise SystemExit(3)


def _hang(connection, *_):
    connection.recv()
    connection.recv()
