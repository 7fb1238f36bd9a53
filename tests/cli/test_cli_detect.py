"""Detectors on the command line: files of images in, JSON lines and pictures out."""

import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from support.program import fails, last_json, names_in, refuses, run

from marginloom import ObjectDetector, make_digit_detection, write_detections


def write(path, seed, count):
    made = make_digit_detection(count, seed=seed)
    write_detections(path, made.images, made.labels, made.boxes)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with train.npz and test.npz, and a model."""
    folder = tmp_path_factory.mktemp("detect")
    write(folder / "train.npz", 0, 300)
    write(folder / "test.npz", 1, 20)
    done = run("train", "detect", folder / "train.npz", "--model", folder / "model", "--test", folder / "test.npz",
               "--max-iter", "10", "--json", "--quiet")  # fmt: skip
    (folder / "summary.json").write_text(done.stdout)
    return folder


def pixels_of(path: Path):
    """Read a picture that `write_png` wrote, independently of it."""
    content = path.read_bytes()
    chunks = {}
    at = 8
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        kind, data = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        assert struct.unpack(">I", content[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + length
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, 1 + 3 * width)
    assert (rows[:, 0] == 0).all()
    return rows[:, 1:].reshape(height, width, 3)


def test_training_reports_scores_and_a_certificate(folder):
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["scores"]["test"]["detection_accuracy"] > 0.7
    assert set(summary["scores"]["test"]) == {"detection_accuracy", "mean_iou"}
    assert summary["weights"] == 10 * 64
    assert summary["dual"] <= summary["primal"]


def test_prediction_writes_what_python_finds_a_line_an_image(folder):
    done = run("predict", folder / "model", folder / "test.npz", "--k-best", "3")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    images = make_digit_detection(20, seed=1).images
    expected = ObjectDetector.load(folder / "model").predict_k_best(images, 3)
    assert [line["image"] for line in lines] == list(range(20))
    for line, detections in zip(lines, expected, strict=True):
        assert [(found["label"], tuple(found["box"]), found["score"]) for found in line["detections"]] == [
            (label, box, score) for (label, box), score in detections
        ]
    from_pipe = run("predict", folder / "model", "-", "--k-best", "3", stdin=(folder / "test.npz").read_bytes())
    assert from_pipe.stdout == done.stdout


def test_pictures_show_what_was_found_and_where_it_is(folder, tmp_path):
    done = run("predict", folder / "model", folder / "test.npz", "--draw", tmp_path / "new" / "pictures")
    names = names_in(tmp_path / "new" / "pictures")
    assert len(names) == 20
    first = json.loads(done.stdout.splitlines()[0])["detections"][0]
    assert names[0] == f"000000-{first['label']}.png"
    picture = pixels_of(tmp_path / "new" / "pictures" / names[0])
    factor = picture.shape[0] // 18
    top, left, height, width = (factor * side for side in first["box"])
    for y, x in ((top, left), (top + height - 1, left), (top, left + width - 1), (top + height - 1, left + width - 1)):
        assert picture[y, x].tolist() == [255, 127, 14]


def test_evaluation_agrees_with_training_and_inspection_tells_windows(folder):
    scores = last_json(run("evaluate", folder / "model", folder / "test.npz", "--json"))
    assert scores["scores"] == json.loads((folder / "summary.json").read_text())["scores"]["test"]
    assert scores["images"] == 20
    shown = run("inspect", folder / "model").stdout
    assert "windows    8 x 8 pixels, 1 channel" in shown
    assert "of 8 x 8" in shown.split("strongest weights\n")[1]
    assert last_json(run("inspect", folder / "model", "--json"))["window_sizes"] == [[8, 8]]


def test_several_files_and_options_reach_the_model(folder, tmp_path):
    write(tmp_path / "more.npz", 7, 30)
    run("train", "detect", folder / "train.npz", tmp_path / "more.npz", "--model", tmp_path / "m", "--max-iter", "2",
        "--window-size", "8x8", "--window-size", "6x9", "--fit-intercept", "--box-loss", "zero_one",
        "--overlap", "0.25",
        "--algorithm", "perceptron", "--quiet")  # fmt: skip
    detector = ObjectDetector.load(tmp_path / "m")
    assert detector.window_sizes_ == [(8, 8), (6, 9)]
    assert (detector.fit_intercept, detector.box_loss, detector.overlap) == (True, "zero_one", 0.25)
    assert detector.model_.weights.size == 10 * (64 + 1 + 54 + 1)


def saved(path, **arrays):
    np.savez(path, **arrays)
    return path


GOOD = {"images": np.ones((2, 9, 9)), "labels": np.array([1, 2]), "boxes": np.array([[0, 0, 3, 3]] * 2)}
BAD = {
    "no images": ({"labels": GOOD["labels"]}, "no array with the name images"),
    "no boxes": ({"images": GOOD["images"], "labels": GOOD["labels"]}, "labels and boxes are needed"),
    "flat": (GOOD | {"images": np.ones((2, 9))}, "images is an array of float64 with the shape (2, 9)"),
    "labels": (GOOD | {"labels": np.array([1, 2, 3])}, "labels is an array"),
    "float labels": (GOOD | {"labels": np.array([1.5, 2])}, "labels is an array of float64"),
    "boxes": (GOOD | {"boxes": np.zeros((2, 3), dtype=int)}, "boxes is an array"),
    "outside": (GOOD | {"boxes": np.array([[0, 0, 3, 3], [8, 0, 3, 3]])}, "of image 1 is not inside"),
    "NaN": (GOOD | {"images": np.full((2, 9, 9), np.nan)}, "image 0 has a pixel that is NaN"),
    "pickle": (GOOD | {"labels": np.array([{"a": 1}, None], dtype=object)}, "not an .npz archive of plain arrays"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_refused_in_one_line_that_names_them(kind, tmp_path):
    arrays, message = BAD[kind]
    said = fails("train", "detect", saved(tmp_path / "bad.npz", **arrays), "--model", tmp_path / "m", "--quiet")
    assert "bad.npz: " in said
    assert message in said
    assert not (tmp_path / "m").exists()


def test_files_that_are_no_archives_are_refused(folder, tmp_path):
    (tmp_path / "text.npz").write_text("no archive")
    assert "not an .npz archive" in fails("predict", folder / "model", tmp_path / "text.npz")
    (tmp_path / "cut.npz").write_bytes((folder / "test.npz").read_bytes()[:-100])
    assert "not an .npz archive" in fails("predict", folder / "model", tmp_path / "cut.npz")
    np.save(tmp_path / "single.npy", np.ones((2, 9, 9)))
    assert "a single array" in fails("predict", folder / "model", tmp_path / "single.npy")
    assert "no such file" in fails("predict", folder / "model", tmp_path / "missing.npz")


def test_images_smaller_than_the_window_are_refused(folder, tmp_path):
    small = saved(tmp_path / "small.npz", images=np.ones((1, 5, 9)))
    said = fails("predict", folder / "model", small)
    assert "small.npz: image 0 has 5 x 9 pixels, and the windows have 8 x 8" in said


def test_wrong_options_are_refused(folder, tmp_path):
    train = ("train", "detect", folder / "train.npz", "--model", tmp_path / "m")
    assert "28x28" in refuses(*train, "--window-size", "8")
    assert "iou or zero_one" in refuses(*train, "--box-loss", "l2")
    assert "--format cannot be given" in refuses("predict", folder / "model", folder / "test.npz", "--format", "conll")


def test_drawing_is_refused_for_other_tasks(model, corpus, tmp_path):
    assert "--draw cannot be given" in refuses("predict", model, corpus / "dev.conll", "--draw", tmp_path / "d")
