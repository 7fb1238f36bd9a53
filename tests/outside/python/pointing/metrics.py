"""Scores of pointing."""

from marginloom.tasks.base.metrics import ratio


def pointing_scores(gold, predicted):
    """Return how often the right thing was pointed at."""
    return {"accuracy": ratio(sum(map(int.__eq__, gold, predicted)), len(gold))}
