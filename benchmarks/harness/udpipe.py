"""UDPipe 1 (`pip install ufal.udpipe`): its parser alone, trained on parts of speech as they are in the file.

It runs as a program of its own, since nothing else can end its training: `python udpipe.py train TREEBANK MODEL N` and
`python udpipe.py parse MODEL TREEBANK OUTPUT`. Both print the CPU seconds that training and parsing took.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from pathlib import Path

#: A parser without a beam, with the sizes of its manual, from words, UPOS and XPOS.
_SETTINGS = (
    "embedding_form=50;embedding_lemma=0;embedding_upostag=20;embedding_xpostag=20;embedding_feats=0;"
    "embedding_deprel=20;hidden_layer=200;batch_size=10;learning_rate=0.02;learning_rate_final=0.001;l2=0.5;"
    "transition_system=projective;transition_oracle=dynamic;structured_interval=0"
)


def is_missing() -> str | None:
    """Return a sentence on what to do if UDPipe is not installed."""
    if importlib.util.find_spec("ufal") and importlib.util.find_spec("ufal.udpipe"):
        return None
    return "UDPipe is not installed, so its lines are left out: pip install ufal.udpipe brings it"


def train(treebank: Path, model: Path, iterations: int, seconds: float) -> float | None:
    """Train on a CoNLL-U file, and return the CPU seconds; None if it was not done after so many seconds."""
    return _call("train", treebank, model, iterations, seconds=seconds)


def parse(model: Path, treebank: Path, output: Path) -> float | None:
    """Parse a CoNLL-U file, and return the CPU seconds."""
    return _call("parse", model, treebank, output, seconds=None)


def _call(*arguments: object, seconds: float | None) -> float | None:
    command = [sys.executable, __file__, *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=True)
    except subprocess.TimeoutExpired:
        return None
    return float(done.stdout.split()[-1])


def _sentences(path: str) -> object:
    from ufal import udpipe

    reader, error = udpipe.InputFormat.newConlluInputFormat(), udpipe.ProcessingError()
    reader.setText(Path(path).read_text(encoding="utf-8"))
    found = udpipe.Sentences()
    while True:
        sentence = udpipe.Sentence()
        if not reader.nextSentence(sentence, error):
            return found
        found.append(sentence)


def _train(treebank: str, model: str, iterations: str) -> float:
    from ufal import udpipe

    error, options = udpipe.ProcessingError(), f"iterations={iterations};{_SETTINGS}"
    sentences, start = _sentences(treebank), time.process_time()
    nothing = udpipe.Sentences()
    made = udpipe.Trainer.train("morphodita_parsito", sentences, nothing, "none", "none", options, error)
    if error.occurred():
        sys.exit(error.message)
    Path(model).write_bytes(made)
    return time.process_time() - start


def _parse(model: str, treebank: str, output: str) -> float:
    from ufal import udpipe

    loaded, error = udpipe.Model.load(model), udpipe.ProcessingError()
    # What a vector of sentences gives are copies: those that are parsed must be those that are written.
    sentences, writer = list(_sentences(treebank)), udpipe.OutputFormat.newConlluOutputFormat()  # type: ignore[call-overload]
    start = time.process_time()
    for sentence in sentences:
        if not loaded.parse(sentence, udpipe.Pipeline.DEFAULT, error):
            sys.exit(error.message)
    seconds = time.process_time() - start
    Path(output).write_text("".join(map(writer.writeSentence, sentences)), encoding="utf-8")
    return seconds


if __name__ == "__main__":
    print({"train": _train, "parse": _parse}[sys.argv[1]](*sys.argv[2:]))
