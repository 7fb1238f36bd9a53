"""The code of docs/training.md runs, and does what the page says."""

import warnings

from sklearn.exceptions import ConvergenceWarning
from support.pages import code_of, run_code

from marginloom import SequenceTagger, make_tagging


def test_code_of_the_page_runs(capsys):
    X, y = make_tagging(100)
    tagger = SequenceTagger(max_iter=3)
    names = {"tagger": tagger, "X": X, "y": y, "X_dev": X[:20], "y_dev": y[:20]}
    early, watch, _ = code_of("training.md")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        run_code(early, names)
        assert "dev" in tagger.history_[0]["scores"]
        run_code(watch, names)
        tagger.fit(X, y, callbacks=[names["Watch"]()])
    assert len(capsys.readouterr().out.splitlines()) == tagger.n_iter_ == 3
