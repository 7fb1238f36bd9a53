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
        self.questions_of_changes = 0
        self._last = {}

    def shares(self, question):
        return [1.0] * self.parts

    def ask(self, question, common, own, changed):
        self.questions.append(question)
        self.questions_of_changes += bool(changed)
        for name, places in changed.items():
            same = np.ones(common[name].size + 3, dtype=bool)
            same[(4 * places[:, None].astype(int) + np.arange(4)).ravel()] = False
            same = same[: common[name].size]
            assert (common[name][same] == self._last[name][same]).all()
        self._last = common = sent(common)
        pairs = zip(self._parts, own, strict=True)
        return [sent(part.answer(question, common, sent(arrays))) for part, arrays in pairs]
