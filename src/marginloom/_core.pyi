import builtins
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
UInt64 = NDArray[np.uint64]
UInt32 = NDArray[np.uint32]
UInt16 = NDArray[np.uint16]
Int32 = NDArray[np.int32]
UInt8 = NDArray[np.uint8]
Float32 = NDArray[np.float32]

def simd_available() -> list[str]: ...
def simd_selected() -> str: ...
def give_back_memory() -> None: ...
def padded(columns: int) -> int: ...
def simd_select(name: str) -> bool: ...

class StopFlag:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

class Vocabulary:
    def __init__(self, text: UInt8 = ..., offsets: UInt64 = ...) -> None: ...
    def __len__(self) -> int: ...
    def find(self, name: str) -> int: ...
    def name(self, id: int) -> str: ...
    def text(self) -> bytes: ...
    def offsets(self) -> UInt64: ...
    def selected(self, ids: UInt32) -> Vocabulary: ...
    def encode_tokens(self, sentences: Iterable[Any], grow: bool) -> tuple[UInt64, UInt64, UInt32, Float32 | None]: ...
    def encode_strings(self, strings: Iterable[str], grow: bool) -> UInt32: ...
    def encode_column(self, table: ColumnTable, column: int, grow: bool) -> UInt32: ...

class TokenColumns:
    def sentences(self) -> UInt64: ...

class RowTable(TokenColumns):
    def __init__(self, sentences: Iterable[Any]) -> None: ...

class Extractor:
    def __init__(
        self,
        templates: str,
        word_column: int,
        pos_column: int | None,
        cluster_words: Vocabulary,
        cluster_paths: Sequence[str],
        gazetteers: Sequence[tuple[str, Vocabulary]],
    ) -> None: ...
    def templates(self) -> list[str]: ...
    def encode(self, table: TokenColumns, vocabulary: Vocabulary, threads: int) -> tuple[UInt64, UInt32]: ...
    def learn(self, table: TokenColumns, vocabulary: Vocabulary, threads: int) -> tuple[UInt64, UInt32]: ...
    def hash(self, table: TokenColumns, bits: int, threads: int) -> tuple[UInt64, UInt32]: ...

class ColumnTable(TokenColumns):
    def __init__(self, text: builtins.bytes, conllu: bool, name: str, first_line: int, columns: int) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def cell(self, token: int, column: int) -> str: ...
    def line_number(self, token: int) -> int: ...
    def with_labels(self, labels: Vocabulary, numbers: UInt16, column: int, k: int = ...) -> builtins.bytes: ...

