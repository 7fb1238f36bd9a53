"""A model reads columns by name: what the command line trains predicts the same in Python, and the other way round."""

import itertools
import json

import numpy as np
import pytest
from support.program import fails, last_json, run

from marginloom import DependencyParser, InputError, SequenceTagger, make_treebank, read_conllu, write_conllu
from marginloom.io.model import load_model, save_model

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
#: The columns of each kind of file. Plain ones have no names; the last one is what taggers learn.
LAYOUTS = {
    "conllu": COLUMNS,
    "conllx": COLUMNS,
    "conllup": ("feats", "xpos", "id", "form", "misc", "upos", "lemma", "head", "deprel"),
    "conll": ("form", "xpos", "lemma", "upos", "feats"),
}
ARCS = "pos[h] pos[m] direction\nword[m] pos[h]\ncolumn[m,{0}] pos[h]\ncolumn[h,{0}] column[m-1,{0}]\nlabel pos[m]\n"
TOKENS = "word[0]\ncolumn[-1,{0}]\ncolumn[0,{0}]\nsuffix[0,2]\n"
QUICK = ["--max-iter", "4", "--tol", "0.5", "--quiet"]
SAME = {"max_iter": 4, "tol": 0.5}
#: Of parsers: fewer weights are written and read faster.
FEW = ["--hash-bits", "12"]
FEW_HERE = {"hash_bits": 12}


def rows(count, seed):
    """Return words as dicts by column: lemmas, parts of speech and features all say something else."""
    for words, tree in zip(*make_treebank(count, seed=seed), strict=True):
        yield [
            {
                "id": str(place), "form": form, "lemma": form[:2].lower(), "upos": upos, "xpos": xpos,
                "feats": f"T={xpos[-1]}|F={form[-1]}", "head": str(head), "deprel": label, "deps": "_", "misc": "_",
            }
            for place, ((form, upos, xpos), (head, label)) in enumerate(zip(words, tree, strict=True), 1)
        ]  # fmt: skip


def write(path, sentences):
    layout = LAYOUTS[path.suffix[1:]]
    header = f"# global.columns = {' '.join(layout).upper()}\n" if path.suffix == ".conllup" else ""
    text = ["".join("\t".join(word[name] for name in layout) + "\n" for word in sentence) for sentence in sentences]
    path.write_text(header + "\n".join(text) + "\n")


def words_of(sentences, names):
    return [[tuple(word[name] for name in names) for word in sentence] for sentence in sentences]


TRAIN, TEST = list(rows(70, 0)), list(rows(25, 1))
TREES = [[(int(word["head"]), word["deprel"]) for word in sentence] for sentence in TRAIN]
LABELS = [[word["feats"] for word in sentence] for sentence in TRAIN]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    for ending in LAYOUTS:
        write(folder / f"train.{ending}", TRAIN)
        write(folder / f"test.{ending}", TEST)
    for kind, templates in (("arcs", ARCS), ("tokens", TOKENS)):
        for column in (2, 3, 7, "lemma", "LEMMA", "xpos"):
            (folder / f"{kind}.{column}").write_text(templates.format(column))
    forms = sorted({word["form"] for sentence in TRAIN for word in sentence})
    (folder / "brown").write_text("".join(f"{n:b}\t{form}\t{n}\n" for n, form in enumerate(forms, 1)))
    (folder / "names").write_text("\n".join(forms[::3]))
    return folder


def placed(options, folder):
    """Return options with the paths of files that the folder has."""
    return [str(folder / option) if (folder / option).is_file() else option for option in options]


def predicted_trees(model, path):
    told = run("predict", model, path).stdout
    (model.parent / f"told{path.suffix}").write_text(told)
    return read_conllu(model.parent / f"told{path.suffix}")[1]


def number(name, ending):
    return str(LAYOUTS[ending].index(name) + 1)


