"""Images, or maps of features, packed into one array for the native code."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginloom.errors import InputError

_BEHIND = 16  # floats that native loops may read behind the last image


@dataclasses.dataclass(frozen=True)
class ImageSet:
    """Images of any sizes with the same number of channels.

    Attributes
    ----------
    pixels : array of float32
        Image by image, channel by channel, row by row, and a few zeros at the end.
    heights, widths : array of uint32
        Sizes of the images.
    channels : int
        Numbers per pixel.
    """

    pixels: NDArray[np.float32]
    heights: NDArray[np.uint32]
    widths: NDArray[np.uint32]
    channels: int

    @classmethod
    def pack(cls, images: Any, channels: int | None = None) -> ImageSet:
        """Pack images.

        Parameters
        ----------
        images : array or list of arrays
            One array of n images, or a list with an array for each: height x width, or height x width x channels, of
            numbers or booleans. Those of bytes (uint8) are divided by 255.
        channels : int, optional
            How many channels they must have.

        Raises
        ------
        InputError
            If something is not an image, has another number of channels, or has NaN or infinite values.

        Examples
        --------
        >>> images = ImageSet.pack([np.full((2, 3), 255, dtype=np.uint8)])
        >>> len(images), images.channels, images.pixels[:6].tolist()
        (1, 1, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
        """
        if isinstance(images, (str, bytes)) or not isinstance(images, Iterable):
            raise InputError(f"X must be an array or a list of images, not {type(images).__name__}")
        if isinstance(images, np.ndarray) and images.ndim not in (3, 4) and images.dtype != object:
            raise InputError(
                f"X is one array with {images.ndim} dimensions, expected images, rows, columns, and channels if any"
            )
        if isinstance(images, np.ndarray) and images.dtype != object and images.size:
            return cls._from_array(images, channels)
        planes = [_planes(image, i) for i, image in enumerate(images)]
        count = channels if channels is not None else planes[0].shape[0] if planes else 1
        for i, image in enumerate(planes):
            if image.shape[0] != count:
                raise InputError(f"image {i} has {image.shape[0]} channels, expected {count}")
        parts = [image.reshape(-1) for image in planes]
        return cls(
            np.concatenate([*parts, np.zeros(_BEHIND, dtype=np.float32)]),
            np.array([image.shape[1] for image in planes], dtype=np.uint32),
            np.array([image.shape[2] for image in planes], dtype=np.uint32),
            count,
        )

    @classmethod
    def _from_array(cls, images: NDArray[Any], channels: int | None) -> ImageSet:
        """Pack images of one size, without a copy for each."""
        found = images.shape[3] if images.ndim == 4 else 1
        if channels is not None and found != channels:
            raise InputError(f"image 0 has {found} channels, expected {channels}")
        _check_numbers(images, 0)
        pixels = np.zeros(images.size + _BEHIND, dtype=np.float32)
        shaped = pixels[: images.size].reshape(images.shape[0], found, *images.shape[1:3])
        np.copyto(shaped, np.moveaxis(images.reshape(*images.shape[:3], found), 3, 1), casting="unsafe")
        if images.dtype == np.uint8:
            shaped /= 255
        finite = np.isfinite(shaped.reshape(images.shape[0], -1)).all(axis=1)
        if not finite.all():
            raise _not_finite(int(np.argmin(finite)))
        sides = [np.full(images.shape[0], side, dtype=np.uint32) for side in images.shape[1:3]]
        return cls(pixels, sides[0], sides[1], found)

    @classmethod
    def join(cls, sets: Sequence[ImageSet]) -> ImageSet:
        """Return the images of several sets, which have the same number of channels, in a row."""
        if len(sets) == 1:
            return sets[0]
        return cls(
            np.concatenate([*(images.pixels[:-_BEHIND] for images in sets), np.zeros(_BEHIND, dtype=np.float32)]),
            np.concatenate([images.heights for images in sets]),
            np.concatenate([images.widths for images in sets]),
            sets[0].channels,
        )

    def __len__(self) -> int:
        return self.heights.size

    @property
    def memory(self) -> int:
        """Bytes."""
        return self.pixels.nbytes + self.heights.nbytes + self.widths.nbytes


def _planes(image: Any, number: int) -> NDArray[np.float32]:
    """Return an image with its channels first."""
    try:
        array = np.asarray(image)
    except ValueError as error:
        raise InputError(f"image {number} is not an array: its rows differ in length") from error
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise InputError(
            f"image {number} has the shape {array.shape}; it must have rows and columns, and channels if there are any"
        )
    _check_numbers(array, number)
    planes = np.ascontiguousarray(np.moveaxis(array.reshape(*array.shape[:2], -1), 2, 0), dtype=np.float32)
    if array.dtype == np.uint8:
        planes /= 255
    if not np.isfinite(planes).all():
        raise _not_finite(number)
    return planes


def _check_numbers(array: NDArray[Any], number: int) -> None:
    if array.dtype.kind not in "biuf":
        raise InputError(f"image {number} holds {array.dtype} values; pixels must be numbers")


def _not_finite(number: int) -> InputError:
    return InputError(f"image {number} has a pixel that is NaN, infinite or beyond single precision; mend or drop it")


def checked_boxes(boxes: Any, images: ImageSet, stride: int = 1) -> NDArray[np.int64]:
    """Return boxes as an array; raise `InputError` if one is not four whole numbers within its image."""
    rows = np.zeros((len(images), 4), dtype=np.int64)
    for i, box in enumerate(boxes):
        values = np.asarray(box)
        if values.shape != (4,) or values.dtype.kind not in "iuf" or (values != np.floor(values)).any():
            raise InputError(
                f"the box of image {i} is {box!r}; it must be four whole numbers: top, left, height, width"
            )
        rows[i] = values
    sides = np.column_stack([images.heights, images.widths]).astype(np.int64) * stride
    bad = (rows[:, :2] < 0) | (rows[:, 2:] < 1) | (rows[:, :2] + rows[:, 2:] > sides)
    if bad.any():
        i = int(np.argmax(bad.any(axis=1)))
        raise InputError(
            f"the box {tuple(rows[i].tolist())} of image {i} is not inside the image, which has {sides[i, 0]} x "
            f"{sides[i, 1]} pixels; boxes are top, left, height, width"
        )
    return rows
