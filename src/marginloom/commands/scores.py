"""Scores as tables: one row per set of examples, and one per label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marginloom.commands.tables import plain_table, print_table
from marginloom.tasks.base.metrics import MEASURES

_WIDTH = 80
_AVERAGES = {"macro": "macro average", "weighted": "weighted average"}


def print_scores(scores: Mapping[str, Mapping[str, Any]], most_labels: int | None = None) -> None:
    """Print the scores of every set of examples, then those of each label on the last set.

    Parameters
    ----------
    scores : mapping
        For every set its scores by name; ``per_label``, where there is one, has rows of precision, recall and F1. A
        single set may have an empty name.
    most_labels : int, optional
        Show no more labels than this, the most frequent ones.
    """
    if not scores:
        return
    numbers = {name: _single_numbers(values) for name, values in scores.items()}
    if "" in numbers:
        print("  ".join(f"{key} {value:.4f}" for key, value in numbers[""].items()))
    else:
        names = list(dict.fromkeys(key for values in numbers.values() for key in values))
        rows = [
            (name, *(f"{values[key]:.4f}" if key in values else "" for key in names))
            for name, values in numbers.items()
        ]
        table = [("", *names), *rows]
        if sum(len(name) + 2 for name in table[0]) > _WIDTH:  # a row for every score instead
            table = list(zip(*table, strict=True))
        print_table(plain_table(table[0], table[1:], table[0][1:]), _WIDTH)
    last = list(scores)[-1]
    if scores[last].get("per_label"):
        _print_labels(last, scores[last], most_labels)


def print_confusions(scores: Mapping[str, Any]) -> None:
    """Print the most frequent pairs of a gold label and a wrong one, if the scores have any."""
    pairs = scores.get("confusions")
    if pairs:
        print("most frequent errors")
        rows = [(pair["gold"], pair["predicted"], f"{pair['count']:,}") for pair in pairs]
        print_table(plain_table(["gold label", "predicted", "count"], rows, ["count"]), _WIDTH)


def _single_numbers(scores: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores that are single numbers, but for the averages shown below the labels."""
    shown_below = {f"{kind}_{measure}" for kind in _averages(scores) for measure in MEASURES} - {"macro_f1"}
    return {key: value for key, value in scores.items() if isinstance(value, float) and key not in shown_below}


def _averages(scores: Mapping[str, Any]) -> list[str]:
    return [kind for kind in _AVERAGES if f"{kind}_precision" in scores]


def _print_labels(name: str, scores: Mapping[str, Any], most: int | None) -> None:
    per_label: dict[str, Any] = scores["per_label"]
    by_support = sorted(per_label, key=lambda label: -per_label[label]["support"])
    all_fit = (
        most is None or len(by_support) <= most + 1
    )  # a line for the last one is no longer than to say it is not there
    chosen = set(by_support if all_fit else by_support[:most])
    rows = [
        (label, *(f"{found[measure]:.4f}" for measure in MEASURES), f"{found['support']:,}")
        for label, found in per_label.items()
        if label in chosen
    ]
    rows += [
        (_AVERAGES[kind], *(f"{scores[f'{kind}_{measure}']:.4f}" for measure in MEASURES), "")
        for kind in _averages(scores)
    ]
    headers = [f"label ({name})" if name else "label", *MEASURES, "support"]
    print_table(plain_table(headers, rows, headers[1:]), _WIDTH)
    left_out = len(per_label) - len(chosen)
    if left_out:
        print(f"{left_out} less frequent labels are not shown; marginloom evaluate shows all")