class AttributeTable:
    def __init__(self, text: builtins.bytes, name: str, first_line: int) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def tokens(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def sentences(self) -> UInt64: ...
    def line_number(self, token: int) -> int: ...
    def attributes(self, token: int) -> list[tuple[str, float]]: ...
    def encode_labels(self, vocabulary: Vocabulary, grow: bool) -> UInt32: ...
    def encode_attributes(self, vocabulary: Vocabulary, grow: bool) -> tuple[UInt64, UInt32, Float32 | None]: ...
    def with_labels(self, labels: Vocabulary, numbers: UInt16) -> builtins.bytes: ...

def parse_libsvm(
    text: builtins.bytes, name: str, first_line: int
) -> tuple[UInt64, Int32, Float64, UInt64, UInt32, list[str], UInt64]: ...
def format_libsvm(
    labels: Sequence[str], offsets: UInt64, indices: Int32, values: Float32 | Float64
) -> builtins.bytes: ...

class Task:
    @property
    def size(self) -> int: ...
    @property
    def dimension(self) -> int: ...
    @property
    def capabilities(self) -> list[str]: ...
    def work(self, example: int) -> float: ...
    def predict(self, weights: Float64, threads: int = ..., k: int = ...) -> tuple[UInt8, UInt64, Float64, UInt64]: ...
    def find(
        self,
        example: int,
        weights: Float64,
        loss_scale: float = ...,
        k: int = ...,
        min_violation: float = ...,
        every: bool = ...,
    ) -> tuple[float, list[dict[str, Any]]]: ...
    def candidate(self, example: int, output: bytes) -> dict[str, Any] | None: ...

class SequenceTask(Task):
    def __init__(
        self,
        sentences: UInt64,
        tokens: UInt64 | None,
        features: UInt32 | None,
        values: Float32 | None,
        gold: UInt16 | None,
        feature_count: int,
        label_count: int,
        start_end: bool,
        label_costs: Sequence[float],
        forbidden: Sequence[tuple[int, int]],
    ) -> None: ...
    @property
    def stride(self) -> int: ...
    @property
    def bytes_per_label(self) -> int: ...

class MulticlassTask(Task):
    def __init__(
        self,
        rows: int,
        columns: int,
        offsets: UInt64 | None,
        indices: UInt32 | None,
        singles: Float32 | None,
        doubles: Float64 | None,
        gold: UInt32 | None,
        class_count: int,
        costs: Sequence[float],
        bias: float,
    ) -> None: ...
    def scores(self, weights: Float64, threads: int = ...) -> Float64: ...
    @property
    def stride(self) -> int: ...

class MultilabelTask(Task):
    def __init__(
        self,
        rows: int,
        columns: int,
        offsets: UInt64 | None,
        indices: UInt32 | None,
        singles: Float32 | None,
        doubles: Float64 | None,
        gold: UInt8 | None,
        label_count: int,
        bias: float,
        labels_per_slack: int,
        missing_costs: Sequence[float],
        spurious_costs: Sequence[float],
        pairs: Sequence[tuple[int, int]],
        sweeps: int,
    ) -> None: ...
    @property
    def stride(self) -> int: ...
    @property
    def first_row(self) -> int: ...

class CustomTask(Task):
    def __init__(self, oracle: object, size: int, dimension: int, gold: bool, exact: bool, k_best: bool) -> None: ...
    def gold_features(self, example: int) -> tuple[UInt32, Float64]: ...

class DetectionTask(Task):
    def __init__(
        self,
        pixels: Float32,
        heights: UInt32,
        widths: UInt32,
        gold: UInt32 | None,
        channels: int,
        label_count: int,
        sizes: Sequence[tuple[int, int]],
        bias: bool,
        loss_tables: Sequence[int],
        losses: Float64,
        overlap: float,
    ) -> None: ...

class OnlineLearner: ...

class Perceptron(OnlineLearner):
    def __init__(self, task: Task, instance_weights: Float64, averaged: bool) -> None: ...

class Mira(OnlineLearner):
    def __init__(
        self,
        task: Task,
        costs: Float64,
        k_best: int,
        loss_augmented: bool,
        unbounded: bool,
        qp_tolerance: float,
        qp_sweeps: int,
        averaged: bool,
    ) -> None: ...

class PassiveAggressive(OnlineLearner):
    def __init__(self, task: Task, costs: Float64, variant: str, loss_augmented: bool, averaged: bool) -> None: ...

class Sgd(OnlineLearner):
    def __init__(self, task: Task, instance_weights: Float64, C: float, eta0: float, averaged: bool) -> None: ...
    @property
    def eta0(self) -> float: ...

class DualLearner:
    @property
    def memory(self) -> int: ...

class Dcd(DualLearner):
    def __init__(
        self,
        task: Task,
        costs: Float64,
        loss: str,
        delta: float,
        k_best: int,
        inner_passes: int,
        sweeps: int,
        shrinking: float,
        rest: int,
        averaged: bool,
        memory: int,
    ) -> None: ...

class CuttingPlane(DualLearner):
    def __init__(self, task: Task, costs: Float64, loss: str, epsilon: float, batch: int, memory: int) -> None: ...

class OneSlack(DualLearner):
    def __init__(self, task: Task, costs: Float64, cache: int, inactive: int, memory: int) -> None: ...

class FrankWolfe(DualLearner):
    def __init__(self, task: Task, costs: Float64, inner_passes: int, averaged: bool, memory: int) -> None: ...

class Fsmo(DualLearner):
    def __init__(
        self,
        task: Task,
        costs: Float64,
        epsilon: float,
        k_best: int,
        batch: int,
        all_after_batch: bool,
        as_published: bool,
        inner_stop: bool,
        inner_iterations: int,
        inner_change: float,
        inner_times: int,
        inner_share: float,
        memory: int,
    ) -> None: ...

class Engine:
    def run_pass(self, stop: StopFlag | None = None) -> dict[str, Any]: ...
    def certify(self, threads: int, stop: StopFlag | None = None) -> dict[str, Any] | None: ...
    def final_weights(self) -> Float64: ...
    def finish(self) -> None: ...
    def export_state(self) -> dict[str, NDArray[Any]]: ...
    def import_state(self, arrays: dict[str, NDArray[Any]]) -> None: ...
    def forget_averages(self) -> None: ...
    @property
    def weights_are_final(self) -> bool: ...
    @property
    def descriptor(self) -> int: ...
    @property
    def weights(self) -> Float64: ...

class MasterWorker(Engine):
    def __init__(
        self, task: Task, learner: DualLearner, examples: UInt64, seed: int, shuffle: bool, threads: int
    ) -> None: ...

class Decoupled(Engine):
    def __init__(
        self,
        task: Task,
        learner: DualLearner,
        examples: UInt64,
        seed: int,
        shuffle: bool,
        threads: int,
        learners: int,
        rho_updates: int,
        rho_inferences: int,
        least_gain: float,
    ) -> None: ...

class Shared(Engine):
    def __init__(
        self,
        task: Task,
        learner: DualLearner,
        examples: UInt64,
        seed: int,
        shuffle: bool,
        threads: int,
    ) -> None: ...
    @property
    def caution(self) -> float: ...

class Pipelined(Engine):
    def __init__(
        self,
        task: Task,
        learner: DualLearner,
        examples: UInt64,
        seed: int,
        shuffle: bool,
        threads: int,
        scorers: int,
    ) -> None: ...

class SerialOnline(Engine):
    def __init__(self, task: Task, learner: OnlineLearner, examples: UInt64, seed: int, shuffle: bool) -> None: ...

class SerialDual(Engine):
    def __init__(self, task: Task, learner: DualLearner, examples: UInt64, seed: int, shuffle: bool) -> None: ...

class Minibatch(Engine):
    def __init__(
        self,
        task: Task,
        learner: OnlineLearner,
        examples: UInt64,
        batch_size: int,
        threads: int,
        seed: int,
        shuffle: bool,
    ) -> None: ...

class Mixing(Engine):
    def __init__(
        self,
        task: Task,
        learner: OnlineLearner,
        shards: Sequence[UInt64],
        by_errors: bool,
        inner_epochs: int,
        threads: int,
        seed: int,
        shuffle: bool,
    ) -> None: ...

def make_shards(examples: UInt64, count: int, shuffled: bool, seed: int) -> list[UInt64]: ...
def hildreth(
    gram: Float64, missing: Float64, costs: Float64, examples: UInt64, tolerance: float, max_sweeps: int
) -> Float64: ...
def primal_value(
    task: Task, weights: Float64, costs: Float64, loss: str, threads: int, stop: StopFlag | None = None
) -> tuple[float, bool]: ...
