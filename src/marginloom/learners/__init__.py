"""How the weights move: one file a family."""

from marginloom.learners.base import Learner, Objective
from marginloom.learners.cutting_plane import CPD, NSlack, OneSlack
from marginloom.learners.dcd import DCD
from marginloom.learners.frank_wolfe import FrankWolfe
from marginloom.learners.fsmo import FSMO
from marginloom.learners.mira import MIRA
from marginloom.learners.newton import Newton
from marginloom.learners.passive_aggressive import PassiveAggressive
from marginloom.learners.perceptron import Perceptron
from marginloom.learners.sgd import SGD

#: All learners, by name.
LEARNERS: dict[str, type[Learner]] = {
    learner.name: learner
    for learner in (
        DCD,
        NSlack,
        CPD,
        OneSlack,
        FrankWolfe,
        FSMO,
        Newton,
        Perceptron,
        MIRA,
        PassiveAggressive,
        SGD,
    )
}

__all__ = [
    "CPD",
    "DCD",
    "FSMO",
    "LEARNERS",
    "MIRA",
    "SGD",
    "FrankWolfe",
    "Learner",
    "NSlack",
    "Newton",
    "Objective",
    "OneSlack",
    "PassiveAggressive",
    "Perceptron",
]
