"""How the weights move: one file a family."""

from marginloom.learners.base import Learner, Objective
from marginloom.learners.dcd import DCD
from marginloom.learners.mira import MIRA
from marginloom.learners.passive_aggressive import PassiveAggressive
from marginloom.learners.perceptron import Perceptron
from marginloom.learners.sgd import SGD

__all__ = ["DCD", "MIRA", "SGD", "Learner", "Objective", "PassiveAggressive", "Perceptron"]
