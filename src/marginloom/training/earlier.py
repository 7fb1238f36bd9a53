"""What files of earlier versions say, in the words of this one.

Labels that do not interact were once trained by the learner ``dcd`` on an engine of its own, ``columns``. Now they are
trained by the learner ``binary-dcd`` on the engine ``serial``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from marginloom.learners import DCD, BinaryDCD

#: The setting with the parameters as the user gave them: an estimator that is loaded has these again.
GIVEN = "given"

_COLUMNS, _LABEL_DCD, _DCD_SSVM = "columns", "label-dcd", "dcd-ssvm"


def present_learner(name: str, arrays: Collection[str]) -> str:
    """Return the learner of a state with arrays of these names.

    Examples
    --------
    >>> present_learner("dcd", ["decisions", "weights"]), present_learner("dcd", ["duals", "weights"])
    ('binary-dcd', 'dcd')
    """
    return BinaryDCD.name if name == DCD.name and "decisions" in arrays else name


def present_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a model or a checkpoint with the algorithm, learner and engine that it has today.

    Examples
    --------
    >>> present_settings({"algorithm": "dcd-ssvm", "learner": {"name": "dcd"}, "engine": {"name": "columns"}})
    {'algorithm': 'label-dcd', 'learner': {'name': 'binary-dcd'}, 'engine': {'name': 'serial'}}
    """
    learner, engine = settings.get("learner"), settings.get("engine")
    if not (isinstance(learner, Mapping) and isinstance(engine, Mapping) and learner.get("name") == DCD.name):
        return dict(settings)
    if engine.get("name") == _COLUMNS:
        kept = {field.name for field in dataclasses.fields(BinaryDCD)}
        parameters = {name: value for name, value in learner.items() if name in kept}
        present = {
            "algorithm": _LABEL_DCD,
            "learner": {"name": BinaryDCD.name, **parameters},
            "engine": {**engine, "name": "serial"},
        }
    elif settings.get("algorithm") == _LABEL_DCD:  # on other engines it was dcd-ssvm with parameters of its own
        present = {"algorithm": _DCD_SSVM}
    else:
        return dict(settings)
    result = {**settings, **present}
    if isinstance(settings.get(GIVEN), Mapping):
        result[GIVEN] = _present_given(result)
    return result


def _present_given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters that train in the same way; those of ``auto`` stay, but for an engine that there is not."""
    given = dict(settings[GIVEN])
    engine = given.get("engine")
    if isinstance(engine, Mapping) and engine.get("name") == _COLUMNS:
        given["engine"] = {name: value for name, value in engine.items() if name != "name"} or None
    elif engine == _COLUMNS:
        given["engine"] = None
    if given.get("algorithm") != "auto":
        usual = BinaryDCD() if settings["algorithm"] == _LABEL_DCD else DCD()
        parameters = {name: value for name, value in settings["learner"].items() if name != "name"}
        changed = {name: value for name, value in parameters.items() if value != getattr(usual, name, None)}
        given |= {"algorithm": settings["algorithm"], "learner": changed or None}
    return given
