"""How the weights move: one file a family."""

from marginloom.learners.base import Learner, Objective
from marginloom.learners.cutting_plane import CPD, NSlack, OneSlack
from marginloom.learners.dcd import DCD
from marginloom.learners.frank_wolfe import FrankWolfe
from marginloom.learners.fsmo import FSMO
from marginloom.learners.perceptron import Perceptron

__all__ = ["CPD", "DCD", "FSMO", "FrankWolfe", "Learner", "NSlack", "Objective", "OneSlack", "Perceptron"]
