"""Inference for types and relations, against looking at every output, and against the integer program."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.entities import TinyRelations

from marginloom import InputError, RelationExtractor, make_relations
from marginloom.errors import InputWarning
from marginloom.tasks.relations.features import SpanFeatureSet
from marginloom.tasks.relations.problem import RelationsProblem
from marginloom.tasks.relations.records import checked_sentences
from marginloom.tasks.relations.task import Losses, Solver
from marginloom.training.spec import RunSpec
from marginloom.training.train import train

ILP = Solver("ilp")
LOSSES = st.sampled_from([Losses(), Losses(1.0, 1.0, 2.0), Losses(0.5, 0.0, 3.0), Losses(0.0, 1.0, 1.0)])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    types=st.integers(1, 3),
    relations=st.integers(0, 2),
    integers=st.booleans(),
    loss_scale=st.sampled_from([0.0, 0.5, 1.0]),
    losses=LOSSES,
)
def test_the_search_finds_the_best_of_all_outputs(seed, types, relations, integers, loss_scale, losses):
    tiny = TinyRelations(seed, spans=(0, 1, 2, 3), types=types, relations=relations, losses=losses)
    check_searches(tiny, seed, integers, loss_scale)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("loss_scale", [0.0, 1.0])
def test_four_spans_with_a_table_that_lets_few_outputs_through(seed, loss_scale):
    lines = [[(1, 0, 1)], [(1, 0, 0), (2, 0, 1)], [(1, 1, 2), (1, 0, 2), (2, 2, 2)]][seed % 3]
    tiny = TinyRelations(seed, spans=(4,), types=3 if seed % 3 == 2 else 2, relations=2, lines=lines)
    check_searches(tiny, seed, seed % 2 == 0, loss_scale)


def check_searches(tiny, seed, integers, loss_scale):
    task, w = tiny.task(), weights_for(tiny, seed, integers)
    spread = tiny.to_core(w, task)
    for i, count in enumerate(tiny.spans):
        best = tiny.best(i, w, loss_scale)
        found = task.core.solve(i, spread, loss_scale)
        output = tuple(found.output)
        assert found.complete
        assert found.bound == found.score == pytest.approx(best, abs=1e-9)
        assert output in set(tiny.outputs(i))
        assert tiny.score(i, output, w, loss_scale) == pytest.approx(best, abs=1e-9)
        searched = task.core.find(i, spread, loss_scale)
        violation = max(0.0, best - tiny.score(i, tiny.y[i], w)) if count else 0.0
        assert searched.bound == pytest.approx(violation, abs=1e-9)
        for candidate in searched.candidates:
            check_candidate(tiny, task, i, candidate)


def check_candidate(tiny, task, i, candidate):
    y = tuple(candidate.output)
    difference = np.zeros(task.core.dimension)
    difference[candidate.indices] = candidate.values
    assert tiny.from_core(difference, task) == pytest.approx(tiny.phi(i, tiny.y[i]) - tiny.phi(i, y))
    assert candidate.loss == pytest.approx(tiny.loss(i, y))
    assert candidate.squared_norm == pytest.approx(difference @ difference)
    again = task.core.candidate(i, bytes(candidate.output))
    assert (again.loss, again.indices.tolist()) == (candidate.loss, candidate.indices.tolist())


def weights_for(tiny, seed, integers):
    rng = np.random.default_rng(seed + 1)
    if integers:  # so that many outputs have the same score
        return rng.integers(-1, 2, size=tiny.dimension).astype(float)
    return rng.normal(size=tiny.dimension)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss_scale", [0.0, 1.0])
def test_both_solvers_find_outputs_of_the_same_score(seed, loss_scale):
    tiny = TinyRelations(seed, spans=(2, 4, 6), types=3, relations=2, features=8, losses=Losses(1.0, 1.0, 2.0))
    native, program = tiny.task(), tiny.task(ILP)
    spread = tiny.to_core(weights_for(tiny, seed, seed % 2 == 0), native)
    for i in range(len(tiny.spans)):
        ours, theirs = native.core.solve(i, spread, loss_scale), program.core.solve(i, spread, loss_scale)
        assert ours.complete
        assert theirs.complete
        assert ours.score == pytest.approx(theirs.score, abs=1e-6)
        assert theirs.bound >= theirs.score


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_both_solvers_agree_on_every_generated_sentence(scale):
    corpus = checked_sentences(make_relations(40, seed=5), labelled=True)
    tasks = []
    for solver in (Solver(), ILP):
        problem = RelationsProblem(training=corpus, features=SpanFeatureSet(), solver=solver)
        tasks.append(problem.prepare(RunSpec()).task)
    random = np.random.default_rng(0).normal(size=tasks[0].core.dimension)
    for w in (np.zeros_like(random), random):
        for i in range(tasks[0].core.size):
            ours, theirs = (task.core.solve(i, w, scale) for task in tasks)
            assert ours.score == pytest.approx(theirs.score, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_searches_of_many_spans_are_those_of_the_integer_program(seed):
    tiny = TinyRelations(seed, spans=(7,), types=3, relations=2, features=10)
    native = tiny.task()
    spread = tiny.to_core(np.random.default_rng(seed).normal(size=tiny.dimension), native)
    ours, theirs = native.core.solve(0, spread, 1.0), tiny.task(ILP).core.solve(0, spread, 1.0)
    assert ours.score == pytest.approx(theirs.score, abs=1e-6)


def hard(seed=0):
    """Return a problem whose searches visit nodes."""
    tiny = TinyRelations(seed, spans=(12,), types=4, relations=3, features=12, losses=Losses(1.0, 1.0, 2.0))
    return tiny, np.random.default_rng(seed).normal(size=tiny.dimension)


def test_a_search_that_reaches_its_limit_gives_its_best_output_and_a_bound():
    cut_off = 0
    for seed in range(6):
        tiny, w = hard(seed)
        exact = tiny.task()
        spread = tiny.to_core(w, exact)
        best = exact.core.solve(0, spread, 1.0)
        limited = tiny.task(Solver(node_limit=1))
        found = limited.core.solve(0, spread, 1.0)
        assert found.nodes <= 1
        assert found.score <= best.score + 1e-9 <= found.bound + 2e-9
        assert tiny.score(0, tuple(found.output), w, 1.0) == pytest.approx(found.score)
        assert ("exact" in limited.core.capabilities) == found.complete
        assert "bounded" in limited.core.capabilities
        cut_off += not found.complete
        assert limited.core.searches.cut_off == (not found.complete)
    assert cut_off > 0


def test_an_integer_program_that_reaches_its_limit_gives_a_bound():
    tiny, w = hard()
    exact = tiny.task()
    spread = tiny.to_core(w, exact)
    found = tiny.task(Solver("ilp", time_limit=1e-3)).core.solve(0, spread, 1.0)
    assert not found.complete
    assert found.score <= exact.core.solve(0, spread, 1.0).score + 1e-6 <= found.bound + 1e-5


def test_searches_that_were_cut_off_are_told_and_the_certificate_uses_their_bounds():
    tiny, _ = hard()
    tiny.spans, tiny.X, tiny.y = tiny.spans * 3, tiny.X * 3, tiny.y * 3
    task = tiny.task(Solver(node_limit=1))
    result = train(task, algorithm="dcd-ssvm", C=1.0, max_iter=4, tol=1e-9)
    proof = result.certificate
    assert proof.bounded
    assert not proof.exact
    best = train(tiny.task(), algorithm="dcd-ssvm", C=1.0, max_iter=300, tol=1e-4).certificate
    assert proof.dual <= best.primal * (1 + 1e-6)
    assert proof.primal >= best.dual


def test_the_same_scores_give_the_same_output_every_time():
    tiny = TinyRelations(3, spans=(5,) * 4, types=3, relations=2)
    task = tiny.task()
    outputs = {bytes(task.core.solve(i, np.zeros(task.core.dimension), 1.0).output) for i in range(4) for _ in range(3)}
    again = {bytes(tiny.task().core.solve(i, np.zeros(task.core.dimension), 1.0).output) for i in range(4)}
    assert outputs == again


def test_without_a_reason_there_is_no_relation():
    tiny = TinyRelations(1, spans=(3,), types=2, relations=2, lines=[(1, 0, 0), (2, 1, 1)])
    task = tiny.task(labelled=False)
    assert bytes(task.core.solve(0, np.zeros(task.core.dimension), 0.0).output) == bytes(9)


def test_gold_that_the_table_forbids_is_refused():
    tiny = TinyRelations(2, spans=(2,), types=2, relations=1, lines=[(1, 0, 1)])
    tiny.y = [(1, 1, 1, 0)]
    with pytest.raises(InputError, match="gold relations of sentence 0 are not what the table of types allows"):
        tiny.task()


@pytest.mark.parametrize(
    ("output", "reason"), [(b"\0\0\0", "wrong length"), (b"\7\0\0\0", "no label's"), (b"\0\0\0\7", "no label's")]
)
def test_bytes_that_are_no_output_are_refused(output, reason):
    task = TinyRelations(2, spans=(2,), lines=[(1, 0, 1)]).task()
    with pytest.raises(ValueError, match=reason):
        task.core.candidate(0, output)


def test_an_output_that_the_table_forbids_is_no_candidate():
    task = TinyRelations(2, spans=(2,), lines=[(1, 0, 1)]).task()
    assert task.core.candidate(0, bytes([1, 1, 1, 0])) is None


def test_k_best_is_refused_by_name():
    X = make_relations(10)
    with pytest.raises(InputError, match="kbest-mira needs k-best inference, and the search for types and relations"):
        RelationExtractor("kbest-mira").fit(X)


def test_both_solvers_train_to_the_same_optimum():
    X = make_relations(6, seed=2)
    found = [
        RelationExtractor("dcd-ssvm", C=1.0, tol=1e-3, solver=solver, max_iter=100).fit(X).certificate_
        for solver in ("native", "ilp")
    ]
    assert found[0].exact
    assert found[1].exact
    assert found[0].primal == pytest.approx(found[1].primal, rel=3e-3)


@pytest.mark.parametrize("algorithm", ["ms-dcd", "demi-dcd"])
def test_integer_programs_run_on_several_threads(algorithm):
    X = make_relations(5, seed=4)
    extractor = RelationExtractor(algorithm, solver="ilp", n_threads=2, C=1.0, tol=0.2).fit(X)
    assert extractor.certificate_.gap <= 0.2


def test_losses_are_what_decisions_cost():
    tiny = TinyRelations(0, spans=(2,), types=2, relations=2, lines=[(1, 0, 1), (2, 0, 1)], losses=Losses(3, 5, 7))
    tiny.y = [(0, 1, 1, 0)]
    task = tiny.task()
    costs = {(1, 1, 0, 0): 10, (0, 1, 0, 0): 7, (0, 1, 2, 0): 7, (1, 0, 0, 1): 18, (1, 0, 0, 0): 13}
    for output, cost in costs.items():
        assert task.core.candidate(0, bytes(output)).loss == cost


@pytest.mark.parametrize("values", [(-1, 1, 1), (0, 0, 0), (float("nan"), 1, 1)])
def test_losses_that_cannot_be_are_refused(values):
    with pytest.raises(InputError, match="loss"):
        dataclasses.replace(Losses(*values))


def test_a_solver_that_returns_nonsense_is_found_out():
    from marginloom import _core

    tiny = TinyRelations(2, spans=(2,), lines=[(1, 0, 1)])
    task = tiny.task()
    for answer in ((b"\0", b"\0\0", 0.0, True), (b"\1\1", b"\1\0", 0.0, True), (b"\0\0", b"\0\5", 0.0, True)):
        data = task.core
        solver = _core.PythonSolver(lambda types, pairs, answer=answer: answer)
        assert solver.needs_gil
        broken = _with_solver(tiny, solver)
        with pytest.raises(RuntimeError, match="a solver returned"):
            broken.core.solve(0, np.zeros(data.dimension), 0.0)


def _with_solver(tiny, core):
    class Own(Solver):
        def core(self, types, labels, table):
            return core

    return tiny.task(Own())


def test_warnings_say_how_many_searches_reached_the_limit():
    X = make_relations(30, seed=1)
    extractor = RelationExtractor("dcd-ssvm", max_iter=2, tol=0.5).fit(X)
    assert extractor.model_.task_of(checked_sentences(X)).search_report()["cut_off"] == 0
    tiny, w = hard()
    task = tiny.task(Solver(node_limit=1))
    task.core.solve(0, tiny.to_core(w, task), 1.0)
    if task.core.searches.cut_off:
        from marginloom.tasks.relations.cut_searches import warn_of_cut_searches

        with pytest.warns(InputWarning, match="1 of 1 searches reached the limit of the solver"):
            assert warn_of_cut_searches(task) == 1
