"""Training with little address space, as under ``ulimit -v``: a clean error, or a good model."""

from __future__ import annotations

import os
import resource
import subprocess

from support.program import PROGRAM, environment

from fuzz.contract import ACCEPTED, REFUSED, check_message
from fuzz.samples import PROGRAMS, train_arguments
from marginloom.commands.task_commands import commands_of
from marginloom.io.model import open_model

PATIENCE = 60.0
MB = 1 << 20
LEAST = 130  # with less, numpy crashes while it is imported
#: What interpreter and libraries say themselves when they cannot even be loaded.
NOT_OURS = ("OpenBLAS", "Fatal Python error", "error while loading shared libraries", "Could not find platform")


def little_memory(random, lab):
    """Train within some address space, from too little to start with to enough."""
    folder = lab.empty("little")
    model = folder / "m"
    old = b"what stood here before"
    model.write_bytes(old)
    arguments = train_arguments(random.choice(list(PROGRAMS)), lab.samples)
    arguments[arguments.index("--checkpoint") + 1] = str(folder / "checkpoint")
    arguments += ["--model", str(model), "--threads", str(random.choice([1, 2, 8])), "--tol", "1e-9"]
    code, messages = _run_within(random.randrange(LEAST, 400) * MB, arguments)
    left = [path for path in folder.rglob("*") if path.suffix == ".tmp"]
    assert not left, f"left behind: {left}"
    if code == 0:
        assert not messages, messages
        assert commands_of(open_model(model)).model_type.load(model).weights.size > 0
        return ACCEPTED
    loader = (
        code == 127 and "cannot allocate memory for thread-local data" in messages
    )  # the system's, which ends there
    assert code == 1 or loader, f"exit code {code}: {messages}"
    assert model.read_bytes() == old, "the model that was there is gone"
    if not loader and not any(words in messages for words in NOT_OURS):
        assert "this is a bug" not in messages, messages
        assert messages.startswith("marginloom: "), messages
        assert messages.count("\n") == 1, messages
        check_message(messages)
    return REFUSED


def _run_within(limit, arguments):
    """Run the program as a process that can have so many bytes of address space."""
    done = subprocess.run(
        [PROGRAM, *map(os.fspath, arguments)],
        capture_output=True,
        timeout=PATIENCE,
        env=environment(),
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    return done.returncode, done.stderr.decode(errors="replace")
