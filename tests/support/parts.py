"""A world whose parts are in this process: what they are asked and answer travels as bytes."""

import numpy as np


def sent(arrays):
    """Return the arrays as they arrive somewhere else: read-only, in memory of their own."""
    return {name: np.frombuffer(array.tobytes(), dtype=array.dtype) for name, array in arrays.items()}


class Parts:
    """The parts of an engine for jobs of the same task, which each have a learner of their own."""

    def __init__(self, engine, jobs):
        self._parts = [engine.build_part(job) for job in jobs]
        self.parts = len(self._parts)
        self.questions = []

    def ask(self, question, common, own):
        self.questions.append(question)
        common = sent(common)
        pairs = zip(self._parts, own, strict=True)
        return [sent(part.answer(question, common, sent(arrays))) for part, arrays in pairs]
