"""What the words on algorithms mean, for the pages that use them."""

from __future__ import annotations

import re

TERMS = {
    "engine": "how threads share the work; serial uses one thread, except with label-dcd",
    "certified": "whether training ends with a proven bound on how far its objective is from the optimum",
    "online": "updating the weights after each example or minibatch, without the dual",
    "pass": "one run over all training examples (an epoch)",
    "inference": "finding the output with the highest score for an example",
    "loss-augmented inference": "finding the output with the highest sum of score and loss",
    "k-best inference": "finding the k outputs with the highest scores",
    "candidate": "a wrong output that inference found",
    "working set": "the candidates that are stored, to be used again in later updates",
    "inner pass": "a pass over the working set, which updates the weights without inference",
    "minibatch": "a few training examples whose inferences use the same weights",
    "shard": "a part of the training examples",
    "margin": "the loss of a candidate; the gold output should score higher than the candidate by at least this much",
    "violation": "by how much a candidate misses its margin",
    "slack": "the largest violation among the candidates of an example",
    "constraint": "the condition that the violation of a candidate is at most the slack",
    "dual": "a lower bound on the objective, which training raises",
    "dual variable": "alpha, a number for each candidate: how much the candidate contributes to the weights",
    "gap": "the difference between the objective and the dual",
    "gain": "how much an update raises the dual",
    "sweep": "one round of updates in which every dual variable has its turn",
}

#: What symbols of formulas mean, after what they begin with.
SYMBOLS = {
    "w": "the weights",
    "C_i": "C times the weight of example i",
    "xi_i": "the slack of example i",
    "loss(y)": "the cost of predicting y",
    "d(y)": "the features of the gold output minus those of y",
    "alpha(y)": "the dual variable of candidate y",
}
#: What only its beginning shows, since what follows differs.
_BEGINNINGS = {"xi_i": r"xi\b|xi_", "loss(y)": r"loss\(", "d(y)": r"d\(", "alpha(y)": r"alpha\b|alpha_"}


def terms_in(text: str) -> dict[str, str]:
    """Return the terms that occur in a text or in the meaning of such a term, each with its meaning.

    Examples
    --------
    >>> list(terms_in("number of inner passes over the working set"))
    ['pass', 'inference', 'candidate', 'working set', 'inner pass']
    """
    found: set[str] = set()
    while new := {term for term in TERMS.keys() - found if re.search(rf"\b{term}(?:e?s)?\b", text, re.IGNORECASE)}:
        found |= new
        text = " ".join(TERMS[term] for term in new)
    return {term: meaning for term, meaning in TERMS.items() if term in found}


def symbols_in(formulas: str) -> dict[str, str]:
    """Return the symbols that occur in formulas, each with its meaning.

    Examples
    --------
    >>> list(symbols_in("w += (change in alpha) d(y)"))
    ['w', 'd(y)', 'alpha(y)']
    """
    return {
        symbol: meaning
        for symbol, meaning in SYMBOLS.items()
        if re.search(rf"(?<![A-Za-z_])(?:{_BEGINNINGS.get(symbol, rf'{symbol}(?![a-z])')})", formulas)
    }
