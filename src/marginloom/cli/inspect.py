"""The command `marginloom inspect`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import numpy as np
import typer

from marginloom.cli.common import JsonOption, ModelArgument
from marginloom.tagging import Tagger


def inspect(
    model: ModelArgument,
    top: Annotated[int, typer.Option("--top", metavar="N", help="How many of the strongest weights.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show a model: sizes, labels, settings, certificate and strongest weights."""
    tagger = Tagger.load(model)
    summary = _summary(tagger, max(top, 0))
    if as_json:
        print(json.dumps(summary))
        return
    print(f"task       {summary['task']}")
    print(f"features   {summary['features']} ({summary['feature_count']})")
    print(f"labels     {len(tagger.labels.names)}: {tagger.labels.summary()}")
    print(f"weights    {summary['weights']}, {summary['nonzero']} not zero")
    if tagger.certificate:
        print(
            f"certified  relative gap {100 * tagger.certificate.gap:.3g} % "
            f"(primal {tagger.certificate.primal:.6g}, dual {tagger.certificate.dual:.6g})"
        )
    else:
        print("certified  nothing: trained by an online learner, or interrupted")
    print(f"state      {'saved, for --warm-start' if tagger.state else 'not saved'}")
    print("settings")
    for name, value in tagger.settings.items():
        print(f"  {name:<14} {value}")
    print("strongest weights")
    for entry in summary["strongest"]:
        print(f"  {entry['weight']:+10.4f}  {entry['feature']} -> {entry['label']}")


def _summary(tagger: Tagger, top: int) -> dict[str, Any]:
    return {
        "task": "tag",
        "features": tagger.features.name,
        "feature_count": tagger.feature_count,
        "labels": tagger.labels.names,
        "start_end": tagger.start_end,
        "weights": int(tagger.weights.size),
        "nonzero": int(np.count_nonzero(tagger.weights)),
        "certificate": None if tagger.certificate is None else vars(tagger.certificate),
        "state": tagger.state is not None,
        "settings": tagger.settings,
        "strongest": tagger.strongest(top),
    }