PARSERS = {
    "nothing": lambda ending: [],
    "feats": lambda ending: ["--feats", "--no-xpos"],
    "upos": lambda ending: ["--no-xpos", "--no-feats"],
    "xpos": lambda ending: ["--xpos", "--no-feats"],
    "number": lambda ending: ["--pos-column", number("xpos", ending), "--no-feats"],
    "name": lambda ending: ["--pos-column", "xpos", "--no-feats"],
    "capitals": lambda ending: ["--pos-column", "LEMMA", "--no-xpos", "--no-feats"],
    "both": lambda ending: ["--pos-column", number("lemma", ending), "--no-feats"],
    "template with a number": lambda ending: ["--features", f"arcs.{number('lemma', ending)}"],
    "template with a name": lambda ending: ["--features", "arcs.lemma"],
    "template with capitals": lambda ending: ["--features", "arcs.LEMMA", "--pos-column", "xpos"],
}
READ = {
    "nothing": {"form", "upos", "xpos", "feats"},
    "feats": {"form", "upos", "feats"},
    "upos": {"form", "upos"},
    "xpos": {"form", "upos", "xpos"},
    "number": {"form", "xpos"},
    "name": {"form", "xpos"},
    "capitals": {"form", "lemma"},
    "both": {"form", "lemma", "xpos"},
    "template with a number": {"form", "upos", "lemma"},
    "template with a name": {"form", "upos", "lemma"},
    "template with capitals": {"form", "xpos", "lemma"},
}


#: Every way to name columns meets one kind of file, and all kinds meet several ways.
MET = list(zip(PARSERS, itertools.cycle(["conllu", "conllx", "conllup"]), strict=False))


@pytest.mark.parametrize(("kind", "ending"), [*MET, ("nothing", "conllx"), ("nothing", "conllup"), ("name", "conllup")])
def test_a_parser_from_the_command_line_predicts_the_same_in_python(folder, tmp_path, kind, ending):
    options = placed(PARSERS[kind](ending), folder)
    model = tmp_path / "model"
    run("train", "parse", folder / f"train.{ending}", "--model", model, "--labelled", *FEW, *options, *QUICK)
    parser = DependencyParser.load(model)
    assert set(parser.columns_) == READ[kind]
    trees = predicted_trees(model, folder / f"test.{ending}")
    X, y = read_conllu(folder / f"test.{ending}", columns=parser.columns_)
    parser.set_params(columns=parser.columns_)
    assert parser.predict(X) == trees
    assert [best[0][0] for best in parser.predict_k_best(X, 1)] == trees
    scores = last_json(run("evaluate", model, folder / f"test.{ending}", "--json"))["scores"]
    assert parser.evaluate(X, y) == scores
    mixed = ("deps", "lemma", "feats", "xpos", "form", "upos")
    assert parser.set_params(columns=mixed).predict(words_of(TEST, mixed)) == trees
    if not READ[kind] & {"lemma", "feats"}:  # words as read_conllu has them hold all that there is to read
        assert parser.set_params(columns=None).predict(read_conllu(folder / f"test.{ending}")[0]) == trees
    for other in {"conllu", "conllx", "conllup"} - {ending}:
        assert predicted_trees(model, folder / f"test.{other}") == trees


@pytest.mark.parametrize(
    ("columns", "options", "on_the_command_line"),
    [
        (("form", "upos"), {}, ["--no-xpos", "--no-feats"]),
        (("form", "upos", "xpos"), {"xpos": True}, ["--no-feats"]),
        (("feats", "upos", "xpos", "form"), {}, []),
        (("form", "upos", "xpos"), {"pos_column": "xpos"}, ["--pos-column", "5", "--no-feats"]),
        (("form", "upos", "xpos"), {"pos_column": 3}, ["--pos-column", "xpos", "--no-feats"]),
        (("lemma", "xpos", "form"), {"pos_column": "LEMMA"}, ["--pos-column", "3", "--no-feats"]),
        (
            ("form", "xpos", "lemma"),
            {"pos_column": 2, "features": "arcs.3"},
            ["--pos-column", "5", "--features", "arcs.3"],
        ),
        (("form", "upos", "lemma"), {"features": "arcs.lemma"}, ["--features", "arcs.3"]),
        (("upos", "lemma", "form"), {"features": "arcs.2"}, ["--features", "arcs.lemma"]),
    ],
)
def test_a_parser_from_python_predicts_the_same_on_the_command_line(
    folder, tmp_path, columns, options, on_the_command_line
):
    if "features" in options:
        options = {**options, "features": str(folder / options["features"])}
    parser = DependencyParser(columns=columns, labelled=True, **options, **SAME, **FEW_HERE).fit(
        words_of(TRAIN, columns), TREES
    )
    parser.save(tmp_path / "model")
    trees = parser.predict(words_of(TEST, columns))
    for ending in ("conllu", "conllx", "conllup"):
        assert predicted_trees(tmp_path / "model", folder / f"test.{ending}") == trees
    loaded = DependencyParser.load(tmp_path / "model")
    assert (loaded.columns, loaded.pos_column) == (columns, parser.pos_column)
    assert loaded.predict(words_of(TEST, columns)) == trees
    trained = placed(on_the_command_line, folder)
    run("train", "parse", folder / "train.conllu", "--model", tmp_path / "same", "--labelled", *FEW, *trained, *QUICK)
    same = DependencyParser.load(tmp_path / "same")
    if options.get("features", "").endswith("arcs.3") == ("arcs.3" in "".join(on_the_command_line)):
        np.testing.assert_array_equal(same.model_.weights, parser.model_.weights)
    assert set(same.columns_) == set(parser.columns_)
    assert predicted_trees(tmp_path / "same", folder / "test.conllu") == trees


