"""Digits in larger images, from scikit-learn or MNIST's files."""

import gzip
import struct

import numpy as np
import pytest

from marginloom.errors import InputError
from marginloom.tasks.detection.digits import make_digit_detection, read_mnist


def test_each_image_is_black_but_for_one_digit_in_its_box():
    found = make_digit_detection(200, seed=3)
    for image, (top, left, height, width) in zip(found.images, found.boxes.tolist(), strict=True):
        inside = image[top : top + height, left : left + width]
        assert inside.max() > 0
        assert inside.sum() == pytest.approx(image.sum())
    assert found.images.shape == (200, 18, 18)
    assert set(found.labels.tolist()) == set(range(10))


def test_a_seed_gives_the_same_images_and_another_one_others():
    first, same, other = (make_digit_detection(20, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.images, same.images)
    assert first.targets == same.targets
    assert first.targets != other.targets


def test_digits_repeat_only_when_all_have_been_drawn():
    pictures = np.arange(1, 6, dtype=np.uint8).reshape(5, 1, 1)
    drawn = make_digit_detection(10, digits=(pictures, np.arange(5)), side=3)
    assert sorted(drawn.labels[:5].tolist()) == sorted(drawn.labels[5:].tolist()) == [0, 1, 2, 3, 4]
    assert [image.max() - 1 for image in drawn.images] == drawn.labels.tolist()


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def folder(tmp_path):
    """A tiny MNIST: six digits to train on, compressed, and two to test on."""
    random = np.random.default_rng(0)
    for split, count in (("train", 6), ("t10k", 2)):
        images = random.integers(0, 256, size=(count, 28, 28)).astype(np.uint8)
        labels = random.integers(0, 10, size=count).astype(np.uint8)
        files = {f"{split}-images-idx3-ubyte": images, f"{split}-labels-idx1-ubyte": labels}
        for name, array in files.items():
            if split == "train":
                (tmp_path / f"{name}.gz").write_bytes(gzip.compress(idx(array)))
            else:
                (tmp_path / name).write_bytes(idx(array))
    return tmp_path


def test_mnist_files_are_read_compressed_or_not_and_fill_the_papers_images(folder):
    images, labels = read_mnist(folder)
    assert images.shape == (6, 28, 28)
    assert labels.shape == (6,)
    assert read_mnist(folder, "test")[0].shape == (2, 28, 28)
    placed = make_digit_detection(6, digits=(images, labels))
    assert placed.images.shape == (6, 64, 64)
    assert placed.images.dtype == np.uint8
    assert (placed.boxes[:, 2:] == 28).all()


def test_broken_files_and_arguments_are_refused(folder):
    name = folder / "t10k-images-idx3-ubyte"
    content = name.read_bytes()
    name.write_bytes(content[:-1])
    with pytest.raises(InputError, match="header, which promises the shape"):
        read_mnist(folder, "test")
    name.write_bytes(content[:2])
    with pytest.raises(InputError, match="not an IDX file"):
        read_mnist(folder, "test")
    name.unlink()
    with pytest.raises(InputError, match="has neither"):
        read_mnist(folder, "test")
    with pytest.raises(InputError, match="split is"):
        read_mnist(folder, "dev")
    with pytest.raises(InputError, match="side is 5"):
        make_digit_detection(3, side=5)
    with pytest.raises(InputError, match="n_images must be a whole number from 1"):
        make_digit_detection(0)
    with pytest.raises(InputError, match="square"):
        make_digit_detection(3, digits=(np.ones((2, 3, 4)), [1, 2]))
