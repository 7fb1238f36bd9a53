"""Tampered models, used in every way that a model can be used."""

from __future__ import annotations

import json

from fuzz.commands import checked_command
from fuzz.contract import outcome
from fuzz.files import tampered_file
from fuzz.samples import BY_NAME, PROGRAMS, SAMPLES, train_arguments


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
        outcome(lambda: _explain(random, sample, estimator)),
        outcome(lambda: _ask_for_probabilities(sample, estimator)),
        outcome(lambda: sample.calibrate(estimator)),
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


def _explain(random, sample, estimator):
    """Explain the prediction for one example, perhaps by the training examples too."""
    if not hasattr(estimator, "explain") or sample.options:  # there are no explanations, or X is one matrix of tokens
        return
    training = (sample.X, sample.y) if random.random() < 0.5 else None
    json.dumps(estimator.explain(sample.X[0], training=training).to_dict(), default=str)


def _ask_for_probabilities(sample, estimator):
    if not hasattr(estimator, "predict_proba"):
        return
    estimator.predict_proba(sample.X, **sample.options)
    estimator.log_probability(sample.X, sample.y)


def model_on_the_command_line(random, lab):
    """Inspect, predict, evaluate, calibrate, explain or warm start."""
    name = random.choice(list(PROGRAMS))
    path = lab.scratch / "m"
    tampered_file(random, lab.samples / f"program {name}.model", path)
    training = next(word for word in PROGRAMS[name] if word.startswith("train."))
    given = lab.samples / training.replace("train", "dev")
    out = lab.empty("out") / "o"
    match random.randrange(8):
        case 0:
            return checked_command(["inspect", path, *random.choice([[], ["--json"], ["--top", "3"]])])
        case 1:
            return checked_command(["predict", path, given, "-o", out], output=out)
        case 2:
            return checked_command(["predict", path, "-", "--k-best", "2"], stdin=given.read_bytes())
        case 3:
            return checked_command(["evaluate", path, given, *random.choice([[], ["--json"]])])
        case 4:
            return checked_command(["calibrate", path, given, "-o", out], output=out)
        case 5:
            return checked_command(["predict", path, given, "--confidence", "-o", out], output=out)
        case 6:
            return checked_command(["explain", path, given, *explain_options(random, name, lab)])
        case _:
            arguments = train_arguments(name, lab.samples)[
                : -len(["--checkpoint", "DIR", "--checkpoint-interval", "0"])
            ]
            return checked_command([*arguments, "--model", out, "--warm-start", path], output=out)


def explain_options(random, name, lab):
    """Return options of `marginloom explain`, some of which do not fit."""
    options = random.choice([[], ["--json"], ["--gold"], ["--token", "2"], ["--token", "1", "--instead", "NOUN"]])
    if random.random() < 0.5:
        options = [
            *options,
            "--train",
            next(lab.samples / word for word in PROGRAMS[name] if word.startswith("train.")),
        ]
    return [*options, "--sentence", str(random.choice([1, 2, 999]))]


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
