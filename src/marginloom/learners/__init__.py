"""How the weights move: one file a family. A learner is listed here, and nowhere else."""
# ruff: noqa: I001 - the order in which users see them

from marginloom.learners.base import Learner, check_native
from marginloom.learners.dcd import DCD as DCD
from marginloom.learners.cutting_plane import NSlack as NSlack, CPD as CPD, OneSlack as OneSlack
from marginloom.learners.frank_wolfe import FrankWolfe as FrankWolfe
from marginloom.learners.fsmo import FSMO as FSMO
from marginloom.learners.newton import Newton as Newton
from marginloom.learners.binary_dcd import BinaryDCD as BinaryDCD
from marginloom.learners.perceptron import Perceptron as Perceptron
from marginloom.learners.mira import MIRA as MIRA
from marginloom.learners.passive_aggressive import PassiveAggressive as PassiveAggressive
from marginloom.learners.sgd import SGD as SGD
from marginloom.common.registry import registered, those_with_a_name

_OWN = those_with_a_name(globals(), Learner)

#: Names in `marginloom`.
PUBLIC: tuple[str, ...] = tuple(part.__name__ for part in _OWN)

#: All learners, by name.
LEARNERS = registered("learner", Learner, _OWN, check_native)
