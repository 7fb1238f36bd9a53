"""What a run will need of memory, and what it leaves to the candidates that a learner keeps."""

from __future__ import annotations

import dataclasses

from marginloom.algorithms import Algorithm
from marginloom.common.memory import MB, WEIGHT, memory_beside, parse_size, readable_size, require_memory
from marginloom.core.task import Task
from marginloom.errors import InputError


@dataclasses.dataclass(frozen=True)
class MemoryPlan:
    """What a run will need, in bytes.

    Attributes
    ----------
    examples : int
        Features and right outputs of the training examples, which are there already.
    weights : int
        The weights in training, and all vectors as large: averages, those of an engine's threads, that of a state.
    duals : int
        The dual variables of learners that know in advance how many there are, and what a state of them takes at most.
    vectors : int
        What learner and engine keep of every example from the first pass on, beside working sets.
    buffers : int
        For the work of all threads.
    working_sets : int
        At most this much for the candidates that a dual learner keeps; 0 if it keeps none.
    """

    examples: int
    weights: int
    duals: int
    vectors: int
    buffers: int
    working_sets: int

    @property
    def needs(self) -> dict[str, int]:
        """What has to be taken, by what it is for."""
        return {
            "weights": self.weights,
            "dual variables": self.duals,
            "vectors of the examples": self.vectors,
            "buffers": self.buffers,
        }

    def describe(self) -> str:
        """Say it in a line.

        Examples
        --------
        >>> MemoryPlan(3 * MB, 20 * MB, 0, 0, 0, 1500 * MB).describe()
        'memory: 23.0 MB, plus the working set, which is usually far below its limit of 1,500 MB'
        """
        text = f"memory: {(self.examples + sum(self.needs.values())) / MB:.1f} MB"
        if self.working_sets:
            limit = f"{self.working_sets / MB:,.0f} MB"
            text += f", plus the working set, which is usually far below its limit of {limit}"
        return text


def plan_memory(
    task: Task,
    algorithm: Algorithm,
    n_threads: int,
    budget: int | str | None,
    *,
    keeps_state: bool = False,
    turns_to: Algorithm | None = None,
) -> MemoryPlan:
    """Return what training on a task will need, having compared it with what there is.

    Parameters
    ----------
    task : Task
        What is to be learnt.
    algorithm : Algorithm
        By whom.
    n_threads : int
        Threads that it may use.
    budget : int or str, optional
        For working sets, by default half of what the rest leaves free; or at most this for dual variables whose number
        is known in advance.
    keeps_state : bool
        Whether a state is made, for a checkpoint or a warm start.
    turns_to : Algorithm, optional
        By whom it may be learnt later in the run.

    Returns
    -------
    MemoryPlan
        Which fits into what there is.

    Raises
    ------
    InputError
        If it is more than this process may have, or dual variables take more than the budget, or that is no size.

    Examples
    --------
    >>> from marginloom.algorithms import find_algorithm
    >>> from marginloom.tasks.sequence.task import SequenceTask
    >>> task = SequenceTask.from_lists([[[0], [1]]], [[0, 1]], feature_count=2, label_count=2)
    >>> plan_memory(task, find_algorithm("dcd-ssvm"), 1, None).weights
    384
    """
    learner, engine = algorithm.learner, algorithm.engine
    largest = max(algorithm, turns_to or algorithm, key=lambda one: one.learner.weight_copies(task.core))
    copies = largest.learner.weight_copies(task.core) + engine.weight_copies(n_threads) + int(keeps_state)
    duals = learner.dual_bytes(task.core)
    of_examples = 0 if duals else learner.example_bytes + engine.example_bytes
    plan = MemoryPlan(
        examples=task.memory,
        weights=WEIGHT * task.core.dimension * (1 + copies),
        duals=duals * (1 + int(keeps_state)),
        vectors=learner.vector_bytes(task.entries) + of_examples * task.core.size,
        buffers=task.buffer_bytes * n_threads + _own_buffers(task, algorithm, n_threads),
        working_sets=0,
    )
    given = None if budget is None else parse_size("memory", budget)
    if duals and given is not None and duals > given:
        raise InputError(_beyond_budget(task, algorithm, duals, given))
    require_memory("training", plan.needs, lambda: _way_out(task, largest, n_threads))
    if (duals and turns_to is None) or "memory" not in algorithm.common:
        return plan
    free = memory_beside(plan.needs)
    return dataclasses.replace(plan, working_sets=free // 2 if given is None else given)


def _beyond_budget(task: Task, algorithm: Algorithm, needed: int, given: int) -> str:
    enough = -(-needed // MB)
    return (
        f"{algorithm.name} keeps {readable_size(needed)} of dual variables, eight bytes and a bit for every label of "
        f"{task.example_count:,} examples, and memory allows {readable_size(given)}; give --memory {enough}M "
        f"(memory='{enough}M' in Python) or more, leave it out, or {algorithm.learner.way_to_need_less}"
    )


def _own_buffers(task: Task, algorithm: Algorithm, n_threads: int) -> int:
    return sum(part.buffer_bytes(task.core, n_threads) for part in (algorithm.learner, algorithm.engine))


def _way_out(task: Task, algorithm: Algorithm, n_threads: int) -> str:
    engine = algorithm.engine
    ways = [task.way_to_need_less()]
    if algorithm.learner.way_to_need_less:
        ways.append(algorithm.learner.way_to_need_less)
    elif task.core.examples_per_row > 1 and "decisions" in task.core.capabilities:
        ways.append("take label-dcd, which needs eight bytes and a bit for a label of an example")
    copies_of_threads = engine.weight_copies(n_threads)
    if n_threads > 1 and (copies_of_threads or task.buffer_bytes or _own_buffers(task, algorithm, n_threads)):
        ways.append(f"take fewer threads than {n_threads}")
    if copies_of_threads or algorithm.learner.weight_copies(task.core):
        ways.append(f"take an algorithm that keeps fewer copies of the weights than {algorithm.name}: dcd-ssvm has one")
    return ", or ".join(ways)