TAGGERS = {
    "words": (lambda ending: [], {"form"}),
    "chunking": (lambda ending: ["--features", "chunking", "--pos-column", number("xpos", ending)], {"form", "xpos"}),
    "ner": (
        lambda ending: ["--features", "ner", "--pos-column", number("upos", ending), "--clusters", "brown"],
        {"form", "upos"},
    ),
    "template": (lambda ending: ["--features", f"tokens.{number('lemma', ending)}"], {"form", "lemma"}),
}
NAMED = {
    "chunking": lambda ending: ["--features", "chunking", "--pos-column", "xpos"],
    "template": lambda ending: ["--features", "tokens.lemma"],
}


def predicted_labels(model, path):
    layout = LAYOUTS[path.suffix[1:]]
    place = -1 if path.suffix == ".conll" else layout.index("feats")
    lines = run("predict", model, path).stdout.split("\n")
    return [line.split("\t")[place] for line in lines if "\t" in line]


def flat(labels):
    return list(itertools.chain(*labels))


@pytest.mark.parametrize(
    ("kind", "named", "ending"),
    [(kind, False, ending) for kind in TAGGERS for ending in ("conllu", "conllup", "conll")]
    + [(kind, True, ending) for kind in NAMED for ending in ("conllu", "conllup")],
)
def test_a_tagger_from_the_command_line_predicts_the_same_in_python(folder, tmp_path, kind, named, ending):
    options, read = TAGGERS[kind]
    options = placed((NAMED[kind] if named else options)(ending), folder)
    column = "feats" if named else number("feats", ending)
    model = tmp_path / "model"
    run("train", "tag", folder / f"train.{ending}", "--model", model, "--column", column, *options, *QUICK)
    tagger = SequenceTagger.load(model)
    labels = predicted_labels(model, folder / f"test.{ending}")
    columns = None if ending == "conll" else ("misc", "upos", "lemma", "form", "xpos")
    X = words_of(TEST, columns or LAYOUTS["conll"])
    assert flat(tagger.set_params(columns=columns).predict(X)) == labels
    assert [label for sentence in tagger.predict_k_best(X, 1) for label in sentence[0][0]] == labels
    scores = last_json(run("evaluate", model, folder / f"test.{ending}", "--json"))["scores"]
    assert tagger.evaluate(X, [[word["feats"] for word in sentence] for sentence in TEST]) == scores
    if ending == "conll":
        assert set(tagger.columns_) == {"form", *(number(name, ending) for name in read - {"form"})}
        return
    assert set(tagger.columns_) == read
    (other,) = {"conllu", "conllup"} - {ending}
    assert predicted_labels(model, folder / f"test.{other}") == labels


