"""`DependencyParser`: what it learns and accepts, and that nothing is lost between fitting, saving and going on."""

import itertools
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from support.killing import KillAfter, Killed
from support.pairs import with_effect

from marginloom import Callback, Checkpoint, DependencyParser, InputError, make_treebank
from marginloom.errors import InputWarning, ScoreWarning

X, Y = make_treebank(40, seed=0)
OTHER_X, OTHER_Y = make_treebank(20, seed=1)
HEADS = [[head for head, _ in tree] for tree in Y]
PAIRS_X = [[word[:2] for word in sentence] for sentence in X]
#: Kinds of trees, small enough to train in no time.
KINDS = {
    "projective": {},
    "any": {"projective": False},
    "labelled": {"labelled": True},
    "siblings": {"order": 2, "labelled": True},
    "siblings, any": {"order": 2, "projective": False},
    "vocabulary": {"hash_bits": None, "labelled": True},
}
OWN = [name for name in DependencyParser.__annotations__ if name in DependencyParser().get_params()]
every_kind = pytest.mark.parametrize("kind", KINDS)


def parser(**options):
    options = {"hash_bits": 12, "tol": 0.1, "max_iter": 5, **options}
    return DependencyParser(**with_effect(options.get("algorithm"), options))


def fit(estimator, *data, **options):
    """Fit where training need not come to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(*data, **options)


@pytest.fixture(scope="module")
def fitted():
    return fit(parser(labelled=True), X, Y, eval_set=(OTHER_X, OTHER_Y))


def same(one, other):
    return one.model_.weights.tobytes() == other.model_.weights.tobytes()


@pytest.mark.parametrize("options", [{"order": 2}, {"labelled": True}, {"method": "transition"}], ids=str)
def test_weights_in_the_padding_of_a_damaged_model_are_not_shown(options):
    gold = Y if options.get("labelled") else HEADS
    model = fit(parser(algorithm="averaged-perceptron", hash_bits=None, **options), X, gold).model_
    shown = model.strongest(10**6)
    assert len(shown) == np.count_nonzero(model.weights)
    model.weights = np.where(model.weights == 0, 1.0, model.weights)
    assert len(shown) < len(model.strongest(10**6)) < model.weights.size


@every_kind
def test_right_trees_are_learnt(kind):
    found = fit(parser(**{"hash_bits": 14, "max_iter": 10, **KINDS[kind]}), X, Y)
    scores = found.evaluate(X, Y)
    assert scores["uas"] > 0.9
    assert ("las" in scores) == found.labelled
    assert found.score(X, Y) == scores["las" if found.labelled else "uas"]
    assert found.classes_ == (sorted({label for tree in Y for _, label in tree}) if found.labelled else [])
    (tree,) = found.predict(X[:1])
    assert [type(node) for node in tree] == [tuple if found.labelled else int] * len(X[0])


@every_kind
def test_a_saved_parser_predicts_scores_and_goes_on_the_same(kind, tmp_path):
    original = fit(parser(**KINDS[kind], warm_start=True, max_iter=2), X, Y)
    original.save(tmp_path / "model")
    loaded, pickled = DependencyParser.load(tmp_path / "model"), pickle.loads(pickle.dumps(original))
    own = {name: getattr(original, name) for name in OWN}
    for other in (loaded, pickled):
        assert {name: getattr(other, name) for name in OWN} == own
        assert same(other, original)
        assert other.predict(OTHER_X) == original.predict(OTHER_X)
        assert other.evaluate(OTHER_X, OTHER_Y) == original.evaluate(OTHER_X, OTHER_Y)
        assert other.certificate_ == original.certificate_
        assert other.classes_ == original.classes_
    fit(original, X, Y)
    assert same(fit(pickled, X, Y), original)
    assert same(fit(loaded.set_params(warm_start=True), X, Y), original)


@every_kind
def test_clones_have_the_parameters_and_train_to_the_same_bits(kind):
    original = fit(parser(**KINDS[kind], max_iter=2), X, Y)
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert not hasattr(copy, "model_")
    assert same(fit(copy, X, Y), original)


def test_constructor_neither_checks_nor_changes_its_arguments():
    odd = {name: object() for name in DependencyParser().get_params()}
    made = DependencyParser(**odd)
    assert all(getattr(made, name) is value for name, value in odd.items())


def test_unfitted_parser_says_so(tmp_path):
    made = parser()
    for use in (made.predict, made.predict_k_best, lambda X: made.score(X, Y), lambda _: made.save(tmp_path / "m")):
        with pytest.raises(NotFittedError):
            use(X)


def test_grid_search_chooses_among_kinds_of_trees():
    grid = {"order": [1, 2], "projective": [True, False], "features": ["arcs"]}
    search = GridSearchCV(parser(max_iter=2, labelled=True), grid, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X[:16], Y[:16])
    assert search.best_score_ > 0.3
    assert set(search.best_params_) == set(grid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_words_have_two_or_three_parts_and_the_third_counts_unless_it_is_declined():
    two, three = fit(parser(max_iter=2), PAIRS_X, HEADS), fit(parser(max_iter=2, xpos=False), X, HEADS)
    assert same(two, three)
    assert two.predict(X) == three.predict(PAIRS_X)
    other = fit(parser(max_iter=2, xpos=True), X, HEADS)
    assert not same(other, three)
    assert same(other, fit(parser(max_iter=2), X, HEADS))
    for use in (lambda: parser(xpos=True).fit(PAIRS_X, HEADS), lambda: other.predict(PAIRS_X)):
        with pytest.raises(InputError, match=r"X: found words with the columns form upos, expected xpos among them"):
            use()


def test_labels_are_needed_where_they_are_learnt_and_passed_over_elsewhere(fitted):
    assert same(fit(parser(max_iter=2), X, Y), fit(parser(max_iter=2), X, HEADS))
    with pytest.raises(InputError, match=r"labelled asks for them: give pairs \(head, label\)"):
        parser(labelled=True).fit(X, HEADS)
    with pytest.raises(InputError, match=r"the trees to score have none: give pairs \(head, label\)"):
        fitted.score(X, HEADS)
    with pytest.raises(InputError, match="the trees to score have none"):
        parser(labelled=True).fit(X, Y, eval_set=(X, HEADS))
    assert 0 < fit(parser(), X, HEADS).score(X, Y) <= 1


def test_trees_may_be_arrays():
    sentences = [sentence[:4] for sentence in X if len(sentence) >= 4][:6]
    heads = np.array([[0, 1, 1, 3]] * 6)
    assert fit(parser(C=10.0), sentences, heads).predict(sentences) == heads.tolist()
    assert fit(parser(C=10.0), sentences, heads.astype(np.uint8)).score(sentences, heads) == 1


@every_kind
def test_sentences_of_no_word_one_word_and_many(kind):
    estimator = fit(parser(**KINDS[kind], max_iter=2), [[], *X, []], [[], *Y, []])
    long = list(itertools.islice(itertools.cycle(itertools.chain(*X)), 300))
    trees = estimator.predict([[], X[0][:1], long, []])
    assert [len(tree) for tree in trees] == [0, 1, 300, 0]
    heads = [node[0] if estimator.labelled else node for node in trees[2]]
    assert heads.count(0) == 1
    for word in range(1, 301):
        for _ in range(300):
            word = heads[word - 1] if word else 0
        assert word == 0
    assert trees[1] == ([(0, "root")] if estimator.labelled else [0])
    assert estimator.predict([]) == []


def test_long_sentences_can_be_learnt():
    long = [[*X[0][:-1] * 60][:300]]
    heads = [[0, *range(1, 300)]]
    for options in ({}, {"projective": False}, {"order": 2}):
        assert fit(parser(**options, max_iter=1), long, heads).score(long, heads) > 0.9


def test_k_best_trees_come_with_their_scores(fitted):
    assert [best[0][0] for best in fitted.predict_k_best(OTHER_X, 1)] == list(fitted.predict(OTHER_X))
    for best in fitted.predict_k_best(OTHER_X, 4):
        scores = [score for _, score in best]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(head for head, _ in tree) for tree, _ in best}) == len(best) == 4
    assert [len(best) for best in fitted.predict_k_best([[], X[0][:1], X[0][:2]], 5)] == [1, 1, 2]
    with pytest.raises(InputError, match="k must be a whole number"):
        fitted.predict_k_best(X, 0)
    inexact = fit(parser(order=2, projective=False, max_iter=1), X[:5], Y[:5])
    assert [best[0][0] for best in inexact.predict_k_best(X[:5], 1)] == list(inexact.predict(X[:5]))
    with pytest.raises(InputError, match="not searched exactly, so there is no list of the best ones"):
        inexact.predict_k_best(X[:5], 2)


def test_weights_of_sentences_are_factors_of_their_costs():
    twice = fit(parser(tol=1e-3, max_iter=100), X[:8], Y[:8], sample_weight=[2.0] * 8)
    assert twice.certificate_.primal == pytest.approx(
        fit(parser(tol=1e-3, max_iter=100, C=0.2), X[:8], Y[:8]).certificate_.primal, rel=3e-3
    )
    kept = [0, 2, 3, 5, 6, 7]
    in_order = {"engine": {"shuffle": False}, "labelled": True}
    dropped = fit(parser(**in_order), X[:8], Y[:8], sample_weight=[1, 0, 1, 1, 0, 1, 1, 1])
    assert same(dropped, fit(parser(**in_order), [X[i] for i in kept], [Y[i] for i in kept]))
    with pytest.raises(InputError, match="sample_weight must have one number per example, 8"):
        parser().fit(X[:8], Y[:8], sample_weight=[1.0])


def test_evaluation_sets_are_scored_after_every_pass(fitted):
    rows = [row["scores"]["dev"] for row in fitted.history_]
    assert len(rows) == fitted.n_iter_
    assert all(set(row) == {"uas", "las", "uas_punct", "las_punct"} for row in rows)
    last = fitted.evaluate(OTHER_X, OTHER_Y)
    assert rows[-1] == {name: last[name] for name in rows[-1]}
    with pytest.raises(InputError, match="eval_set must be a tuple"):
        parser().fit(X, Y, eval_set=X)


def test_scores_warn_where_there_is_no_word(fitted):
    with pytest.warns(ScoreWarning, match="there is no word but punctuation"):
        assert fitted.score([[(".", "PUNCT", ".")]], [[(0, "root")]]) == 0


def test_trees_with_two_roots_are_learnt_where_many_are_allowed():
    sentences = [[("a", "A"), ("b", "B"), ("c", "C"), ("d", "D")]] * 3
    trees = [[0, 1, 0, 3]] * 3
    with pytest.raises(InputError, match=r"sentence 0, word 3: .*roots='many', --roots many"):
        parser().fit(sentences, trees)
    for options in ({}, {"projective": False}, {"order": 2}, {"order": 2, "projective": False}):
        many = fit(parser(roots="many", C=10.0, **options), sentences, trees)
        assert many.predict(sentences) == trees


def crossing():
    sentences, trees = make_treebank(60, seed=3, nonprojective=0.3)
    return sentences, [[head for head, _ in tree] for tree in trees]


def test_trees_that_cross_are_repaired_skipped_or_refused():
    sentences, trees = crossing()
    with pytest.warns(InputWarning, match=r"of 60 sentences have non-projective trees.*: repaired, by lifting"):
        repaired = parser(max_iter=1).fit(sentences, trees)
    with pytest.warns(InputWarning, match="have non-projective trees.*: left out"):
        skipped = parser(max_iter=1, invalid_gold="skip").fit(sentences, trees, sample_weight=np.ones(60))
    with pytest.raises(InputError, match=r"sentences have non-projective trees.*sentence \d+, word \d+"):
        parser(invalid_gold="error").fit(sentences, trees)
    with warnings.catch_warnings():
        warnings.simplefilter("error", InputWarning)
        warnings.filterwarnings("ignore", message=".*gap")
        parser(max_iter=1, projective=False, invalid_gold="error", tol=1.0).fit(sentences, trees)
    assert not same(repaired, skipped)


@pytest.mark.parametrize("hash_bits", [None, 12])
def test_sentences_that_are_skipped_leave_no_trace(hash_bits):
    from marginloom.tasks.parse.trees import is_projective

    sentences, trees = crossing()
    weights = np.random.default_rng(0).uniform(0.5, 2, size=60)
    kept = [i for i, tree in enumerate(trees) if is_projective(tree)]
    assert 0 < len(kept) < 60
    options = {"hash_bits": hash_bits, "max_iter": 2, "labelled": False}
    whole = fit(parser(invalid_gold="skip", **options), sentences, trees, sample_weight=weights)
    part = fit(parser(**options), [sentences[i] for i in kept], [trees[i] for i in kept], sample_weight=weights[kept])
    assert same(whole, part)
    assert whole.certificate_ == part.certificate_


@pytest.mark.parametrize("options", [{}, {"labelled": True, "hash_bits": None}, {"order": 2}])
def test_kept_features_of_arcs_lead_to_the_same_model_to_the_bit(options, tmp_path):
    plain, some, all_of_them = (fit(parser(**options, feature_cache=cache), X, Y) for cache in (None, 20_000, "1G"))
    assert same(plain, some)
    assert same(plain, all_of_them)
    assert plain.certificate_ == all_of_them.certificate_
    all_of_them.save(tmp_path / "m")
    assert DependencyParser.load(tmp_path / "m").feature_cache == "1G"


@pytest.mark.parametrize(("options", "bits"), [({}, 14), ({"min_count": 2}, None), ({"hash_bits": None}, None)])
def test_features_are_hashed_or_counted(options, bits, tmp_path):
    found = fit(DependencyParser(max_iter=1, **options), X[:10], HEADS[:10])
    assert found.model_.features.hash_bits == bits
    found.save(tmp_path / "m")
    loaded = DependencyParser.load(tmp_path / "m")
    assert loaded.model_.features.min_count == options.get("min_count", 1)
    assert same(fit(clone(loaded), X[:10], HEADS[:10]), found)


def test_rare_features_are_left_out():
    sizes = [fit(parser(hash_bits=None, min_count=n, max_iter=1), X, Y).model_.weights.size for n in (1, 2, 5)]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3
    with pytest.raises(InputError, match="min_count=100000 leaves no feature"):
        parser(hash_bits=None, min_count=100_000).fit(X, Y)
    with pytest.raises(InputError, match="min_count cannot be 2: leave out one of them"):
        parser(min_count=2).fit(X, Y)


@pytest.mark.parametrize("algorithm", ["dcd-ssvm", "averaged-perceptron"])
def test_number_of_threads_and_of_tries_changes_nothing(algorithm):
    results = [fit(parser(algorithm=algorithm, n_threads=n, labelled=True), X, Y) for n in (1, 1, 3)]
    assert same(results[0], results[1])
    assert same(results[0], results[2])
    assert results[0].predict(OTHER_X) == results[2].predict(OTHER_X)


def test_warm_starts_go_on_and_keep_to_their_sentences():
    whole = fit(parser(max_iter=6, tol=1e-9), X, Y)
    going = fit(parser(max_iter=3, tol=1e-9, warm_start=True), X, Y)
    first = going.certificate_
    fit(going, X, Y)
    assert going.certificate_.dual > first.dual
    assert going.certificate_.gap <= whole.certificate_.gap * 1.5
    with pytest.raises(InputError, match="belongs to other training examples"):
        going.fit(X, [[0, *range(1, len(tree))] for tree in Y])


def test_a_run_that_was_killed_goes_on_to_the_same_bits(tmp_path):
    for number, kind in enumerate(KINDS.values()):
        options = {**kind, "max_iter": 3, "tol": 1e-9}
        checkpoint = Checkpoint(tmp_path / str(number), interval=0)
        with pytest.raises(Killed):
            parser(**options).fit(X[:12], Y[:12], checkpoint=checkpoint, callbacks=[KillAfter(2)])
        rest = fit(parser(**options), X[:12], Y[:12], checkpoint=checkpoint, resume=True)
        whole = fit(parser(**options), X[:12], Y[:12])
        assert same(rest, whole)
        assert rest.certificate_ == whole.certificate_


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"order": 2}, "order"),
        ({"projective": False}, "projective"),
        ({"roots": "many"}, "roots"),
        ({"hash_bits": 11}, "features"),
        ({"labelled": True, "label_stage": "arc"}, "examples"),
        ({"xpos": False}, "features"),
    ],
)
def test_a_checkpoint_of_another_problem_is_refused_by_what_differs(tmp_path, change, what):
    checkpoint = Checkpoint(tmp_path, interval=0)
    with pytest.raises(Killed):
        parser(max_iter=4, tol=1e-9).fit(X[:8], Y[:8], checkpoint=checkpoint, callbacks=[KillAfter(2)])
    with pytest.raises(InputError, match=what):
        parser(max_iter=4, tol=1e-9, **change).fit(X[:8], Y[:8], checkpoint=checkpoint, resume=True)


class Interrupts(Callback):
    def before_iteration(self, run):
        if run.iteration == 1:
            raise KeyboardInterrupt


def test_an_interruption_leaves_a_parser_to_go_on_with(tmp_path):
    estimator = parser(warm_start=True, max_iter=10, tol=1e-9, labelled=True)
    with pytest.raises(KeyboardInterrupt, match="the estimator is fitted with the weights that it had"):
        estimator.fit(X, Y, callbacks=[Interrupts()])
    assert estimator.stopped_ == "interrupted"
    assert estimator.certificate_ is None
    estimator.save(tmp_path / "m")
    loaded = DependencyParser.load(tmp_path / "m")
    fit(loaded.set_params(max_iter=1, warm_start=True), X, Y)
    fit(estimator.set_params(max_iter=1), X, Y)
    assert same(loaded, estimator)
    assert loaded.certificate_.dual > 0


def test_a_failed_refit_keeps_the_first_fit():
    estimator = fit(parser(max_iter=1), X, Y)
    before = estimator.model_.weights.tobytes()
    with pytest.raises(InputError):
        estimator.fit(X, [[1]])
    assert estimator.model_.weights.tobytes() == before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"order": 3}, "order must be 1 or 2, not 3"),
        ({"order": True}, "order must be 1 or 2, not True"),
        ({"order": "1"}, "order must be 1 or 2"),
        ({"projective": "no"}, "projective must be true or false, not 'no'"),
        ({"labelled": 2}, "labelled must be true or false"),
        ({"xpos": "yes"}, "xpos must be true or false"),
        ({"roots": "two"}, "roots must be one of one, many, not 'two'"),
        ({"invalid_gold": "drop"}, "invalid_gold must be one of repair, skip, error, not 'drop'"),
        ({"features": "words"}, "there is no feature set 'words' for arcs"),
        ({"hash_bits": 32}, "hash_bits must be a whole number from 1 to 31"),
        ({"hash_bits": "many"}, "hash_bits must be"),
        ({"min_count": 0}, "min_count must be a whole number from 1"),
        ({"feature_cache": "much"}, "feature_cache must be a number of bytes"),
        ({"clusters": "no/such/file"}, "no/such/file"),
        ({"gazetteers": {"a": "no/such/file"}}, "no/such/file"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    with pytest.raises(InputError, match=message):
        parser(**parameters).fit(X[:2], Y[:2])


def test_numbers_of_numpy_are_parameters_too(tmp_path):
    options = {
        "order": np.int64(2),
        "labelled": np.True_,
        "projective": np.bool_(True),
        "hash_bits": np.int32(10),
        "min_count": np.int64(1),
        "xpos": np.False_,
    }
    made = fit(parser(**options, max_iter=1), X[:8], Y[:8])
    made.save(tmp_path / "m")
    assert DependencyParser.load(tmp_path / "m").predict(X) == made.predict(X)


@pytest.mark.parametrize(
    ("sentences", "trees", "message"),
    [
        ([], [], "there is no word to learn from"),
        ([[]], [[]], "there is no word to learn from"),
        ([[("a", "N")]], [[1]], "sentence 0, word 1: word 1 is its own head; mend the heads"),
        ([[("a", "N")]], [[2]], "sentence 0, word 1: found the head 2, expected the number of one of the 1 words"),
        ([[("a", "N")]], [[-1]], "found the head -1"),
        ([[("a", "N"), ("b", "N")]], [[2, 1]], "no word has the head 0"),
        ([[("a", "N"), ("b", "N"), ("c", "N")]], [[0, 3, 2]], "word 2 is below itself"),
        ([["a"]], [[0]], r"found 'a', expected a tuple \(form, upos\)"),
        ([[("a",)]], [[0]], r"expected a tuple \(form, upos\)"),
        ([[("a", 1)]], [[0]], r"expected a tuple \(form, upos\)"),
        ([[("a\ud800", "N")]], [[0]], "surrogates not allowed"),
        (["ab"], [[0, 1]], r"X\[0\] must be a list of words, not 'ab'"),
        ([[("a", "N")]], [[0.0]], "found 0.0, expected the number of its head"),
        ([[("a", "N")]], [[0], [0]], "X has 1 sentences, and y has 2 trees"),
        ([[("a", "N")]], [[0, 1]], "sentence 0 has 1 words and 2 heads"),
    ],
)
def test_wrong_inputs_are_named(sentences, trees, message):
    with pytest.raises(InputError, match=message):
        parser().fit(sentences, trees)


def test_parts_of_speech_that_say_nothing_are_warned_of():
    sentences = [[(form, "_") for form, *_ in sentence] for sentence in X[:5]]
    with pytest.warns(InputWarning, match="all words have the same upos, '_', which says nothing of them"):
        parser(max_iter=1).fit(sentences, HEADS[:5])
    with pytest.warns(InputWarning, match="all words have the same xpos, '_'"):
        parser(max_iter=1, xpos=True).fit([[(*word[:2], "_") for word in s] for s in X[:5]], HEADS[:5])


def test_parts_of_speech_that_are_missing_are_warned_of(tmp_path):
    missing = [[(form, "_") for form, *_ in sentence] for sentence in X[:5]]
    with pytest.warns(InputWarning, match="no word has its upos, which the parser reads"):
        fit(parser(max_iter=1, xpos=False), X[:20], HEADS[:20]).predict(missing)
    (tmp_path / "words.txt").write_text("word[h] word[m]\n")
    untagged = fit(parser(max_iter=1), missing, HEADS[:5])
    untagged.save(tmp_path / "untagged")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(parser(max_iter=1, features=tmp_path / "words.txt"), missing, HEADS[:5]).predict(missing)
        for without_tags in (untagged, DependencyParser.load(tmp_path / "untagged")):
            without_tags.predict(missing)


def test_labels_of_roots_and_of_others_are_kept_apart():
    estimator = fit(parser(labelled=True, max_iter=1, C=1e-6), X, Y)
    for tree in estimator.predict(OTHER_X):
        for head, label in tree:
            assert (label == "root") == (head == 0)


def test_words_alone_have_the_labels_of_roots():
    alone = fit(parser(labelled=True), [[("a", "A")], [("b", "B")]], [[(0, "x")], [(0, "y")]])
    assert alone.predict([[("b", "B"), ("a", "A")]])[0][0][1] in "xy"
