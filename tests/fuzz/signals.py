"""Signals that come while one search lasts long: training ends soon, and leaves its model and no other file."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress

from support.pairs import tolerance
from support.program import PROGRAM, environment, names_in

from fuzz.contract import ACCEPTED
from marginloom.tasks.parse.datasets import write_conllu
from marginloom.tasks.parse.model import ParseModel

#: Seconds until a program must have ended after its last signal, on a machine that has much else to do.
PATIENCE = 30.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def signal_in_a_search(random, lab):
    """Interrupt the training of a parser on a long sentence, of the order whose search takes longest."""
    folder = lab.empty("signals")
    model, treebank = folder / "m", lab.scratch / "long.conllu"
    _write_long_sentence(random, treebank, random.choice([50, 400, 800]))
    numbers = [random.choice(SIGNALS) for _ in range(random.choice([1, 1, 2, 3]))]
    algorithm = random.choice(["dcd-ssvm", "averaged-perceptron", "minibatch-perceptron", "shared-dcd"])
    process = subprocess.Popen(
        [PROGRAM, "train", "parse", treebank, "--model", model, "--order", "2",
         *random.choice([[], [""
         "--non-projective"]]), "--hash-bits", "10", "--max-iter", "1000000", *tolerance(algorithm, 1e-300),
         "--threads", str(random.choice([1, 2])),
         "--algorithm", algorithm],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    said = b""
    try:
        while b"memory: " not in said:  # said when the first pass is about to begin
            line = process.stderr.readline()
            assert line, said.decode()
            said += line
        for number in numbers:
            with suppress(subprocess.TimeoutExpired):
                process.wait(random.random() * random.choice([0.02, 0.5, 3.0]))
            process.send_signal(number)
        said += process.communicate(timeout=PATIENCE)[1]
    finally:
        process.kill()
        process.wait()
    messages = said.decode()
    assert "Traceback" not in messages, messages
    assert "this is a bug" not in messages, messages
    ended = process.returncode == 0  # the tree was learnt before a signal came
    # Of signals that come together, Python hears the one with the lowest number first.
    assert ended or process.returncode in {128 + number for number in numbers}, (
        f"exit code {process.returncode}: {messages}"
    )
    left = names_in(folder)
    assert left == ["m"] or (left == [] and len(numbers) > 1 and not ended), f"left behind: {left}"
    if left and not ended:
        kept = ParseModel.load(model)
        assert kept.settings["stopped"] == "interrupted"
        assert kept.certificate is None
    return ACCEPTED


def _write_long_sentence(random, path, words):
    sentence = [(f"w{random.randrange(40)}", f"T{random.randrange(6)}") for _ in range(words)]
    tree = [0, *(random.randrange(1, word) for word in range(2, words + 1))]
    write_conllu(path, [sentence[:5], sentence], [[0, 1, 2, 3, 4], tree])
