"""Tampered models, used in every way that a model can be used."""

from __future__ import annotations

import json

from fuzz.commands import checked_command
from fuzz.contract import outcome
from fuzz.files import tampered_file
from fuzz.samples import BY_NAME, PROGRAMS, SAMPLES, train_arguments

_INPUTS = {
    "spans": "dev.relations",
    "templates": "dev.conll",
    "classify": "dev.svm",
    "multilabel": "dev.sets",
    "detect": "dev.npz",
    "arcs": "dev.trees",
}


def model_in_python(random, lab):
    """Load, look at, predict, save and train on."""
    sample = random.choice(SAMPLES)
    path = lab.scratch / "m"
    tampered_file(random, lab.samples / f"{sample.name}.model", path)
    return outcome(lambda: _use(random, sample, path, lab.scratch))


def _use(random, sample, path, scratch):
    estimator = type(sample.make()).load(path)
    model = estimator.model_
    json.dumps(model.summary())
    model.strongest(20)
    k_best = getattr(estimator, "predict_k_best", lambda X, k: None)
    outcomes = [
        outcome(lambda: estimator.predict(sample.X, **sample.options)),
        outcome(lambda: k_best(sample.X, 2, **sample.options)),
        outcome(lambda: estimator.score(sample.X, sample.y, **sample.options)),
        outcome(lambda: estimator.save(scratch / "again")),
    ]
    type(sample.make()).load(scratch / "again")
    repr(estimator)
    fresh = sample.make()
    fresh._adopt(model)
    outcomes.append(outcome(lambda: sample.fit(fresh)))
    if random.random() < 0.2:
        estimator.set_params(max_iter=2, tol=0.1)
        outcomes.append(outcome(lambda: sample.fit(estimator)))
    return outcomes


def model_on_the_command_line(random, lab):
    """Inspect, predict, evaluate or warm start."""
    name = random.choice(list(PROGRAMS))
    path = lab.scratch / "m"
    tampered_file(random, lab.samples / f"program {name}.model", path)
    given = lab.samples / _INPUTS.get(name, f"dev.{name}")
    out = lab.empty("out") / "o"
    match random.randrange(5):
        case 0:
            return checked_command(["inspect", path, *random.choice([[], ["--json"], ["--top", "3"]])])
        case 1:
            return checked_command(["predict", path, given, "-o", out], output=out)
        case 2:
            return checked_command(["predict", path, "-", "--k-best", "2"], stdin=given.read_bytes())
        case 3:
            return checked_command(["evaluate", path, given, *random.choice([[], ["--json"]])])
        case _:
            arguments = train_arguments(name, lab.samples)[
                : -len(["--checkpoint", "DIR", "--checkpoint-interval", "0"])
            ]
            return checked_command([*arguments, "--model", out, "--warm-start", path], output=out)


def state(random, lab):
    """Warm start from a state that was changed and nothing else."""
    from fuzz.tampering import tampered_arrays
    from marginloom.io.model import load_model, save_model
    from marginloom.tasks.registry import command_of

    sample = random.choice(SAMPLES)
    task = command_of(sample.make().model_type)
    header, arrays = load_model(lab.samples / f"{sample.name}.model", task)
    own = {name: array for name, array in arrays.items() if name.startswith("state.")}
    others = {name: array for name, array in arrays.items() if name not in own}
    save_model(lab.scratch / "m", task, header, others | tampered_arrays(random, own))

    def start():
        estimator = BY_NAME[sample.name].make()
        estimator._adopt(estimator.model_type.load(lab.scratch / "m"))
        sample.fit(estimator)

    return outcome(start)