@pytest.mark.parametrize("columns", [None, ("lemma", "form", "xpos"), ("form", "xpos", "lemma")])
@pytest.mark.parametrize("kind", ["chunking", "template", "words"])
def test_a_tagger_from_python_predicts_the_same_on_the_command_line(folder, tmp_path, columns, kind):
    options = {
        "chunking": {"features": "chunking", "pos_column": "xpos" if columns else 2},
        "template": {"features": str(folder / ("tokens.lemma" if columns else "tokens.3"))},
        "words": {"features": "tagging"},
    }[kind]
    names = columns or ("form", "xpos", "lemma")
    tagger = SequenceTagger(columns=columns, **options, **SAME).fit(words_of(TRAIN, names), LABELS)
    tagger.save(tmp_path / "model")
    labels = tagger.predict(words_of(TEST, names))
    loaded = SequenceTagger.load(tmp_path / "model")
    assert (loaded.columns, loaded.pos_column) == (columns, tagger.pos_column)
    assert loaded.predict(words_of(TEST, names)) == labels
    if columns is None:
        (tmp_path / "test.conll").write_text(
            "\n".join("".join("\t".join(word) + "\n" for word in sentence) for sentence in words_of(TEST, names))
        )
        assert predicted_labels_of_plain(tmp_path / "model", tmp_path / "test.conll") == flat(labels)
        return
    for ending, place in (("conllu", 3), ("conllup", 5)):  # the usual column of labels is UPOS
        lines = run("predict", tmp_path / "model", folder / f"test.{ending}").stdout.split("\n")
        assert [line.split("\t")[place] for line in lines if "\t" in line] == flat(labels)


def predicted_labels_of_plain(model, path):
    return [line.split("\t")[-1] for line in run("predict", model, path).stdout.split("\n") if "\t" in line]


def test_labels_go_where_they_were_in_training_by_name(folder, tmp_path):
    run("train", "tag", folder / "train.conllu", "--model", tmp_path / "m", "--column", "5", *QUICK)
    told = run("predict", tmp_path / "m", folder / "test.conllup").stdout
    given = (folder / "test.conllup").read_text()
    changed = {
        place
        for before, after in zip(given.split("\n"), told.split("\n"), strict=True)
        for place, (a, b) in enumerate(zip(before.split("\t"), after.split("\t"), strict=True))
        if a != b
    }
    assert changed == {LAYOUTS["conllup"].index("xpos")}
    scores = [last_json(run("evaluate", tmp_path / "m", folder / f"test.{e}", "--json")) for e in ("conllu", "conllup")]
    assert scores[0]["scores"] == scores[1]["scores"]


@pytest.fixture(scope="module")
def models(folder):
    """Models that read what not every input has."""
    parse, tag = (["train", task, folder / "train.conllu", *QUICK] for task in ("parse", "tag"))
    run(*parse, "--model", folder / "parser", "--pos-column", "5", "--no-xpos", "--no-feats")
    run(*parse, "--model", folder / "own parser", "--features", folder / "arcs.3")
    run(*tag, "--model", folder / "tagger", "--features", "chunking", "--pos-column", "5")
    run("train", "tag", folder / "train.conll", "--model", folder / "plain", "--features", folder / "tokens.3", *QUICK)
    return folder


WHY = {
    "parser": "expected {} among them (the template 'word[h] pos[h] direction distance' of arcs-rich reads it, as pos",
    "own parser": "expected {} among them (the template 'column[m,3] pos[h]' of ",
    "tagger": "expected {} among them (the template 'pos[-2]' of chunking reads it, as pos_column (--pos-column) says)",
}


@pytest.mark.parametrize(("name", "column"), [("parser", "xpos"), ("own parser", "lemma"), ("tagger", "xpos")])
def test_an_input_without_a_column_is_an_error_that_says_who_reads_it_and_how_to_give_it(
    models, tmp_path, name, column
):
    (tmp_path / "t.conllup").write_text("# global.columns = ID FORM UPOS HEAD DEPREL\n1\ta\tN\t0\troot\n\n")
    for command in ("predict", "evaluate"):
        said = fails(command, models / name, tmp_path / "t.conllup")
        assert "t.conllup, line 1: found the columns ID FORM UPOS HEAD DEPREL, " in said
        assert WHY[name].format(column.upper()) in said
        assert "name it in that line, after '# global.columns ='" in said
    estimator = (SequenceTagger if name == "tagger" else DependencyParser).load(models / name)
    estimator.set_params(columns=("form", "upos"))
    with pytest.raises(InputError) as error:
        estimator.predict([[("a", "N")]])
    said = str(error.value)
    assert said.startswith("X: found words with the columns form upos, ")
    assert WHY[name].format(column) in said
    assert f"such as columns=('form', 'upos', '{column}')" in said
    assert name != "own parser" or "arcs.3, line 3 reads it)" in said
    assert estimator.set_params(columns=("form", column, "upos")).predict([[("a", "N", "N")]])


