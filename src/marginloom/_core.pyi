import builtins
import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
UInt64 = NDArray[np.uint64]
UInt32 = NDArray[np.uint32]
UInt16 = NDArray[np.uint16]
Int32 = NDArray[np.int32]
Int64 = NDArray[np.int64]
UInt8 = NDArray[np.uint8]
Float32 = NDArray[np.float32]

def simd_available() -> list[str]: ...
def simd_selected() -> str: ...
def give_back_memory() -> None: ...
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
    def name(self, id: int) -> str: ...  # a colon between the names of a nested feature
    def with_names_as_shown(self) -> Vocabulary: ...  # ValueError if two are shown alike
    def text(self) -> bytes: ...
    def offsets(self) -> UInt64: ...
    def selected(self, ids: UInt32) -> Vocabulary: ...
    def encode_tokens(self, sentences: Iterable[Any], grow: bool, separator: builtins.bytes) -> TokenRows: ...
    def encode_strings(self, strings: Iterable[str], grow: bool) -> UInt32: ...
    def encode_column(self, table: ColumnTable, column: int, grow: bool) -> UInt32: ...

class TokenColumns:
    def sentences(self) -> UInt64: ...

class RowTable(TokenColumns):
    def __init__(self, sentences: Iterable[Any]) -> None: ...

class TokenRows:
    sentences: Final[UInt64]
    tokens: Final[UInt64]
    features: Final[UInt32]
    values: Final[Float32 | None]

def numbered_templates(text: str, arcs: bool) -> list[tuple[int, str]]: ...

class Extractor:
    def __init__(
        self,
        templates: str,
        word_column: int,
        pos_column: int | None,
        columns: Mapping[str, int],
        cluster_words: Vocabulary,
        cluster_paths: Sequence[str],
        gazetteers: Sequence[tuple[str, Vocabulary]],
    ) -> None: ...
    def templates(self) -> list[str]: ...
    def encode(self, table: TokenColumns, vocabulary: Vocabulary, threads: int) -> TokenRows: ...
    def learn(self, table: TokenColumns, vocabulary: Vocabulary, threads: int) -> TokenRows: ...
    def hash(self, table: TokenColumns, bits: int, threads: int) -> TokenRows: ...

class ColumnTable(TokenColumns):
    def __init__(
        self,
        text: builtins.bytes,
        tabs_only: bool,
        name: str,
        first_line: int,
        columns: int,
        id_column: int | None = ...,
        comments: bool = ...,
    ) -> None: ...
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
    @property
    def line_with_spaces(self) -> int | None: ...
    def with_labels(self, labels: Vocabulary, numbers: UInt16, column: int, k: int = ...) -> builtins.bytes: ...
    def with_columns(self, columns: Sequence[tuple[int, Vocabulary, UInt32]]) -> builtins.bytes: ...

