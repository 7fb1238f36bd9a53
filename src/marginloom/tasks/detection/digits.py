"""Digits somewhere in larger images: the detection set of fastssvm-2021, from MNIST or from scikit-learn's digits."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marginloom.common.memory import require_memory
from marginloom.common.parameters import checked
from marginloom.errors import InputError
from marginloom.io.files import StrPath, read_bytes
from marginloom.io.names import quoted, shown
from marginloom.tasks.detection.boxes import Box

__all__ = ["DigitImages", "make_digit_detection", "read_mnist"]

# The paper puts digits of 28 x 28 into images of 64 x 64.
_PROPORTION = 64 / 28
_SPLITS = {"train": "train", "test": "t10k"}
_IMAGES_MAGIC, _LABELS_MAGIC = 2051, 2049


@dataclasses.dataclass(frozen=True)
class DigitImages:
    """Images with one digit each.

    Attributes
    ----------
    images : array, n x side x side
        Black (0) around the digit.
    labels : array of int
        The digits.
    boxes : array, n x 4
        Top, left, height and width of each digit's square.
    """

    images: NDArray[Any]
    labels: NDArray[np.int64]
    boxes: NDArray[np.int64]

    @property
    def targets(self) -> list[tuple[int, Box]]:
        """The right outputs, as `ObjectDetector.fit` takes them."""
        return [
            (label, (top, left, height, width))
            for label, (top, left, height, width) in zip(self.labels.tolist(), self.boxes.tolist(), strict=True)
        ]


def make_digit_detection(
    n_images: int = 1000,
    *,
    digits: tuple[ArrayLike, ArrayLike] | None = None,
    side: int | None = None,
    seed: int = 0,
) -> DigitImages:
    """Put digits at random places of larger, black images.

    The paper's set has 20,000 digits of MNIST, 28 x 28, in images of 64 x 64:
    ``make_digit_detection(20000, digits=read_mnist(folder))``.

    Parameters
    ----------
    n_images : int
        How many images. Digits are drawn without repetition as long as there are enough.
    digits : tuple of arrays, optional
        Square images of digits and their labels; by default the 1,797 digits of 8 x 8 that come with scikit-learn,
        with grey values from 0 to 1.
    side : int, optional
        Of the images; by default in the paper's proportion, 64 for digits of 28.
    seed : int
        Chooses digits and places.

    Returns
    -------
    DigitImages
        Images, labels and boxes.

    Examples
    --------
    >>> found = make_digit_detection(100, seed=1)
    >>> found.images.shape
    (100, 18, 18)
    >>> digit, (top, left, height, width) = found.targets[0]
    >>> (height, width)
    (8, 8)
    """
    n_images = checked("n_images", n_images, "positive count")
    seed = checked("seed", seed, "seed")
    pictures, labels = _bundled() if digits is None else (np.asarray(digits[0]), np.asarray(digits[1]))
    if pictures.ndim != 3 or pictures.shape[1] != pictures.shape[2] or len(pictures) != len(labels) or not len(labels):
        raise InputError(
            f"digits must be square images and as many labels, not arrays of the shapes {pictures.shape} and "
            f"{labels.shape}"
        )
    size = pictures.shape[1]
    side = round(_PROPORTION * size) if side is None else checked("side", side, "positive count")
    if side < size:
        raise InputError(f"side is {side}; digits of {size} x {size} need at least as much")
    require_memory(
        f"making {n_images:,} images of {side:,} x {side:,}",
        {"pixels": n_images * side**2 * pictures.itemsize},
        "ask for fewer",
    )
    random = np.random.default_rng(seed)
    rounds = [random.permutation(len(labels)) for _ in range(-(-n_images // len(labels)))]
    chosen = np.concatenate(rounds)[:n_images]
    places = random.integers(0, side - size + 1, size=(n_images, 2))
    images = np.zeros((n_images, side, side), dtype=pictures.dtype)
    for image, digit, (top, left) in zip(images, chosen.tolist(), places.tolist(), strict=True):
        image[top : top + size, left : left + size] = pictures[digit]
    boxes = np.concatenate([places, np.full((n_images, 2), size)], axis=1)
    return DigitImages(images, labels[chosen].astype(np.int64), boxes)


def read_mnist(
    folder: StrPath, split: Literal["train", "test"] = "train"
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Read the digits of MNIST from its IDX files, compressed or not.

    Parameters
    ----------
    folder : path
        Where ``train-images-idx3-ubyte.gz`` and the other files are.
    split : {"train", "test"}
        60,000 or 10,000 digits.

    Returns
    -------
    images, labels : arrays
        n x 28 x 28 bytes, and n digits.

    Raises
    ------
    InputError
        If a file is missing, cut off or not what its name says.

    Examples
    --------
    >>> read_mnist("no such folder")
    Traceback (most recent call last):
    ...
    marginloom.errors.InputError: 'no such folder' has neither train-images-idx3-ubyte nor train-images-idx3-ubyte.gz
    """
    if split not in _SPLITS:
        raise InputError(f"split is {split!r}; it must be 'train' or 'test'")
    images = _read_idx(Path(folder), f"{_SPLITS[split]}-images-idx3-ubyte", _IMAGES_MAGIC, 3)
    labels = _read_idx(Path(folder), f"{_SPLITS[split]}-labels-idx1-ubyte", _LABELS_MAGIC, 1)
    if len(images) != len(labels):
        raise InputError(f"{quoted(folder)} has {len(images)} images and {len(labels)} labels of the {split} split")
    return images, labels.astype(np.int64)


def _bundled() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return (digits.images / 16).astype(np.float32), digits.target.astype(np.int64)


def _read_idx(folder: Path, name: str, magic: int, dimensions: int) -> NDArray[np.uint8]:
    """Read an array of bytes: a magic number and the sizes, big-endian, then the bytes."""
    path = next((folder / known for known in (name, f"{name}.gz") if (folder / known).exists()), None)
    if path is None:
        raise InputError(f"{quoted(folder)} has neither {name} nor {name}.gz")
    content = read_bytes(path)
    start = 4 * (dimensions + 1)
    header = np.frombuffer(content[:start], dtype=">u4") if len(content) >= start else np.zeros(1, dtype=np.uint32)
    if header[0] != magic:
        raise InputError(f"{shown(path)}: this is not an IDX file with {dimensions} dimensions of bytes")
    shape = tuple(int(length) for length in header[1:])
    if len(content) - start != np.prod(shape, dtype=object):
        raise InputError(
            f"{shown(path)}: {len(content) - start} bytes follow the header, which promises the shape {shape}"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)