def test_columns_without_names_are_none_of_those_with_names(models, tmp_path):
    said = fails("predict", models / "plain", models / "test.conllu")
    assert "expected a column 3 without a name among them (the template 'column[-1,3]' of " in said
    assert "tokens.3, line 2 reads it); give plain columns, as in training, and say so with --format" in said
    said = fails("predict", models / "tagger", models / "test.conll")
    assert "test.conll, line 1: found plain columns, expected XPOS among them" in said
    assert "give CoNLL-U, or CoNLL-U Plus, whose first line names its columns" in said
    tagger = SequenceTagger.load(models / "tagger")
    with pytest.raises(InputError, match=r"X: found words of 3 columns, which have no names, expected xpos among them"):
        tagger.predict([[("a", "b", "c")]])
    with pytest.raises(InputError, match=r"X: found words alone, expected xpos among them"):
        tagger.predict([["a"]])
    plain = SequenceTagger.load(models / "plain")
    with pytest.raises(
        InputError, match=r"X: found words alone, expected a column 3 without a name.*words of 3 columns"
    ):
        plain.predict([["a"]])
    with pytest.raises(InputError, match=r"found words with the columns form upos lemma, expected a column 3 without"):
        plain.set_params(columns=("form", "upos", "lemma")).predict([[("a", "b", "c")]])
    assert plain.predict([]) == []


@pytest.mark.parametrize(
    "columns",
    ["form", ("upos",), ("form", "form"), ("form", "FORM"), ("form", 2), ("form", "2"), ("form", ""), (), 3, {"form"}],
    ids=repr,
)
def test_names_of_columns_must_be_different_strings_with_form_among_them(columns):
    for estimator in (DependencyParser(columns=columns), SequenceTagger(columns=columns)):
        with pytest.raises(InputError, match="columns must name what the words hold"):
            estimator.fit([[("a", "b")]], [[0]])


def test_words_must_have_the_columns_that_are_named():
    with pytest.raises(InputError, match=r"expected a tuple \(form, upos, lemma\) of strings, as columns= says"):
        DependencyParser(columns=("form", "upos", "lemma")).fit([[("a", "b")]], [[0]])
    with pytest.raises(
        InputError, match=r"X: found words of 2 columns, expected 3, as columns= says: form, upos, lemma"
    ):
        SequenceTagger(columns=("form", "upos", "lemma"), features="words").fit([[("a", "b")]], [["c"]])
    with pytest.raises(InputError, match="columns is for features that are extracted from words"):
        SequenceTagger(columns=("form", "upos")).fit([[{"a": 1.0}]], [["c"]])


@pytest.mark.parametrize("columns", [("form", "upos"), ("lemma", "form"), ("misc", "feats", "xpos", "form", "lemma")])
def test_words_are_written_into_the_columns_that_are_named(tmp_path, columns):
    X = words_of(TEST, columns)
    y = [[(int(word["head"]), word["deprel"]) for word in sentence] for sentence in TEST]
    write_conllu(tmp_path / "t.conllu", X, y, columns)
    assert read_conllu(tmp_path / "t.conllu", columns=columns) == (X, y)
    others = [name for name in ("lemma", "upos", "xpos", "feats", "deps", "misc") if name not in columns]
    rest, _ = read_conllu(tmp_path / "t.conllu", columns=["form", *others])
    assert {cell for sentence in rest for word in sentence for cell in word[1:]} == {"_"}
    with pytest.raises(InputError, match="columns has 'shape', and words are written with form, lemma, upos, xpos"):
        write_conllu(tmp_path / "t.conllu", [[("a", "X")]], [[0]], ("form", "shape"))


@pytest.mark.parametrize("column", [0, -1, True, 1.5, "0", "", b"upos", ("upos",)], ids=repr)
def test_a_column_is_a_number_or_a_name(column):
    X = [[("a", "b"), ("c", "d")]]
    for estimator in (DependencyParser(pos_column=column), SequenceTagger(features="chunking", pos_column=column)):
        with pytest.raises(InputError, match="pos_column must be the number of a column, from 1, or its name"):
            estimator.fit(X, [[0, 1]])


def test_templates_that_read_trees_are_an_error_in_python_too(tmp_path):
    (tmp_path / "t").write_text("pos[h] pos[m]\ncolumn[m,head]\n")
    parser = DependencyParser(features=str(tmp_path / "t"), columns=("form", "upos", "head"))
    with pytest.raises(
        InputError, match=r"the column HEAD holds trees, and the template 'column\[m,head\]' of .*line 2"
    ):
        parser.fit([[("a", "N", "0")]], [[0]])


