"""Tampered checkpoints, from which a run is to go on."""

from __future__ import annotations

import shutil

from fuzz.commands import checked_command
from fuzz.contract import outcome
from fuzz.files import tampered_file
from fuzz.samples import PROGRAMS, SAMPLES, train_arguments
from marginloom import Checkpoint
from marginloom.training.checkpoint import FILE_NAME


def checkpoint_in_python(random, lab):
    """Resume `fit`."""
    sample = random.choice(SAMPLES)
    folder = lab.empty("checkpoint")
    tampered_file(random, lab.samples / f"{sample.name} checkpoint" / FILE_NAME, folder / FILE_NAME)
    before = (folder / FILE_NAME).read_bytes()

    def resume():
        sample.fit(checkpoint=Checkpoint(folder, interval=1e9), resume=True)

    result = outcome(resume)
    if result == "refused":
        assert (folder / FILE_NAME).read_bytes() == before, "the checkpoint that was refused is gone"
    return result


def checkpoint_on_the_command_line(random, lab):
    """Resume `marginloom train`."""
    name = random.choice(list(PROGRAMS))
    folder = lab.empty("checkpoint")
    out = lab.empty("out") / "m"
    source = lab.samples / f"program {name} checkpoint" / FILE_NAME
    if random.random() < 0.02:
        shutil.copy(source, folder / FILE_NAME)
    else:
        tampered_file(random, source, folder / FILE_NAME)
    before = (folder / FILE_NAME).read_bytes()
    arguments = train_arguments(name, lab.samples)
    arguments[arguments.index("--checkpoint") + 1] = str(folder)
    arguments[arguments.index("--checkpoint-interval") + 1] = "1000000"
    result = checked_command([*arguments, "--resume", "--model", out], output=out)
    if result == "refused":
        assert (folder / FILE_NAME).read_bytes() == before, "the checkpoint that was refused is gone"
    return result
