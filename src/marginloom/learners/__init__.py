"""How the weights move: one file a family."""

from marginloom.learners.base import Learner, Objective
from marginloom.learners.dcd import DCD
from marginloom.learners.perceptron import Perceptron

__all__ = ["DCD", "Learner", "Objective", "Perceptron"]