def as_written_before(path, own=("columns", "columns_numbered_in")):
    """Rewrite a model as versions did that knew no names of columns."""
    task = "tag" if "tag" in path.name else "parse"
    header, tensors = load_model(path, task)
    options = json.loads(tensors["features_options"].tobytes())
    stored = {name: value for name, value in options.items() if name not in own}
    assert stored != options
    settings = header["settings"]
    settings.pop("label_name", None)
    settings.pop("columns", None)
    if settings.get("format") == "conlluplus" and task == "tag":
        settings["column_names"] = [name.upper() for name in LAYOUTS["conllup"]]
    tensors = {**tensors, "features_options": np.frombuffer(json.dumps(stored).encode(), dtype=np.uint8)}
    save_model(path, task, header, tensors)


@pytest.mark.parametrize("ending", ["conllu", "conllx", "conllup"])
@pytest.mark.parametrize("kind", ["number", "both", "template with a number"])
def test_parsers_of_versions_before_are_read(folder, tmp_path, kind, ending):
    model = tmp_path / "parser"
    options = placed(PARSERS[kind](ending), folder)
    options += ["--labelled", "--label-stage", "arc", *([] if "--features" in options else ["--features", "arcs"])]
    run("train", "parse", folder / f"train.{ending}", "--model", model, *FEW, *options, *QUICK)
    trees = predicted_trees(model, folder / f"test.{ending}")
    as_written_before(model)
    assert predicted_trees(model, folder / f"test.{ending}") == trees
    parser = DependencyParser.load(model)
    X = words_of(TEST, ("form", "upos", "xpos", "lemma"))
    parser.set_params(columns=("form", "upos", "xpos", "lemma"))
    if ending == "conllup":  # the file does not say what its columns were called
        with pytest.raises(
            InputError, match=r"older version, which did not note what column \d of its training files is"
        ):
            parser.predict(X)
        assert "give conlluplus with the same columns, or train" in fails("predict", model, folder / "test.conllu")
        parser.save(model)
        assert predicted_trees(model, folder / f"test.{ending}") == trees
    else:
        assert parser.predict(X) == trees


@pytest.mark.parametrize("ending", ["conllu", "conllup", "conll"])
@pytest.mark.parametrize("kind", ["chunking", "template"])
def test_taggers_of_versions_before_are_read(folder, tmp_path, kind, ending):
    model = tmp_path / "tagger"
    options = placed(TAGGERS[kind][0](ending), folder)
    column = number("feats", ending)
    run("train", "tag", folder / f"train.{ending}", "--model", model, "--column", column, *options, *QUICK)
    labels = predicted_labels(model, folder / f"test.{ending}")
    as_written_before(model)
    assert predicted_labels(model, folder / f"test.{ending}") == labels
    tagger = SequenceTagger.load(model)
    columns = None if ending == "conll" else ("form", "lemma", "xpos")
    assert flat(tagger.set_params(columns=columns).predict(words_of(TEST, columns or LAYOUTS["conll"]))) == labels


def test_models_of_versions_before_that_were_trained_in_python_are_read(folder, tmp_path):
    names = ("form", "upos", "xpos")
    parser = DependencyParser(features=str(folder / "arcs.3"), labelled=True, **SAME)
    parser.fit(words_of(TRAIN, names), TREES).save(tmp_path / "parser")
    tagger = SequenceTagger(features="chunking", pos_column=3, **SAME).fit(words_of(TRAIN, names), LABELS)
    tagger.save(tmp_path / "tagger")
    X = words_of(TEST, names)
    for estimator, path in ((parser, tmp_path / "parser"), (tagger, tmp_path / "tagger")):
        as_written_before(path)
        assert type(estimator).load(path).predict(X) == estimator.predict(X)
    assert predicted_trees(tmp_path / "parser", folder / "test.conllu") == parser.predict(X)


def test_the_columns_that_a_model_reads_are_shown(models):
    assert json.loads(run("inspect", models / "own parser", "--json").stdout)["columns"] == ["form", "upos", "lemma"]
    assert "columns    form, xpos" in run("inspect", models / "tagger").stdout
