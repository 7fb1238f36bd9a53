"""Types of spans and relations between them; inference is in cpp/tasks/relations."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom import _core
from marginloom.common.memory import WEIGHT
from marginloom.common.parameters import checked
from marginloom.core.choice import Choice, Circumstances
from marginloom.core.marginals import MarginalTask
from marginloom.errors import InputError
from marginloom.tasks.relations.features import EncodedSpans
from marginloom.tasks.relations.integer_program import IntegerProgram, check_solver_installed
from marginloom.tasks.relations.outputs import Outputs
from marginloom.tasks.relations.sentences import pair_counts, span_counts

SOLVERS = ("native", "ilp")
#: Nodes that the native solver visits in one search at most: about a second.
NODE_LIMIT = 1_000_000
#: Seconds that an integer program may take.
TIME_LIMIT = 60.0


@dataclasses.dataclass(frozen=True)
class Losses:
    """What wrong decisions cost.

    Attributes
    ----------
    entity : float
        A wrong type.
    pair : float
        A relation where gold has none.
    missed : float
        None, or another relation, where gold has one.
    """

    entity: float = 2.0
    pair: float = 1.0
    missed: float = 1.5

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            name = "missed_relation_loss" if field.name == "missed" else f"{field.name}_loss"
            object.__setattr__(self, field.name, float(checked(name, getattr(self, field.name), "not negative")))
        if not (self.entity or self.pair or self.missed):
            raise InputError("entity_loss, pair_loss and missed_relation_loss are all 0; one of them must be positive")


@dataclasses.dataclass(frozen=True)
class Solver:
    """How the best types and relations are found.

    Attributes
    ----------
    name : {"native", "ilp"}
        Branch and bound, or an integer program.
    node_limit : int or None
        Nodes of one search of ``native`` at most; 0 for no limit, None for `NODE_LIMIT`.
    time_limit : float or None
        Seconds of one search of ``ilp`` at most; 0 for no limit, None for `TIME_LIMIT`.
    """

    name: str = "native"
    node_limit: int | None = None
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if self.name not in SOLVERS:
            raise InputError(f"solver must be one of {', '.join(SOLVERS)}, not {self.name!r}")
        if self.name == "ilp" and self.node_limit is not None:
            raise InputError("node_limit (--node-limit) is for the solver native; ilp has time_limit (--time-limit)")
        if self.name == "native" and self.time_limit is not None:
            raise InputError("time_limit (--time-limit) is for the solver ilp; native has node_limit (--node-limit)")
        if self.node_limit is not None:
            checked("node_limit", self.node_limit, "count")
        if self.time_limit is not None:
            checked("time_limit", self.time_limit, "not negative")
        if self.name == "ilp":
            check_solver_installed()

    def core(self, types: int, labels: int, table: Sequence[tuple[int, int, int]]) -> _core.JointSolver:
        """Return the native solver."""
        if self.name == "native":
            return _core.BranchAndBound(NODE_LIMIT if self.node_limit is None else int(self.node_limit))
        limit = TIME_LIMIT if self.time_limit is None else float(self.time_limit)
        return _core.PythonSolver(IntegerProgram(types, labels, table, limit))


@dataclasses.dataclass(frozen=True)
class Space:
    """Which outputs there are.

    Attributes
    ----------
    types, relations : int
        How many there are; label 0 of a pair is none, relation r has the label r + 1.
    table : sequence of tuple
        Lines (label, head type, tail type) by number: what relations may connect.
    """

    types: int
    relations: int
    table: Sequence[tuple[int, int, int]]

    @property
    def labels(self) -> int:
        """Number of labels of a pair."""
        return self.relations + 1


class RelationsTask(MarginalTask):
    """Sentences with spans, with or without their gold types and relations.

    Parameters
    ----------
    encoded : EncodedSpans
        The features of the spans and the pairs.
    counts : tuple of int
        Number of features of spans, and of pairs.
    space : Space
        Which outputs there are.
    losses : Losses
        What wrong decisions cost.
    solver : Solver
        How the best output is found.
    gold : Outputs or None
        The gold ones.

    Examples
    --------
    >>> from marginloom.tasks.relations.features import FeatureRows
    >>> rows = FeatureRows(np.arange(3, dtype=np.uint64), np.zeros(2, np.uint32))
    >>> encoded = EncodedSpans(np.array([0, 2], np.uint64), rows, rows)
    >>> task = RelationsTask(encoded, (1, 1), Space(2, 1, [(1, 0, 1)]))
    >>> weights = np.zeros(task.core.dimension)
    >>> weights[task.core.span_rows.stride + 1] = 1.0
    >>> task.predict(weights).labels.tolist()
    [1, 0]
    """

    def __init__(
        self,
        encoded: EncodedSpans,
        counts: tuple[int, int],
        space: Space,
        losses: Losses | None = None,
        solver: Solver | None = None,
        gold: Outputs | None = None,
    ) -> None:
        self._encoded, self._gold, self._space = encoded, gold, space
        self._losses, self._solver = losses or Losses(), solver or Solver()
        self._counts = counts
        data = _core.RelationsData(
            sentences=encoded.sentences,
            span_rows=encoded.spans.rows,
            span_features=encoded.spans.features,
            pair_rows=encoded.pairs.rows,
            pair_features=encoded.pairs.features,
            types=None if gold is None else gold.types,
            labels=None if gold is None else gold.labels,
        )
        options = _core.RelationsOptions(
            types=space.types,
            labels=space.labels,
            table=[list(line) for line in space.table],
            span_features=counts[0],
            pair_features=counts[1],
            entity_loss=self._losses.entity,
            pair_loss=self._losses.pair,
            missed_loss=self._losses.missed,
        )
        try:
            core = _core.RelationsTask(data, options, self._solver.core(space.types, space.labels, space.table))
        except ValueError as error:
            raise InputError(str(error)) from error
        self.core: _core.RelationsTask = core

    @property
    def fingerprint(self) -> str:
        """Identify the sentences' spans and their gold types and relations; features may change."""
        digest = hashlib.sha256(self._encoded.sentences.tobytes())
        for array in () if self._gold is None else self._gold:
            digest.update(array.tobytes())
        digest.update(json.dumps([self._space.types, self._space.relations]).encode())
        return digest.hexdigest()

    @property
    def fingerprints(self) -> dict[str, str]:
        """Identify the sentences, their gold, the table, the losses, the solver and the features."""
        digest = hashlib.sha256(json.dumps(self._counts).encode())
        for rows in (self._encoded.spans, self._encoded.pairs):
            digest.update(rows.rows.tobytes())
            digest.update(rows.features.tobytes())
        return {
            "examples": self.fingerprint,
            "relation types": json.dumps([list(line) for line in self._space.table]),
            "losses": json.dumps(dataclasses.astuple(self._losses)),
            "solver": json.dumps(dataclasses.astuple(self._solver)),
            "features": digest.hexdigest(),
        }

    @property
    def memory(self) -> int:
        """Bytes of the features and the gold outputs."""
        arrays = [self._encoded.sentences, *self._encoded.spans, *self._encoded.pairs]
        return sum(int(array.nbytes) for array in [*arrays, *(() if self._gold is None else self._gold)])

    @property
    def entries(self) -> int:
        """Features of all spans and pairs."""
        return int(self._encoded.spans.features.size + self._encoded.pairs.features.size)

    @property
    def scaled(self) -> bool:
        """Features of spans are indicators."""
        return False

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the scores of the sentence with most spans, of the terms between types, and of the search."""
        most = int(span_counts(self._encoded.sentences).max(initial=0))
        pairs = most * max(most - 1, 0)
        return WEIGHT * (pairs * (self.core.pair_rows.stride + self._space.types**2) + most * most * self._space.types)

    @property
    def pass_work(self) -> float:
        """Products of features and weights in a pass; an integer program takes some 10 ms."""
        spans, pairs = self._encoded.spans.features.size, self._encoded.pairs.features.size
        work = float(self.core.span_rows.stride * spans + self.core.pair_rows.stride * pairs)
        return work + (1e7 * self.core.size if self._solver.name == "ilp" else 1000.0 * self.core.size)

    def choose(self, circumstances: Circumstances) -> Choice:
        """Return the algorithm that ``auto`` stands for; integer programs run side by side, unlike other Python."""
        if self._solver.name == "native":
            return super().choose(circumstances)
        if circumstances.n_threads > 1:
            return Choice("ms-dcd", f"{circumstances.n_threads} threads, since searches are expensive")
        return Choice("shrinking-dcd", f"{circumstances.one_thread}, since searches are expensive")

    def why_it_lacks(self, need: str) -> str:
        """Say why a learner or an engine that needs this cannot have it."""
        if need == "k-best":
            return "the search for types and relations finds the best output only"
        return super().why_it_lacks(need)

    def way_to_need_less(self) -> str:
        """Say what a user can do to have fewer weights."""
        return "take fewer bits for features, with hash_bits (--hash-bits), or a larger min_count (--min-count)"

    def predict(self, weights: NDArray[np.float64], n_threads: int = 1) -> Outputs:
        """Return the best output of every sentence, all in a row."""
        return self.decoded(self._predictions(weights, n_threads, 1))

    def decoded(self, found: _core.Predictions) -> Outputs:
        """Take the outputs of all sentences apart."""
        offsets = self._encoded.sentences
        runs = np.stack([span_counts(offsets), pair_counts(offsets)], axis=1).ravel()
        in_types = np.repeat(np.arange(runs.size) % 2 == 0, runs)
        return Outputs(found.outputs[in_types], found.outputs[~in_types])

    def choices(self, found: _core.Predictions) -> NDArray[np.uint32]:
        """Return the types of spans and labels of pairs, of the sentences with few enough spans to enumerate."""
        runs = span_counts(self._encoded.sentences) + pair_counts(self._encoded.sentences)
        return found.outputs[np.repeat(self.core.part_counts > 0, runs)].astype(np.uint32)

    def search_report(self) -> dict[str, Any]:
        """Return how many searches there were, how many were cut off at the solver's limit, and their nodes."""
        found = self.core.searches
        return {"searches": found.all, "cut_off": found.cut_off, "nodes": found.nodes, "most_nodes": found.most_nodes}
