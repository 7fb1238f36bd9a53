"""Pairs of algorithms and engines."""

from marginloom.algorithms import ALGORITHMS, engines_of


def for_labels(algorithm):
    """Tell whether a preset is for labels that do not interact, and for nothing else."""
    return "decisions" in ALGORITHMS[algorithm].learner.all_needs()


#: Presets that can train any task.
GENERAL = {name: preset for name, preset in ALGORITHMS.items() if not for_labels(name)}
PRESETS = [(name, preset.engine.name) for name, preset in ALGORITHMS.items()]
_FIRST = {preset.learner.name: name for name, preset in reversed(ALGORITHMS.items())}
OTHERS = [
    (_FIRST[learner.name], engine)
    for learner in {preset.learner.name: preset.learner for preset in ALGORITHMS.values()}.values()
    for engine in engines_of(learner)
    if not any(ALGORITHMS[name].learner.name == learner.name and own == engine for name, own in PRESETS)
]
#: Every preset on its own engine, and every learner once on every other engine that it has.
CASES = [*PRESETS, *OTHERS]

#: What engines need for the optimum of any small problem: by default a cascade goes through its layers once.
TO_THE_OPTIMUM = {"cascade": {"feedback": 10}}


def racing(n_threads):
    """Return the presets whose results differ from run to run on so many threads."""
    return [name for name, preset in ALGORITHMS.items() if not preset.engine.gives_same_bits(n_threads)]


def with_effect(algorithm, options):
    """Return the options without those of C, tol, loss and memory that the algorithm does not have."""
    lacks = {"C", "tol", "loss", "memory"} - ALGORITHMS[algorithm].common if algorithm in ALGORITHMS else set()
    return {name: value for name, value in options.items() if name not in lacks}


def tolerance(algorithm, gap):
    """Return what gives the algorithm that tolerance on the command line, nothing if it has none."""
    return ["--tol", str(gap)] if "tol" in ALGORITHMS[algorithm].common else []
