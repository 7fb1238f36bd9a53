"""A few images with objects, from the definitions."""

import numpy as np

from marginloom.tasks.detection.boxes import intersection_over_union, loss_tables
from marginloom.tasks.detection.images import ImageSet
from marginloom.tasks.detection.task import DetectionTask


class TinyImages:
    """A few images with objects, and everything that the task computes, from the definitions."""

    def __init__(self, seed, shape=(40, 44), sizes=((12, 14),), labels=3, channels=1, count=4, bias=False):
        random = np.random.default_rng(seed)
        self.images = random.normal(size=(count, *shape, channels)).astype(np.float32)
        self.sizes, self.labels, self.bias = list(sizes), labels, bias
        self.windows = [
            (label, s, top, left)
            for label in range(labels)
            for s, (height, width) in enumerate(self.sizes)
            for top in range(shape[0] - height + 1)
            for left in range(shape[1] - width + 1)
        ]
        self.gold = [self.windows[k] for k in random.integers(len(self.windows), size=count)]

    def task(self, **options):
        losses = loss_tables("iou", range(self.labels), self.sizes)
        images = ImageSet.pack(self.images)
        gold = np.array(self.gold, dtype=np.uint32)
        return DetectionTask(images, gold, self.labels, self.sizes, losses=losses, bias=self.bias, **options)

    def features(self, i, window):
        label, size, top, left = window
        blocks = []
        for own_label in range(self.labels):
            for own_size, (height, width) in enumerate(self.sizes):
                pixels = self.images[i, top : top + height, left : left + width]
                used = (own_label, own_size) == (label, size)
                block = np.moveaxis(pixels, 2, 0).ravel() if used else np.zeros(height * width * self.images.shape[3])
                blocks.append(np.append(block, float(used)) if self.bias else block)
        return np.concatenate(blocks).astype(np.float64)

    def loss(self, right, window):
        if right[0] != window[0]:
            return 1.0
        boxes = [(*place[2:], *self.sizes[place[1]]) for place in (right, window)]
        return 1 - float(intersection_over_union(boxes[0], [boxes[1]])[0])

    def values(self, i, weights, loss_scale):
        return np.array(
            [
                weights @ self.features(i, window) + loss_scale * self.loss(self.gold[i], window)
                for window in self.windows
            ]
        )
