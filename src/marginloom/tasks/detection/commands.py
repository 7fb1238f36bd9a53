"""What the command line knows of object detectors."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marginloom.commands.common import usage_error, usage_errors
from marginloom.commands.help import FEATURES, OUTPUT, STRUCTURE, TRAINING
from marginloom.commands.task_commands import EvaluateOptions, KBestOptions, TaskCommands, open_output
from marginloom.commands.training import TrainingData, run_training
from marginloom.commands.training_options import TrainingOptions, training_command
from marginloom.common.parameters import checked
from marginloom.errors import InputError
from marginloom.io.confidence import WITHHELD
from marginloom.io.files import StrPath
from marginloom.io.names import shown
from marginloom.io.overwriting import named_files
from marginloom.tasks.detection.boxes import LOSSES
from marginloom.tasks.detection.drawing import draw_boxes
from marginloom.tasks.detection.features import LabelledImages
from marginloom.tasks.detection.files import DetectionFile, read_detections
from marginloom.tasks.detection.images import ImageSet, checked_boxes
from marginloom.tasks.detection.model import Detection, DetectionModel, DetectionProblem
from marginloom.tasks.detection.png import write_png


@training_command
def train(
    *,
    context: typer.Context,
    options: TrainingOptions,
    window_size: Annotated[
        list[str] | None,
        typer.Option(
            "--window-size",
            metavar="HxW",
            help="Height and width of detection windows in pixels, such as 28x28. May be repeated. [default: the "
            "sizes of the gold boxes]",
            rich_help_panel=FEATURES,
        ),
    ] = None,
    stride: Annotated[
        int,
        typer.Option(
            "--stride",
            metavar="N",
            min=1,
            help="For feature maps instead of images: how many pixels of the original image one cell covers. Leave 1 "
            "for ordinary images.",
            rich_help_panel=FEATURES,
        ),
    ] = 1,
    box_loss: Annotated[
        str,
        typer.Option(
            "--box-loss",
            metavar="LOSS",
            help="Cost of a wrong detection: iou (1 minus intersection over union with the gold box; 1 if the label "
            "is wrong) or zero_one (always 1).",
            rich_help_panel=TRAINING,
        ),
    ] = "iou",
    fit_intercept: Annotated[
        bool,
        typer.Option(
            "--fit-intercept",
            help="Learn an intercept for each combination of label and window size.",
            rich_help_panel=FEATURES,
        ),
    ] = False,
    overlap: Annotated[
        float,
        typer.Option(
            "--overlap",
            metavar="IOU",
            min=0,
            max=1,
            help="For predict --k-best: omit detections whose intersection over union with a better one of the same "
            "label is above this.",
            rich_help_panel=STRUCTURE,
        ),
    ] = 0.5,
) -> None:
    """Train an object detector for images with exactly one object each.

    Files are NumPy archives (.npz) with the arrays images, labels and boxes (top, left, height, width), as
    marginloom.write_detections writes them.
    """
    with usage_errors():
        sizes = None if window_size is None else [_size(given) for given in window_size]
        checked("overlap", overlap, "not negative")
        checked("stride", stride, "positive count")
    if box_loss not in LOSSES:
        raise usage_error(f"--box-loss must be {' or '.join(LOSSES)}, not {box_loss!r}")

    def read() -> TrainingData:
        problem = DetectionProblem(
            training=_joined([read_detections(path) for path in options.training], stride),
            window_sizes=sizes,
            stride=stride,
            box_loss=box_loss,
            fit_intercept=fit_intercept,
            overlap=overlap,
        )
        sets = {name: _joined([read_detections(path)], stride) for name, path in options.evaluation_files.items()}
        return TrainingData(problem, sets)

    run_training(options, DetectionModel, read)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DetectionPredictOptions(KBestOptions):
    """Options of `marginloom predict` for images."""

    draw: Annotated[
        str | None,
        typer.Option(
            "--draw",
            metavar="DIR",
            help="Also write every image to this folder, with its detections drawn in.",
            rich_help_panel=OUTPUT,
        ),
    ] = None

    def outputs(self) -> list[tuple[str, StrPath]]:
        """Return the file for what was found, and the folder for pictures."""
        return [*super().outputs(), *named_files({"--draw": self.draw})]

    def check_pictures(self, pictures: Sequence[Path]) -> None:
        """Raise `InputError` if one of the pictures is something else of the run."""
        self.check_files([*super().outputs(), *(("--draw", path) for path in pictures)])


class DetectionCommands(TaskCommands[DetectionModel, DetectionPredictOptions, EvaluateOptions]):
    """Predict, evaluate and inspect for detectors."""

    train = staticmethod(train)
    plural = "detectors"
    train_examples = (
        "marginloom train detect train.npz --dev dev.npz --model detector.safetensors",
        "marginloom train detect train.npz --window-size 28x28 --model digits.safetensors",
    )
    model_type = DetectionModel
    predict_options = DetectionPredictOptions
    evaluate_options = EvaluateOptions
    predict_help = (
        "Detectors: the output has one line of JSON per image, with the label, box and score of each detection, "
        "and its probability with --confidence, or with --k-best if the model is calibrated."
    )

    def predict(self, model: DetectionModel, options: DetectionPredictOptions) -> None:
        """Write a line of JSON for every image, and pictures if they are asked for."""
        if options.with_confidence:
            _ = model.tempering  # before the long work
        confident = options.with_confidence or (model.calibration is not None and options.k_best > 1)
        given = read_detections(options.input, labelled=False)
        if options.draw is not None:
            _make_folder(options.draw)
        with _errors_named(given.name):
            images = ImageSet.pack(given.images)
            detections = model.predict_k_best(images, options.k_best, options.threads, confidence=confident)
        pictures = [] if options.draw is None else _picture_paths(Path(options.draw), detections)
        options.check_pictures(pictures)
        with open_output(options.output) as out:
            for i, found in enumerate(detections):
                out.write(
                    json.dumps({"image": i, "detections": [_as_json(one, options) for one in found]}).encode() + b"\n"
                )
                if pictures:
                    _draw(pictures[i], i, given, found, model.stride)

    def read_labelled(self, model: DetectionModel, options: EvaluateOptions) -> LabelledImages:
        """Read images with their right labels and boxes."""
        return _joined([read_detections(options.input)], model.stride)

    def describe(self, model: DetectionModel) -> list[tuple[str, str]]:
        """Return the lines of `inspect` on windows and labels."""
        sizes = ", ".join(f"{height} x {width}" for height, width in model.summary()["window_sizes"])
        return [
            ("windows", f"{sizes} pixels, {model.channels} channel{'' if model.channels == 1 else 's'}"),
            ("labels", f"{len(model.labels.names)}: {model.labels.summary()}"),
        ]


def _size(given: str) -> tuple[int, int]:
    match = re.fullmatch(r"([0-9]{1,5})x([0-9]{1,5})", given)
    if match is None or "0" in match.groups():
        raise InputError(f"--window-size must look like 28x28 (height and width), not {given!r}")
    return int(match[1]), int(match[2])


def _joined(files: list[DetectionFile], stride: int) -> LabelledImages:
    """Put the images of several files together."""
    packed: list[ImageSet] = []
    boxes = []
    for file in files:
        with _errors_named(file.name):
            packed.append(ImageSet.pack(file.images, packed[0].channels if packed else None))
            boxes.append(checked_boxes(file.boxes, packed[-1], stride))
    labels: list[Any] = [label for file in files if file.labels is not None for label in file.labels.tolist()]
    return LabelledImages(ImageSet.join(packed), labels, np.concatenate(boxes))


@contextmanager
def _errors_named(name: str) -> Iterator[None]:
    """Put a file's name before what is wrong with its images."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _as_json(found: Detection, options: DetectionPredictOptions) -> dict[str, Any]:
    label = WITHHELD if options.withholds(found.confidence) else found.label
    probability = {} if found.confidence is None else {"confidence": found.confidence}
    return {"label": label, "box": list(found.box), "score": found.score, **probability}


def _make_folder(folder: str) -> None:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--draw {shown(folder)}: the folder cannot be made ({reason})") from error


def _picture_paths(folder: Path, detections: list[list[Detection]]) -> list[Path]:
    """Return a name for the picture of every image: its number, and the label that was found."""
    labels = [re.sub(r"[^A-Za-z0-9.-]+", "_", str(found[0].label))[:40] for found in detections]
    return [folder / f"{i:06d}-{label}.png" for i, label in enumerate(labels)]


def _draw(path: Path, i: int, given: DetectionFile, found: list[Detection], stride: int) -> None:
    right = None
    if given.boxes is not None:
        top, left, height, width = given.boxes[i].tolist()
        right = (top, left, height, width)
    write_png(path, draw_boxes(given.images[i], [one.box for one in found], right, stride))


COMMANDS = DetectionCommands()
