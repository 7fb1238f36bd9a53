"""Beam search of taggers against a search in plain Python, and against exact search where the beam is wide enough."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chain_tasks import ObservedChains, make_task

from marginloom import InputError, SequenceTagger, make_tagging
from marginloom.algorithms import ALGORITHMS
from marginloom.core.prefixes import UPDATES
from marginloom.features.template_lines import BEFORE, BEFORE_THAT, BOTH
from marginloom.tasks.sequence.constraints import BOUNDARY

REACHES = [BEFORE, BEFORE_THAT, BOTH, BOTH]

problems = st.tuples(st.integers(0, 2**31), st.integers(1, 4), st.integers(1, 6), st.integers(0, 4), st.booleans())


def build(problem, forbidden=(), **options):
    seed, labels, length, observations, start_end = problem
    chains = ObservedChains(
        seed,
        labels=labels,
        max_length=length,
        start_end=start_end,
        reaches=REACHES[:observations],
        triples=True,
    )
    if forbidden:
        chains.y = [np.zeros_like(y) for y in chains.y]
        chains.forbidden = list(forbidden)
        chains.learn()
    task = make_task(chains, "indicators", order=2, **options)
    # Multiples of 1/4 add up without rounding, so that ties are ties on both sides.
    w = np.random.default_rng(seed).integers(-4, 5, size=chains.dimension) / 4
    return chains, task, w, chains.to_core(w, task.core.stride)


def prefix_score(chains, w, i, y):
    """The score of a prefix: that of the sentence cut short, but for what only the end gets."""
    whole = chains.X[i], chains.start_end
    chains.X[i] = chains.X[i][: len(y)]
    phi = chains.phi(i, y)
    chains.X[i], chains.start_end = whole
    if chains.start_end and len(y) < len(chains.X[i]):
        phi = phi.copy()
        phi[chains.labels**2 + chains.labels + y[-1]] -= 1  # the weight of the last label
    return float(w @ phi)


def can_go_on(chains, y, more):
    """Whether constraints let a prefix be followed by so many labels."""
    ends = {label for label in range(chains.labels) if (label, BOUNDARY) not in chains.forbidden}
    for _ in range(more):
        ends = {a for a in range(chains.labels) if any((a, b) not in chains.forbidden for b in ends)}
    steps = zip((BOUNDARY, *y), y, strict=False)
    return y[-1] in ends and not any((int(a), int(b)) in chains.forbidden for a, b in steps)


def search(chains, w, i, beam):
    """Return the beam after every token, a list of prefixes with their scores, best first."""
    beams, kept = [], [()]
    length = len(chains.X[i])
    for t in range(length):
        merged = {}
        for prefix in kept:
            for label in range(chains.labels):
                y = (*prefix, label)
                if not can_go_on(chains, y, length - 1 - t):
                    continue
                # Of equal scores the lowest label wins, from the last one backwards.
                found = (-prefix_score(chains, w, i, y), y[::-1])
                merged[y[-2:]] = min(merged.get(y[-2:], found), found)
        kept = [y[::-1] for _, y in sorted(merged.values())[:beam]]
        beams.append([(y, prefix_score(chains, w, i, y)) for y in kept])
    return beams


def outputs(chains, task, weights):
    return [tuple(y.tolist()) for y in np.split(task.predict(weights), np.cumsum(chains.lengths)[:-1])]


@given(problem=problems, beam=st.integers(1, 20))
@settings(max_examples=100, deadline=None)
def test_predictions_are_those_of_a_beam_of_prefixes(problem, beam):
    chains, task, w, weights = build(problem, beam=beam)
    scores = task.core.predict(weights, 1).scores
    for i, y in enumerate(outputs(chains, task, weights)):
        best, score = search(chains, w, i, beam)[-1][0]
        assert y == best
        assert scores[i] == score


@given(problem=problems)
@settings(max_examples=80, deadline=None)
def test_a_beam_of_all_pairs_of_labels_is_exact(problem):
    chains, task, _w, weights = build(problem, beam=problem[1] ** 2)
    exact = make_task(chains, "indicators", order=2)
    assert outputs(chains, task, weights) == outputs(chains, exact, weights)
    assert task.core.predict(weights, 1).scores.tolist() == exact.core.predict(weights, 1).scores.tolist()


def chosen_prefix(chains, w, i, beam, update):
    """Return the prefix that a learner gets, None for none, as the definitions of the updates say."""
    gold = tuple(int(label) for label in chains.y[i])
    beams = search(chains, w, i, beam)
    violations = [best[0][1] - prefix_score(chains, w, i, gold[: t + 1]) for t, best in enumerate(beams)]
    fallen = [t for t, best in enumerate(beams) if gold[: t + 1] not in [y for y, _ in best]]
    last = len(gold) - 1
    if update == "max-violation":
        at = max(range(last + 1), key=lambda t: (violations[t], t))
    elif update == "early":
        at = fallen[0] if fallen else last
    else:
        at = last
    y = beams[at][0][0]
    wrong = beams[-1][0][0] != gold
    return (y, violations[at]) if (violations[at] > 0 or wrong) and y != gold[: at + 1] else None


@pytest.mark.parametrize("update", UPDATES)
@given(problem=problems, beam=st.integers(1, 6))
@settings(max_examples=80, deadline=None)
def test_candidates_are_the_prefixes_of_the_update(update, problem, beam):
    chains, task, w, weights = build(problem, beam=beam, update=update)
    for i in range(len(chains.X)):
        expected = chosen_prefix(chains, w, i, beam, update)
        found = task.core.find(i, weights, 0.0)
        assert len(found.candidates) == (expected is not None)
        if expected is None:
            continue
        (y, violation), (candidate,) = expected, found.candidates
        assert tuple(candidate.output) == y
        assert found.bound == max(violation, 0)
        assert candidate.loss == sum(a != b for a, b in zip(y, chains.y[i], strict=False))
        stored = np.zeros(task.core.dimension)
        stored[candidate.indices] = candidate.values
        assert -float(weights @ stored) == violation
        assert candidate.squared_norm == float(stored @ stored)
        assert task.core.candidate(i, candidate.output).values.tolist() == candidate.values.tolist()


@pytest.mark.parametrize("beam", [1, 2, 16])
@given(seed=st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_constraints_hold_in_the_beam_however_narrow_it_is(beam, seed):
    # From 1 only 1 and 2 can follow, neither of which may end a sentence but for 2 after 1.
    forbidden = [(1, 0), (2, 1), (2, 2), (BOUNDARY, 2), (1, BOUNDARY)]
    chains, task, w, weights = build((seed, 3, 6, 4, True), forbidden, beam=beam)
    for i, y in enumerate(outputs(chains, task, weights)):
        assert chains.allows(y)
        assert y == search(chains, w, i, beam)[-1][0][0]


def test_a_sentence_that_constraints_leave_nothing_is_named():
    chains = ObservedChains(1, sentences=3, labels=2, triples=True)
    chains.y = [np.zeros_like(y) for y in chains.y]
    tagger = SequenceTagger(
        "averaged-perceptron", features="words", beam=8, constraints=[("A", "A"), ("A", "B"), ("B", "B")]
    ).fit([["a"], ["b", "a"]], [["A"], ["B", "A"]])
    with pytest.raises(InputError, match="no labelling of sentence 1 satisfies the constraints"):
        tagger.predict([["a", "b"], ["a", "b", "a"]])


WORDS, TAGS = make_tagging(60, seed=0)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("algorithm", ["averaged-perceptron", "perceptron", "mira", "minibatch-mira", "ipm"])
def test_perceptrons_and_mira_learn_with_a_beam(algorithm, update):
    engine = {"shards": 2} if algorithm == "ipm" else None
    tagger = SequenceTagger(
        algorithm, engine=engine, features="words", beam=4, update=update, max_iter=15, random_state=0
    )
    tagger.fit(WORDS, TAGS)
    assert tagger.score(WORDS, TAGS) > (0.8 if update == "early" else 0.97)
    assert tagger.model_.certificate is None


def test_auto_takes_a_perceptron():
    tagger = SequenceTagger(features="words", beam=4, max_iter=2).fit(WORDS, TAGS)
    assert tagger.model_.settings["algorithm"] == "averaged-perceptron"


@pytest.mark.parametrize("algorithm", sorted(name for name, preset in ALGORITHMS.items() if preset.learner.has_dual()))
def test_dual_learners_are_rejected_in_one_sentence(algorithm):
    with pytest.raises(InputError, match=f"^{algorithm} needs .*") as found:
        SequenceTagger(algorithm, features="words", beam=8, n_threads=2).fit(WORDS, TAGS)
    if algorithm != "label-dcd":
        assert "beam search has none: train with perceptron or 1-best MIRA with beam=8" in str(found.value)


def test_k_best_and_dense_features_are_rejected():
    tagger = SequenceTagger("averaged-perceptron", features="words", beam=8, max_iter=2).fit(WORDS, TAGS)
    with pytest.raises(InputError, match="searches with a beam, which finds one labelling"):
        tagger.predict_k_best(WORDS[:1])
    with pytest.raises(InputError, match="beam search needs sparse features"):
        SequenceTagger("perceptron", features=None, beam=8).fit(np.ones((3, 2)), ["A", "B", "A"], lengths=[1, 2])


def test_another_beam_at_prediction(tmp_path):
    tagger = SequenceTagger("averaged-perceptron", features="words", beam=1, max_iter=2).fit(WORDS, TAGS)
    wide = SequenceTagger("averaged-perceptron", features="words", beam=64, max_iter=2).fit(WORDS, TAGS)
    wide.model_.weights = tagger.model_.weights
    assert tagger.predict(WORDS) != wide.predict(WORDS)
    assert tagger.predict(WORDS, beam=64) == wide.predict(WORDS)
    assert tagger.evaluate(WORDS, TAGS, beam=64) == wide.evaluate(WORDS, TAGS)
    tagger.save(tmp_path / "model")
    loaded = SequenceTagger.load(tmp_path / "model")
    assert (loaded.get_params()["beam"], loaded.get_params()["order"]) == (1, 1)
    assert loaded.predict(WORDS) == tagger.predict(WORDS)
    exact = SequenceTagger("averaged-perceptron", features="words", max_iter=2).fit(WORDS, TAGS)
    with pytest.raises(InputError, match="trained with exact search"):
        exact.predict(WORDS, beam=8)


@pytest.mark.parametrize("algorithm", ["averaged-perceptron", "minibatch-perceptron", "ipm-mira"])
def test_the_number_of_threads_changes_nothing(algorithm):
    engine = {"shards": 2} if algorithm == "ipm-mira" else None
    weights = [
        SequenceTagger(algorithm, engine=engine, features="words", beam=4, max_iter=3, random_state=3, n_threads=n)
        .fit(WORDS, TAGS)
        .model_.weights.tobytes()
        for n in (1, 2)
    ]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("reaches", ["label[-2]", "label[-2] label[-1]", "label[-1]"])
def test_a_beam_of_all_pairs_predicts_what_exact_search_does_with_templates_that_read_labels(tmp_path, reaches):
    path = tmp_path / "own.txt"
    path.write_text(f"word[0]\n{reaches} word[0]\n{reaches} suffix[-1,2]\n")
    wide = len({label for labels in TAGS for label in labels}) ** 2
    tagger = SequenceTagger("averaged-perceptron", features=str(path), beam=wide, max_iter=3, random_state=0)
    tagger.fit(WORDS, TAGS)
    exact = SequenceTagger("averaged-perceptron", features=str(path), order=2, max_iter=3, random_state=0)
    exact.fit(WORDS, TAGS)
    assert len(exact.model_.histories) == len(tagger.model_.histories)
    exact.model_.weights = tagger.model_.weights
    assert tagger.predict(WORDS) == exact.predict(WORDS)
    tagger.save(tmp_path / "model")
    assert SequenceTagger.load(tmp_path / "model").predict(WORDS) == tagger.predict(WORDS)


def test_scores_beyond_double_precision_are_an_error_that_names_the_sentence():
    chains = ObservedChains(1, sentences=3, labels=3, triples=True)
    task = make_task(chains, "indicators", order=2, beam=2)
    for beyond in (np.inf, -np.inf, np.nan):
        weights = np.full(task.core.dimension, beyond)
        with pytest.raises(InputError, match="the scores of sentence 0 exceed double precision"):
            task.core.find(0, weights, 0.0)
        with pytest.raises(InputError, match="the scores of sentence 0 exceed double precision"):
            task.core.predict(weights, 1)


def test_files_of_first_order_taggers_are_what_they_were():
    header, tensors = (
        SequenceTagger("averaged-perceptron", features="words", max_iter=1).fit(WORDS, TAGS).model_.own_parts()
    )
    assert set(header) == {"features", "start_end", "forbidden"}
    assert not any(name.startswith(("histories", "observations")) for name in tensors)
