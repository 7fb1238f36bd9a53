"""Prediction for one example asks the system for nothing: its cost would be that of the question."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: A product of matrices, which numpy computes.
WITHOUT_THREADS = {"label: decision_function"}


@pytest.fixture(scope="module")
def told():
    """What a process tells of its predictions."""
    done = subprocess.run(
        [sys.executable, "-m", "support.small_predictions"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_prediction_for_one_example_opens_no_file_and_imports_nothing(told):
    asked = {name: [event.split()[0] for event in events] for name, events in told["asked"].items() if events}
    assert asked == {"control": ["open"]}
    assert len(told["asked"]) > 20


def test_prediction_for_one_example_starts_no_thread(told):
    assert told["threads"]["one"] == []
    assert set(told["threads"]["many"]) >= told["asked"].keys() - WITHOUT_THREADS - {"control"}