class AttributeTable:
    def __init__(self, text: builtins.bytes, name: str, first_line: int) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def tokens(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def sentences(self) -> UInt64: ...
    def weights(self) -> Float64: ...
    def line_number(self, token: int) -> int: ...
    def attributes(self, token: int) -> list[tuple[str, float]]: ...
    def encode_labels(self, vocabulary: Vocabulary, grow: bool) -> UInt32: ...
    def encode_attributes(self, vocabulary: Vocabulary, grow: bool) -> TokenRows: ...
    def with_labels(self, labels: Vocabulary, numbers: UInt16) -> builtins.bytes: ...

class LibsvmTable:
    offsets: Final[UInt64]
    indices: Final[Int32]
    values: Final[Float64]
    label_offsets: Final[UInt64]
    label_numbers: Final[UInt32]
    label_names: Final[list[str]]
    lines: Final[UInt64]
    groups: Final[Int64]

def parse_libsvm(text: builtins.bytes, name: str, first_line: int) -> LibsvmTable: ...
def format_libsvm(
    labels: Sequence[str], offsets: UInt64, indices: Int32, values: Float32 | Float64
) -> builtins.bytes: ...

class WeightRows:
    def __init__(self, *, count: int, columns: int) -> None: ...
    count: Final[int]
    columns: Final[int]
    @property
    def stride(self) -> int: ...

class Predictions:
    outputs: Final[UInt8]
    output_bounds: Final[UInt64]
    scores: Final[Float64]
    example_bounds: Final[UInt64]

class Candidate:
    loss: Final[float]
    squared_norm: Final[float]
    output: Final[builtins.bytes]
    implicit: Final[bool]
    indices: Final[UInt32]
    values: Final[Float64]

class Found:
    bound: Final[float]
    candidates: Final[list[Candidate]]

class Task:
    @property
    def size(self) -> int: ...
    @property
    def dimension(self) -> int: ...
    @property
    def examples_per_row(self) -> int: ...
    @property
    def capabilities(self) -> list[str]: ...
    def work(self, example: int) -> float: ...
    def predict(self, weights: Float64, threads: int = ..., k: int = ...) -> Predictions: ...
    def find(
        self,
        example: int,
        weights: Float64,
        loss_scale: float = ...,
        k: int = ...,
        min_violation: float = ...,
    ) -> Found: ...
    def candidate(self, example: int, output: bytes) -> Candidate | None: ...

class SequenceData:
    def __init__(
        self,
        *,
        sentences: UInt64,
        tokens: UInt64 | None,
        features: UInt32 | None,
        values: Float32 | None,
        gold: UInt16 | None,
        feature_count: int,
        label_count: int,
    ) -> None: ...

class SequenceOptions:
    def __init__(
        self, *, start_end: bool, label_costs: Sequence[float], forbidden: Sequence[tuple[int, int]]
    ) -> None: ...

class SequenceTask(Task):
    def __init__(self, data: SequenceData, options: SequenceOptions) -> None: ...
    @staticmethod
    def weight_rows(feature_count: int, label_count: int) -> WeightRows: ...
    @property
    def stride(self) -> int: ...
    @property
    def start_row(self) -> int: ...
    @property
    def first_feature_row(self) -> int: ...
    @property
    def bytes_per_label(self) -> int: ...

class ArcExtractor:
    def __init__(
        self,
        templates: str,
        word_column: int,
        pos_column: int | None,
        xpos_column: int | None,
        columns: Mapping[str, int],
        cluster_words: Vocabulary,
        cluster_paths: Sequence[str],
        gazetteers: Sequence[tuple[str, Vocabulary]],
    ) -> None: ...
    def templates(self) -> list[str]: ...
    @property
    def views(self) -> int: ...
    def values(self, table: TokenColumns, threads: int) -> UInt64: ...
    def learn(
        self,
        tables: Sequence[TokenColumns],
        heads: NDArray[np.uint16],
        left_out: NDArray[np.uint8] | None,
        min_count: int,
    ) -> list[Vocabulary]: ...
    def described(self, kind: int, name: str) -> str: ...

class ArcFeatures:
    @staticmethod
    def by_vocabularies(
        extractor: ArcExtractor, arcs: Vocabulary, siblings: Vocabulary, labels: Vocabulary
    ) -> ArcFeatures: ...
    @staticmethod
    def by_hashing(extractor: ArcExtractor, hash_bits: int, label_count: int) -> ArcFeatures: ...
    @property
    def counts(self) -> list[int]: ...
    @property
    def identity(self) -> int: ...

class ParseData:
    def __init__(
        self,
        *,
        sentences: UInt64,
        values: UInt64,
        heads: NDArray[np.uint16] | None,
        labels: NDArray[np.uint16] | None,
    ) -> None: ...

class ParseOptions:
    def __init__(
        self,
        *,
        projective: bool,
        siblings: bool,
        one_root: bool,
        label_count: int,
        root_labels: Sequence[int],
        other_labels: Sequence[int],
        memory: int,
    ) -> None: ...

class ParseTask(Task):
    def __init__(self, data: ParseData, options: ParseOptions, features: ArcFeatures, threads: int) -> None: ...
    @staticmethod
    def weight_count(features: ArcFeatures, label_count: int) -> int: ...
    @property
    def first_sibling(self) -> int: ...
    @property
    def first_label_row(self) -> int: ...
    @property
    def stride(self) -> int: ...
    @property
    def bytes_per_label(self) -> int: ...
    @property
    def kept_bytes(self) -> int: ...

class InputRows:
    def __init__(
        self,
        *,
        rows: int,
        columns: int,
        offsets: UInt64 | None,
        indices: UInt32 | None,
        singles: Float32 | None,
        doubles: Float64 | None,
        bias: float,
    ) -> None: ...
    def weight_rows(self, labels: int) -> WeightRows: ...

class MulticlassTask(Task):
    def __init__(self, inputs: InputRows, gold: UInt32 | None, class_count: int, costs: Sequence[float]) -> None: ...
    def scores(self, weights: Float64, threads: int = ...) -> Float64: ...
    @property
    def stride(self) -> int: ...

class MultilabelOptions:
    def __init__(
        self,
        *,
        missing_costs: Sequence[float],
        spurious_costs: Sequence[float],
        labels_per_slack: int,
        pairs: Sequence[tuple[int, int]],
        relaxes: bool,
        sweeps: int,
    ) -> None: ...

class MultilabelTask(Task):
    def __init__(self, inputs: InputRows, gold: UInt8 | None, label_count: int, options: MultilabelOptions) -> None: ...
    @property
    def stride(self) -> int: ...
    @property
    def first_row(self) -> int: ...

class CustomTask(Task):
    def __init__(self, oracle: object, size: int, dimension: int, gold: bool, exact: bool, k_best: bool) -> None: ...
    def gold_features(self, example: int) -> tuple[UInt32, Float64]: ...

class DetectionData:
    def __init__(
        self,
        *,
        pixels: Float32,
        heights: UInt32,
        widths: UInt32,
        gold: UInt32 | None,
        channels: int,
        label_count: int,
    ) -> None: ...

class DetectionOptions:
    def __init__(
        self,
        *,
        sizes: Sequence[tuple[int, int]],
        bias: bool,
        loss_tables: Sequence[int],
        losses: Float64,
        overlap: float,
    ) -> None: ...

class WindowWeight:
    label: Final[int]
    size: Final[int]
    constant: Final[bool]
    channel: Final[int]
    row: Final[int]
    column: Final[int]

class DetectionTask(Task):
    def __init__(self, data: DetectionData, options: DetectionOptions) -> None: ...
    def describe(self, weight: int) -> WindowWeight: ...

class Loss(enum.Enum):
    hinge = ...
    squared_hinge = ...

class PassiveAggressiveVariant(enum.Enum):
    pa = ...
    pa_i = ...
    pa_ii = ...

class OnlineLearner: ...

class PerceptronParameters:
    def __init__(self, *, averaged: bool) -> None: ...

class Perceptron(OnlineLearner):
    def __init__(self, task: Task, instance_weights: Float64, parameters: PerceptronParameters) -> None: ...

class HildrethOptions:
    def __init__(self, *, tolerance: float, max_sweeps: int) -> None: ...

class MiraParameters:
    def __init__(
        self, *, k_best: int, loss_augmented: bool, unbounded: bool, programme: HildrethOptions, averaged: bool
    ) -> None: ...

class Mira(OnlineLearner):
    def __init__(self, task: Task, costs: Float64, parameters: MiraParameters) -> None: ...

class PassiveAggressiveParameters:
    def __init__(self, *, variant: PassiveAggressiveVariant, loss_augmented: bool, averaged: bool) -> None: ...

class PassiveAggressive(OnlineLearner):
    def __init__(self, task: Task, costs: Float64, parameters: PassiveAggressiveParameters) -> None: ...

class SgdParameters:
    def __init__(self, *, C: float, eta_0: float, averaged: bool) -> None: ...

class Sgd(OnlineLearner):
    def __init__(self, task: Task, instance_weights: Float64, parameters: SgdParameters) -> None: ...
    @property
    def eta_0(self) -> float: ...

class DualLearner:
    @property
    def memory(self) -> int: ...

class BlockLearner(DualLearner): ...

class DcdParameters:
    def __init__(
        self,
        *,
        loss: Loss,
        delta: float,
        k_best: int,
        inner_passes: int,
        sweeps: int,
        shrinking: float,
        rest: int,
        averaged: bool,
        memory: int,
    ) -> None: ...

class Dcd(BlockLearner):
    def __init__(self, task: Task, costs: Float64, parameters: DcdParameters) -> None: ...

class CuttingPlaneParameters:
    def __init__(self, *, loss: Loss, epsilon: float, batch: int, memory: int) -> None: ...

class CuttingPlane(BlockLearner):
    def __init__(self, task: Task, costs: Float64, parameters: CuttingPlaneParameters) -> None: ...

class OneSlackParameters:
    def __init__(self, *, cache: int, inactive: int, memory: int) -> None: ...

class OneSlack(BlockLearner):
    def __init__(self, task: Task, costs: Float64, parameters: OneSlackParameters) -> None: ...

class FrankWolfeParameters:
    def __init__(self, *, inner_passes: int, averaged: bool, memory: int) -> None: ...

class FrankWolfe(BlockLearner):
    def __init__(self, task: Task, costs: Float64, parameters: FrankWolfeParameters) -> None: ...

class NewtonParameters:
    def __init__(self, *, loss: Loss, delta: float, memory: int) -> None: ...

class Newton(BlockLearner):
    def __init__(self, task: Task, costs: Float64, parameters: NewtonParameters) -> None: ...

class FsmoParameters:
    def __init__(
        self,
        *,
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

class Fsmo(BlockLearner):
    def __init__(self, task: Task, costs: Float64, parameters: FsmoParameters) -> None: ...

class ThreadTime:
    inference: Final[float]
    update: Final[float]
    publishing: Final[float]
    waiting: Final[float]

class PassReport:
    inferences: Final[int]
    updates: Final[int]
    wrong: Final[int]
    training_loss: Final[float]
    threads: Final[list[ThreadTime]]
    found: Final[int]
    accepted: Final[int]
    weights_age: Final[float]
    stopped: Final[bool]
    primal_estimate: Final[float | None]
    dual: Final[float | None]
    active: Final[int]
    working_set_bytes: Final[int]

class Certificate:
    def __init__(self, *, primal: float, dual: float, proven: bool, complete: bool) -> None: ...
    primal: Final[float]
    dual: Final[float]
    proven: Final[bool]
    complete: Final[bool]

class Primal:
    value: Final[float]
    squared_norm: Final[float]
    complete: Final[bool]

class OnlineJob:
    def __init__(
        self, *, task: Task, learner: OnlineLearner, examples: UInt64, seed: int, shuffle: bool, threads: int
    ) -> None: ...

class DualJob:
    def __init__(
        self, *, task: Task, learner: BlockLearner, examples: UInt64, seed: int, shuffle: bool, threads: int
    ) -> None: ...

class Engine:
    def run_pass(self, stop: StopFlag | None = None) -> PassReport: ...
    def certify(
        self, threads: int, stop: StopFlag | None = None, progress: Callable[[int, int], None] | None = None
    ) -> Certificate | None: ...
    def final_weights(self) -> Float64: ...
    def finish(self) -> None: ...
    def export_state(self) -> dict[str, NDArray[Any]]: ...
    def import_state(self, arrays: dict[str, NDArray[Any]]) -> None: ...
    def forget_averages(self) -> None: ...
    @property
    def weights_are_final(self) -> bool: ...
    @property
    def weights(self) -> Float64: ...

class SerialOnline(Engine):
    def __init__(self, job: OnlineJob) -> None: ...

class Minibatch(Engine):
    def __init__(self, job: OnlineJob, batch_size: int) -> None: ...

class MixingOptions:
    def __init__(self, *, by_errors: bool, inner_epochs: int) -> None: ...

class Mixing(Engine):
    def __init__(self, job: OnlineJob, shards: Sequence[UInt64], options: MixingOptions) -> None: ...

class SerialDual(Engine):
    def __init__(self, job: DualJob) -> None: ...

class MasterWorker(Engine):
    def __init__(self, job: DualJob) -> None: ...

class Shared(Engine):
    def __init__(self, job: DualJob) -> None: ...

class Pipelined(Engine):
    def __init__(self, job: DualJob, scorers: int) -> None: ...
    @staticmethod
    def buffer_bytes(task: Task, threads: int, scorers: int) -> int: ...

class ColumnsNeeds:
    duals: Final[int]
    state: Final[int]
    thread: Final[int]

class Columns(Engine):
    def __init__(self, job: DualJob) -> None: ...
    @staticmethod
    def needs(task: Task) -> ColumnsNeeds: ...

class DecoupledOptions:
    def __init__(self, *, learners: int, rho_updates: int, rho_inferences: int, least_gain: float) -> None: ...

class Decoupled(Engine):
    def __init__(self, job: DualJob, options: DecoupledOptions) -> None: ...

def make_shards(examples: UInt64, count: int, shuffled: bool, seed: int) -> list[UInt64]: ...
def hildreth(
    gram: Float64, missing: Float64, costs: Float64, examples: UInt64, options: HildrethOptions
) -> Float64: ...
def primal_value(
    task: Task,
    weights: Float64,
    costs: Float64,
    loss: Loss,
    threads: int,
    stop: StopFlag | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Primal: ...
