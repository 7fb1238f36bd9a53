"""Pictures after Figures 5 to 8 of minibatch-2013 and Figures 4 and 6 of parameter-mixing-2010."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import scaling_minibatch as minibatch
import scaling_mixing as mixing
from learners_pictures import panels, save
from learners_runs import Record
from scaling_figures import best_score, measured, seconds_a_pass, seconds_to_score
from scaling_minibatch import FAMILIES, Family, SpeedUp, batch_size

Records = Mapping[str, Sequence[Record]]
CHOSEN_SIZE = 24  # with which the paper measures threads


def draw_minibatch(records: Records, scores: Mapping[str, str], folder: Path) -> list[Path]:
    """Draw a file a data set."""
    return [path for data, runs in records.items() for path in _minibatch(data, runs, scores[data], folder)]


def _minibatch(data: str, records: Sequence[Record], score: str, folder: Path) -> list[Path]:
    """Draw a row of four panels a learner: sizes on one thread, threads, speed-ups, waiting."""
    families = {family: runs for family in FAMILIES if (runs := minibatch.of_family(family, records))}
    if not families:
        return []
    figure, rows = panels(4, len(families))
    for (sizes, threads, speed_ups, waiting), (family, runs) in zip(rows, families.items(), strict=True):
        alone = [record for record in runs if record.settings.threads == 1]
        _scores(sizes, {_label(record): record for record in alone}, score)
        sizes.set_title(f"{data}, {family.name}: one thread", fontsize="medium")
        chosen = [record for record in runs if batch_size(record) in (0, 1, CHOSEN_SIZE)]
        _scores(threads, {_label(record): record for record in chosen}, score)
        threads.set_title(f"m = {CHOSEN_SIZE} and ipm", fontsize="medium")
        _speed_ups(speed_ups, family, runs)
        _waiting(waiting, family, runs)
    return save(figure, folder / f"minibatch-figures5to8-{data}")


def _label(record: Record) -> str:
    size = batch_size(record)
    name = {0: "ipm", 1: "online"}.get(size, f"m = {size}")
    return f"{name}, {record.settings.threads}"


def _scores(axes: Any, runs: Mapping[str, Record], score: str) -> None:
    for name, record in runs.items():
        rows = measured(record)
        axes.plot([row["wall"] for row in rows], [row["score"] for row in rows], marker=".", lw=1, label=name)
    best = [best_score(record) for record in runs.values()]
    if best:  # the first passes would press the rest into a line
        room = max(max(best) - min(best), 0.01)
        axes.set_ylim(min(best) - room, max(best) + 0.1 * room)
    axes.set(xlabel="training seconds", ylabel=score)
    _finish(axes)


def _finish(axes: Any) -> None:
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="x-small")


def _lines(family: Family, runs: Sequence[Record]) -> dict[str, list[tuple[int, SpeedUp]]]:
    """Return speed-ups by threads, of batches of the chosen size and of ipm."""
    online = minibatch.online_run(family, runs)
    return {
        name: [(one.settings.threads, SpeedUp.of(one, runs, online)) for one in runs if batch_size(one) == size]
        for name, size in ((f"m = {CHOSEN_SIZE}", CHOSEN_SIZE), ("ipm", 0))
    }


def _speed_ups(axes: Any, family: Family, runs: Sequence[Record]) -> None:
    for name, line in _lines(family, runs).items():
        for kind, style in (("extrinsic", "-"), ("intrinsic", "--")):
            points = [(threads, getattr(one, kind)) for threads, one in line if getattr(one, kind) is not None]
            axes.plot(*_columns(points), style, marker=".", lw=1, label=f"{name}, {kind}")
    axes.set(xlabel="threads", ylabel="speed-up")
    _finish(axes)


def _waiting(axes: Any, family: Family, runs: Sequence[Record]) -> None:
    for name, line in _lines(family, runs).items():
        points = [(threads, 100 * one.for_others) for threads, one in line if one.for_others is not None]
        axes.plot(*_columns(points), marker=".", lw=1, label=name)
    axes.set(xlabel="threads", ylabel="waiting for each other, % of the time", ylim=(0, None))
    _finish(axes)


def _columns(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def draw_mixing(records: Records, scores: Mapping[str, str], folder: Path) -> list[Path]:
    """Draw a row of four panels a data set: plain, averaged, training errors, seconds by shards."""
    figure, rows = panels(4, len(records))
    for (plain, averaged, errors, shards), (data, runs) in zip(rows, records.items(), strict=True):
        systems = _most_threads(mixing.of_systems(runs))
        for axes, is_averaged in ((plain, False), (averaged, True)):
            chosen = [record for record in systems if record.settings.learner["averaged"] is is_averaged]
            lines = {mixing.SYSTEMS[record.settings.algorithm]: record for record in chosen}
            _scores(axes, lines, f"development {scores[data]}")
            axes.set_title(f"{data}, {'averaged' if is_averaged else 'plain'}", fontsize="medium")
        _errors(errors, _most_threads(mixing.of_errors(runs)))
        _shards(shards, _most_threads(mixing.of_shards(runs)))
    return save(figure, folder / "mixing-figures4and6")


def _most_threads(runs: Sequence[Record]) -> list[Record]:
    """Leave out the runs of earlier calls with fewer threads."""
    most = {}
    for record in sorted(runs, key=lambda one: one.settings.threads):
        most[record.settings.name.rsplit(", ", 1)[0]] = record
    return list(most.values())


def _errors(axes: Any, runs: Sequence[Record]) -> None:
    for record in runs:
        label = f"{mixing.shard_count(record)} shards, {record.settings.engine['mixing']}"
        axes.plot([row["pass"] for row in record.rows], [row["wrong"] for row in record.rows], lw=1, label=label)
    axes.set(xlabel="pass", ylabel="wrong training examples")
    if runs:
        axes.set(yscale="log")
    _finish(axes)


def _shards(axes: Any, runs: Sequence[Record]) -> None:
    target = min((best_score(record) for record in runs), default=0.0)
    rounds = [(mixing.shard_count(record), seconds_a_pass(record)) for record in runs]
    reached = [(mixing.shard_count(record), seconds_to_score(record, target)) for record in runs]
    axes.plot(*_columns(rounds), ".-", lw=1, label="a round")
    axes.plot(*_columns(reached), ".-", lw=1, label=f"to a score of {target:.4f}")
    axes.set(xlabel="shards", ylabel="seconds")
    if runs:  # logarithms of nothing are refused
        axes.set(xscale="log", yscale="log")
    _finish(axes)
