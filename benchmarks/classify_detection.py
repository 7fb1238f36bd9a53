"""How fast is digit detection learnt: 20,000 digits of MNIST somewhere in 64 x 64 images (fastssvm-2021, Table 2).

DATA/mnist has the four IDX files of MNIST. Training draws its digits from the training split, and the test images
theirs from the test split.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from common import data_folder, machine, print_table

from marginloom import ObjectDetector, make_digit_detection, read_mnist
from marginloom.algorithms import ALGORITHMS
from marginloom.callbacks import Callback
from marginloom.digits import DigitImages
from marginloom.trace import Row
from marginloom.training import Run

#: The paper's C of 100,000 over all examples, per example.
C = 5.0
#: Name in the table: algorithm, loss, parameters of the learner.
RUNS: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "fastssvm": ("fastssvm", "hinge", {}),
    "fsmo": ("fsmo", "hinge", {}),
    "dcd-ssvm": ("dcd-ssvm", "hinge", {"inner_passes": 20}),
    "dcd-ssvm, squared hinge": ("dcd-ssvm", "squared_hinge", {"inner_passes": 20}),
    "ms-dcd": ("ms-dcd", "hinge", {}),
    "bcfw": ("bcfw", "hinge", {}),
    "one-slack": ("one-slack", "hinge", {}),
    "averaged-perceptron": ("averaged-perceptron", None, {}),
}


class Budget(Callback):
    """End a run after so many seconds of training."""

    stop_reason = "budget"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def after_iteration(self, run: Run, row: Row) -> bool:
        """Stop once the budget is used up."""
        return bool(row["seconds"] >= self.seconds)


def load(folder: str | None, train_images: int, test_images: int) -> tuple[DigitImages, DigitImages]:
    """Return training and test images."""
    mnist = data_folder(folder) / "mnist"
    train = make_digit_detection(train_images, digits=read_mnist(mnist), seed=0)
    return train, make_digit_detection(test_images, digits=read_mnist(mnist, "test"), seed=1)


def measure(name: str, train: DigitImages, test: DigitImages, arguments: argparse.Namespace) -> list[str]:
    """Train once and return a row of the table."""
    algorithm, loss, learner = RUNS[name]
    detector = ObjectDetector(
        algorithm,
        C=arguments.C,
        loss=loss,
        tol=arguments.tol,
        max_iter=arguments.max_iter,
        n_threads=arguments.threads,
        learner=learner or None,
    )
    start = time.perf_counter()
    detector.fit(train.images, train.targets, callbacks=[Budget(arguments.budget)])
    seconds = time.perf_counter() - start
    scores = detector.evaluate(test.images, test.targets)
    proof = detector.certificate_
    return [
        name,
        str(detector.n_iter_),
        f"{detector.history_[-1]['seconds']:.1f}",
        f"{seconds:.1f}",
        f"{proof.primal:.0f}" if proof else "-",
        f"{proof.dual:.0f}" if proof else "-",
        f"{scores['detection_accuracy']:.4f}",
        f"{scores['mean_iou']:.4f}",
    ]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", metavar="DATA")
    parser.add_argument("--runs", default=",".join(RUNS), help="names in the table, with commas between them")
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--test-images", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--budget", type=float, default=480.0, help="seconds of training for each run")
    parser.add_argument("--max-iter", type=int, default=100)
    parser.add_argument("--tol", type=float, default=0.01)
    parser.add_argument("--C", type=float, default=C)
    arguments = parser.parse_args()
    train, test = load(arguments.data, arguments.images, arguments.test_images)
    print(f"{machine()}; {arguments.images} images, C = {arguments.C:g}, {arguments.threads} threads\n")
    header = [
        "algorithm",
        "passes",
        "training s",
        "with features and proof s",
        "primal",
        "dual",
        "accuracy",
        "mean IoU",
    ]
    asked = [given.strip() for given in arguments.runs.split(",")]
    known = [name for name, (algorithm, _, _) in RUNS.items() if name in asked and algorithm in ALGORITHMS]
    if not known:
        parser.error(f"--runs names none of: {', '.join(RUNS)}")
    print_table(header, [measure(name, train, test, arguments) for name in known])


if __name__ == "__main__":
    main()
