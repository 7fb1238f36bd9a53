"""Real processes: the program on damaged files, and training that is killed and goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress

from support.program import PROGRAM, environment

from fuzz.commands import check_run
from fuzz.inputs import input_file
from fuzz.samples import PROGRAMS, train_arguments
from marginloom.training.checkpoint import FILE_NAME

PATIENCE = 60.0


def program(random, lab):
    """Run the real program on a damaged file."""
    return input_file(random, lab, runner=run_apart)


def run_apart(arguments, stdin=b""):
    """Run the program as a process of its own."""
    done = subprocess.run(
        [PROGRAM, *map(os.fspath, arguments)],
        input=stdin,
        capture_output=True,
        timeout=PATIENCE,
        env=environment(),
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def kill_and_resume(random, lab):
    """Kill a run at some moment, a few times, and go on: the model must be that of a run that was left alone.

    A model that stood there before is the old one or the new one at any time, and never half of one.
    """
    name = random.choice(list(PROGRAMS))
    folder = lab.empty("killed")
    checkpoint, model = folder / "checkpoint", folder / "m"
    arguments = train_arguments(name, lab.samples)
    arguments[arguments.index("--checkpoint") + 1] = str(checkpoint)
    arguments[arguments.index("--max-iter") + 1] = "40"
    arguments += ["--tol", "1e-7", "--model", str(model)]
    code, _, said = run_apart(arguments)
    assert check_run(code, said) == "accepted", said
    expected = model.read_bytes()
    old = b"what stood here before"
    model.write_bytes(old)
    kills = 0
    for _ in range(random.choice([1, 2, 4])):
        # From before the first pass to after the end, on machines of any speed: a share of the passes, not of time.
        if not _killed(random, [*arguments, "--resume"], checkpoint):
            break
        kills += 1
        assert model.read_bytes() in (old, expected), "half a model"
    code, _, said = run_apart([*arguments, "--resume"])
    assert check_run(code, said) == "accepted", said
    assert model.read_bytes() == expected, f"another model after {kills} kills"
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert left == ["m"] or kills, f"left behind: {left}"
    shutil.rmtree(folder)
    return "accepted"


def _killed(random, arguments, checkpoint):
    """Start a run, kill it once it has written some checkpoints, and tell whether it was still there."""
    process = subprocess.Popen(
        [PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment()
    )
    wanted = random.choice([0, 1, 1, 2, 5, 20])
    delay = random.random() * (0.4 if wanted == 0 else 0.01)
    end = time.monotonic() + PATIENCE
    seen = set()
    while process.poll() is None and len(seen) < wanted:
        assert time.monotonic() < end, "the run hangs"
        with suppress(FileNotFoundError):
            seen.add((checkpoint / FILE_NAME).stat().st_mtime_ns)
        time.sleep(0.0005)
    with suppress(subprocess.TimeoutExpired):
        process.wait(delay)
    process.kill()
    return process.wait() == -signal.SIGKILL
