"""An unknown option is answered with an option that help shows, never with one that it hides."""

import pytest
from support.program import refuses, run


def said_of(*options, command=("train", "tag", "x.conll", "--model", "m")):
    return " ".join(refuses(*command, *options).split())


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--max-itr", "--max-iter"),
        ("--max_iter", "--max-iter"),
        ("--epochs", "--max-iter"),
        ("--c", "--C"),
        ("--validation", "--dev"),
        ("--n-jobs", "--threads"),
        ("-m", "--model"),
    ],
)
def test_the_option_that_is_meant_is_named(option, meant):
    assert f"No such option: {option}. Did you mean {meant}?" in said_of(option, "3")


@pytest.mark.parametrize("option", ["--inner-pass", "--shrink", "--averaging"])
def test_hidden_options_are_not_named(option):
    said = said_of(option, "3")
    hidden = ("--inner-passes", "--shrinking", "--averaged")
    page = run("train", "tag", "--help").stdout
    assert not any(name in page for name in hidden)
    assert not any(name in said for name in hidden)
    assert "--help lists the options, --help-all also those of particular algorithms" in said


def test_other_commands_have_no_more_options_to_show():
    assert "--help lists the options." in (said := said_of("--zzz", command=("inspect", "m")))
    assert "--help-all" not in said
    assert "Did you mean --output?" in said_of("--out", command=("predict", "m", "x"))
