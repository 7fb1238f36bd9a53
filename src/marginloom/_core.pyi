from collections.abc import Mapping, Sequence
import enum
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray

def simd_available() -> list[str]:
    """Instruction sets that this machine can use, widest first."""

def simd_selected() -> str: ...
def simd_select(arg: str, /) -> bool: ...
def give_back_memory() -> None:
    """Return freed memory to the system, where it can be asked for."""

class StopFlag:
    def __init__(self) -> None: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

class Vocabulary:
    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(
        self,
        arg0: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        arg1: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        /,
    ) -> None: ...
    def __len__(self) -> int: ...
    def find(self, arg: str, /) -> int: ...
    def name(self, arg: int, /) -> str: ...
    def with_names_as_shown(self) -> Vocabulary: ...
    def text(self) -> bytes: ...
    def offsets(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    def selected(
        self, arg: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)], /
    ) -> Vocabulary: ...
    def encode_tokens(self, sentences: object, grow: bool, separator: bytes) -> TokenRows: ...
    def encode_strings(self, strings: object, grow: bool) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...
    def encode_column(
        self, table: ColumnTable, column: int, grow: bool
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

class TokenColumns:
    def sentences(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

class ColumnTable(TokenColumns):
    def __init__(
        self,
        text: bytes,
        tabs_only: bool,
        name: str,
        first_line: int,
        columns: int,
        id_column: int | None = 0,
        comments: bool = True,
    ) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def memory(self) -> int: ...
    def cell(self, arg0: int, arg1: int, /) -> str: ...
    def line_number(self, arg: int, /) -> int: ...
    @property
    def line_with_spaces(self) -> int | None: ...
    def with_labels(
        self,
        labels: Vocabulary,
        numbers: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
        column: int,
        k: int = 1,
    ) -> bytes: ...
    def with_columns(
        self,
        columns: Sequence[
            tuple[
                int,
                Vocabulary,
                Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
            ]
        ],
    ) -> bytes: ...

def numbered_templates(text: str, about: str) -> list[tuple[int, str]]: ...

class TokenRows:
    @property
    def sentences(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    @property
    def tokens(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    @property
    def features(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...
    @property
    def values(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))] | None: ...

class RowTable(TokenColumns):
    def __init__(self, arg: object, /) -> None: ...

class Extractor:
    def __init__(
        self,
        templates: str,
        with_labels: bool,
        word_column: int,
        pos_column: int | None,
        columns: Mapping[str, int],
        cluster_words: Vocabulary,
        cluster_paths: Sequence[str],
        gazetteers: Sequence[tuple[str, Vocabulary]],
    ) -> None: ...
    def templates(self) -> list[str]: ...
    def encode(self, arg0: TokenColumns, arg1: Vocabulary, arg2: int, /) -> TokenRows: ...
    def learn(self, arg0: TokenColumns, arg1: Vocabulary, arg2: int, /) -> TokenRows: ...
    def hash(self, arg0: TokenColumns, arg1: int, arg2: int, /) -> TokenRows: ...

class AttributeTable:
    def __init__(self, arg0: bytes, arg1: str, arg2: int, /) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def tokens(self) -> int: ...
    @property
    def memory(self) -> int: ...
    def sentences(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    def weights(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def line_number(self, arg: int, /) -> int: ...
    def attributes(self, token: int) -> list[tuple[str, float]]: ...
    def encode_labels(
        self, vocabulary: Vocabulary, grow: bool
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...
    def encode_attributes(self, vocabulary: Vocabulary, grow: bool) -> TokenRows: ...
    def with_labels(
        self,
        labels: Vocabulary,
        numbers: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> bytes: ...

class LibsvmTable:
    @property
    def offsets(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    @property
    def indices(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...
    @property
    def values(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def label_offsets(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    @property
    def label_numbers(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...
    @property
    def label_names(self) -> list[str]: ...
    @property
    def lines(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    @property
    def groups(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

def parse_libsvm(text: bytes, name: str, first_line: int) -> LibsvmTable: ...
@overload
def format_libsvm(
    labels: Sequence[str],
    offsets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> bytes: ...
@overload
def format_libsvm(
    labels: Sequence[str],
    offsets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> bytes: ...

class Predictions:
    @property
    def outputs(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...
    @property
    def output_bounds(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    @property
    def scores(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def example_bounds(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

class Candidate:
    @property
    def loss(self) -> float: ...
    @property
    def squared_norm(self) -> float: ...
    @property
    def output(self) -> bytes: ...
    @property
    def implicit(self) -> bool: ...
    @property
    def indices(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...
    @property
    def values(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class Found:
    @property
    def bound(self) -> float: ...
    @property
    def candidates(self) -> list[Candidate]: ...

class WeightRows:
    def __init__(self, *, count: int, columns: int) -> None: ...
    @property
    def count(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def stride(self) -> int: ...

class InputRows:
    def __init__(
        self,
        *,
        rows: int,
        columns: int,
        offsets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        indices: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        singles: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        doubles: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        bias: float,
    ) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def offsets(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def indices(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def singles(
        self,
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def doubles(
        self,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def bias(self) -> float: ...
    def weight_rows(self, labels: int) -> WeightRows: ...

class Task:
    @property
    def size(self) -> int: ...
    @property
    def dimension(self) -> int: ...
    @property
    def examples_per_row(self) -> int: ...
    @property
    def capabilities(self) -> list[str]: ...
    def work(self, arg: int, /) -> float: ...
    def predict(
        self,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        threads: int = 1,
        k: int = 1,
    ) -> Predictions: ...
    def find(
        self,
        example: int,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        loss_scale: float = 1.0,
        k: int = 1,
        min_violation: float = float("-inf"),
    ) -> Found: ...
    def search_seconds(
        self,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        examples: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        loss_scale: float = 1.0,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def candidate(self, example: int, output: bytes) -> Candidate | None: ...
    def marginals(
        self,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        request: MarginalRequest,
        threads: int = 1,
    ) -> Marginals: ...
    @property
    def part_counts(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    @property
    def choice_counts(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    @property
    def offset_count(self) -> int: ...
    @property
    def has_marginals(self) -> bool: ...
    @property
    def why_no_marginals(self) -> str: ...

class MarginalRequest:
    def __init__(
        self,
        *,
        scales: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        offsets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        outputs: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        example_bounds: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None,
        tables: bool,
        first: int,
    ) -> None: ...
    @property
    def scales(
        self,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def offsets(
        self,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def outputs(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def example_bounds(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def tables(self) -> bool: ...
    @property
    def first(self) -> int: ...

class Marginals:
    @property
    def parts(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def wholes(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def table(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class CustomTask(Task):
    def __init__(self, oracle: object, size: int, dimension: int, gold: bool, exact: bool, k_best: bool) -> None: ...
    def gold_features(
        self, example: int
    ) -> tuple[
        Annotated[NDArray[numpy.uint32], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]
    ]: ...

class DetectionData:
    def __init__(
        self,
        *,
        pixels: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        heights: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        widths: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        gold: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        channels: int,
        label_count: int,
    ) -> None: ...
    @property
    def pixels(
        self,
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def heights(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def widths(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def gold(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def channels(self) -> int: ...
    @property
    def label_count(self) -> int: ...

class DetectionOptions:
    def __init__(
        self,
        *,
        sizes: Sequence[tuple[int, int]],
        bias: bool,
        loss_tables: Sequence[int],
        losses: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        overlap: float,
    ) -> None: ...

class WindowWeight:
    @property
    def label(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def constant(self) -> bool: ...
    @property
    def channel(self) -> int: ...
    @property
    def row(self) -> int: ...
    @property
    def column(self) -> int: ...

class DetectionTask(Task):
    def __init__(self, data: DetectionData, options: DetectionOptions) -> None: ...
    def describe(self, weight: int) -> WindowWeight: ...

class MulticlassTask(Task):
    def __init__(
        self,
        inputs: InputRows,
        gold: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        class_count: int,
        costs: Sequence[float],
    ) -> None: ...
    def scores(
        self,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        threads: int = 1,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
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
    @property
    def missing_costs(self) -> list[float]: ...
    @property
    def spurious_costs(self) -> list[float]: ...
    @property
    def labels_per_slack(self) -> int: ...
    @property
    def pairs(self) -> list[tuple[int, int]]: ...
    @property
    def relaxes(self) -> bool: ...
    @property
    def sweeps(self) -> int: ...

class MultilabelTask(Task):
    def __init__(
        self,
        inputs: InputRows,
        gold: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        label_count: int,
        options: MultilabelOptions,
    ) -> None: ...
    @property
    def stride(self) -> int: ...
    @property
    def first_row(self) -> int: ...

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
    def values(self, table: TokenColumns, threads: int) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    def learn(
        self,
        tables: Sequence[TokenColumns],
        heads: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
        left_out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        min_count: int,
    ) -> list[Vocabulary]: ...
    def described(self, arg0: int, arg1: str, /) -> str: ...

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
    def named(
        self, extractor: ArcExtractor, table: TokenColumns, sentence: int, head: int, modifier: int, sibling: int
    ) -> list[tuple[int, int, str]]: ...

class ParseData:
    def __init__(
        self,
        *,
        sentences: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        values: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        heads: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        labels: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    ) -> None: ...
    @property
    def sentences(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def values(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def heads(
        self,
    ) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def labels(
        self,
    ) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...

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
    @property
    def projective(self) -> bool: ...
    @property
    def siblings(self) -> bool: ...
    @property
    def one_root(self) -> bool: ...
    @property
    def label_count(self) -> int: ...
    @property
    def root_labels(self) -> list[int]: ...
    @property
    def other_labels(self) -> list[int]: ...
    @property
    def memory(self) -> int: ...

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

class StateExtractor:
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
    def values(self, table: TokenColumns, threads: int) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    def learn(
        self,
        tables: Sequence[TokenColumns],
        heads: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
        left_out: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        min_count: int,
    ) -> list[Vocabulary]: ...
    def described(self, arg0: int, arg1: str, /) -> str: ...

class StateFeatures:
    @staticmethod
    def by_vocabularies(extractor: StateExtractor, states: Vocabulary, labels: Vocabulary) -> StateFeatures: ...
    @staticmethod
    def by_hashing(extractor: StateExtractor, hash_bits: int, label_count: int) -> StateFeatures: ...
    @property
    def counts(self) -> list[int]: ...
    @property
    def identity(self) -> int: ...

class TransitionOptions:
    def __init__(
        self,
        *,
        beam: int,
        merging: bool,
        update: str,
        label_count: int,
        root_labels: Sequence[int],
        other_labels: Sequence[int],
    ) -> None: ...
    @property
    def beam(self) -> int: ...
    @property
    def merging(self) -> bool: ...
    @property
    def update(self) -> str: ...
    @property
    def label_count(self) -> int: ...
    @property
    def root_labels(self) -> list[int]: ...
    @property
    def other_labels(self) -> list[int]: ...

class ReadTrees:
    @property
    def heads(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,))]: ...
    @property
    def labels(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,))]: ...

class TransitionTask(Task):
    def __init__(self, data: ParseData, options: TransitionOptions, features: StateFeatures) -> None: ...
    @staticmethod
    def weight_count(features: StateFeatures, label_count: int) -> int: ...
    @property
    def first_label_row(self) -> int: ...
    @property
    def stride(self) -> int: ...
    @property
    def action_stride(self) -> int: ...
    @property
    def state_bytes(self) -> int: ...
    @property
    def step_bytes(self) -> int: ...
    def read_trees(
        self,
        outputs: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bounds: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> ReadTrees: ...

class TreeLabelExtractor:
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
    def values(self, table: TokenColumns, threads: int) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    def encode(
        self,
        values: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sentences: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        heads: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bits: int,
        threads: int,
    ) -> ArcChains: ...

class ArcChains:
    @property
    def chains(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    @property
    def words(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    @property
    def kinds(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...
    @property
    def offsets(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...
    @property
    def features(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]: ...

class SpanArrays:
    def __init__(
        self,
        *,
        offsets: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        starts: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ends: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def offsets(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def starts(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def ends(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...

class SpanExtractor:
    def __init__(
        self,
        templates: str,
        word_column: int,
        pos_column: int | None,
        feats_column: int | None,
        cluster_words: Vocabulary,
        cluster_paths: Sequence[str],
        gazetteers: Sequence[tuple[str, Vocabulary]],
    ) -> None: ...
    def encode(
        self, pairs: bool, table: TokenColumns, spans: SpanArrays, vocabulary: Vocabulary, threads: int
    ) -> tuple[
        Annotated[NDArray[numpy.uint64], dict(shape=(None,))], Annotated[NDArray[numpy.uint32], dict(shape=(None,))]
    ]: ...
    def learn(
        self, pairs: bool, table: TokenColumns, spans: SpanArrays, vocabulary: Vocabulary, threads: int
    ) -> tuple[
        Annotated[NDArray[numpy.uint64], dict(shape=(None,))], Annotated[NDArray[numpy.uint32], dict(shape=(None,))]
    ]: ...
    def hash(
        self, pairs: bool, table: TokenColumns, spans: SpanArrays, bits: int, threads: int
    ) -> tuple[
        Annotated[NDArray[numpy.uint64], dict(shape=(None,))], Annotated[NDArray[numpy.uint32], dict(shape=(None,))]
    ]: ...

class JointSolver:
    @property
    def needs_gil(self) -> bool: ...

class BranchAndBound(JointSolver):
    def __init__(self, node_limit: int) -> None: ...

class PythonSolver(JointSolver):
    def __init__(self, search: object) -> None: ...

class SolvedSentence:
    @property
    def output(self) -> bytes: ...
    @property
    def score(self) -> float: ...
    @property
    def bound(self) -> float: ...
    @property
    def complete(self) -> bool: ...
    @property
    def nodes(self) -> int: ...
    @property
    def seconds(self) -> float: ...

class RelationsData:
    def __init__(
        self,
        *,
        sentences: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        span_rows: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        span_features: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        pair_rows: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        pair_features: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        types: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        labels: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    ) -> None: ...
    @property
    def sentences(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def span_rows(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def span_features(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def pair_rows(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def pair_features(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def types(
        self,
    ) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def labels(
        self,
    ) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...

class RelationsOptions:
    def __init__(
        self,
        *,
        types: int,
        labels: int,
        table: Sequence[Sequence[int]],
        span_features: int,
        pair_features: int,
        entity_loss: float,
        pair_loss: float,
        missed_loss: float,
    ) -> None: ...
    @property
    def types(self) -> int: ...
    @property
    def labels(self) -> int: ...
    @property
    def table(self) -> list[list[int]]: ...
    @property
    def span_features(self) -> int: ...
    @property
    def pair_features(self) -> int: ...
    @property
    def entity_loss(self) -> float: ...
    @property
    def pair_loss(self) -> float: ...
    @property
    def missed_loss(self) -> float: ...

class Searches:
    @property
    def all(self) -> int: ...
    @property
    def cut_off(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    @property
    def most_nodes(self) -> int: ...

class RelationsTask(Task):
    def __init__(self, data: RelationsData, options: RelationsOptions, solver: JointSolver) -> None: ...
    @property
    def span_rows(self) -> WeightRows: ...
    @property
    def pair_rows(self) -> WeightRows: ...
    @property
    def searches(self) -> Searches: ...
    def solve(
        self,
        example: int,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        loss_scale: float,
    ) -> SolvedSentence: ...

class SequenceData:
    def __init__(
        self,
        *,
        sentences: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        tokens: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        features: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        gold: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        feature_count: int,
        label_count: int,
        observation_offsets: Annotated[
            NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)
        ]
        | None,
        observations: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)]
        | None,
        kinds: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        allowed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    ) -> None: ...
    @property
    def sentences(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def tokens(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def features(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def values(
        self,
    ) -> Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def gold(
        self,
    ) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def feature_count(self) -> int: ...
    @property
    def label_count(self) -> int: ...
    @property
    def observation_offsets(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def observations(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def kinds(
        self,
    ) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...
    @property
    def allowed(
        self,
    ) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None: ...

class LabelHistoryData:
    def __init__(
        self,
        *,
        observations: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        histories: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        labels: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
        label_count: int,
        triples: bool,
    ) -> None: ...
    @property
    def observations(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def histories(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def labels(
        self,
    ) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def label_count(self) -> int: ...
    @property
    def triples(self) -> bool: ...

class LabelHistories:
    def __init__(self, data: LabelHistoryData) -> None: ...
    def __len__(self) -> int: ...

class SequenceOptions:
    def __init__(
        self,
        *,
        start_end: bool,
        label_costs: Sequence[float],
        forbidden: Sequence[tuple[int, int]],
        order: int,
        beam: int,
    ) -> None: ...
    @property
    def start_end(self) -> bool: ...
    @property
    def label_costs(self) -> list[float]: ...
    @property
    def forbidden(self) -> list[tuple[int, int]]: ...
    @property
    def order(self) -> int: ...
    @property
    def beam(self) -> int: ...

class LabelRuns:
    def __init__(
        self,
        *,
        sentences: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        firsts: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        bounds: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sets: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        set_bounds: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        labels: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...
    @property
    def sentences(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def firsts(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def bounds(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def sets(
        self,
    ) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def set_bounds(
        self,
    ) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...
    @property
    def labels(
        self,
    ) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,), order="C", device="cpu", writable=False)]: ...

class SequenceTask(Task):
    def __init__(
        self, data: SequenceData, options: SequenceOptions, histories: LabelHistories | None, update: str
    ) -> None: ...
    @staticmethod
    def weight_rows(feature_count: int, label_count: int) -> WeightRows: ...
    def run_probabilities(
        self,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        scale: float,
        runs: LabelRuns,
    ) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    @property
    def stride(self) -> int: ...
    @property
    def start_row(self) -> int: ...
    @property
    def first_feature_row(self) -> int: ...
    @property
    def first_combination(self) -> int: ...
    @property
    def bytes_per_label(self) -> int: ...

class ThreadTime:
    @property
    def inference(self) -> float: ...
    @property
    def update(self) -> float: ...
    @property
    def publishing(self) -> float: ...
    @property
    def waiting(self) -> float: ...

class CascadeReport:
    @property
    def solutions(self) -> int: ...
    @property
    def runs(self) -> int: ...
    @property
    def layers(self) -> int: ...
    @property
    def candidates(self) -> int: ...
    @property
    def support_vectors(self) -> int: ...
    @property
    def sent(self) -> int: ...
    @property
    def received(self) -> int: ...
    @property
    def computing(self) -> float: ...
    @property
    def last(self) -> float: ...
    @property
    def seconds(self) -> float: ...

class PassReport:
    @property
    def inferences(self) -> int: ...
    @property
    def updates(self) -> int: ...
    @property
    def wrong(self) -> int: ...
    @property
    def training_loss(self) -> float: ...
    @property
    def threads(self) -> list[ThreadTime]: ...
    @property
    def found(self) -> int: ...
    @property
    def accepted(self) -> int: ...
    @property
    def weights_age(self) -> float: ...
    @property
    def stopped(self) -> bool: ...
    @property
    def primal_estimate(self) -> float | None: ...
    @property
    def dual(self) -> float | None: ...
    @property
    def active(self) -> int: ...
    @property
    def working_set_bytes(self) -> int: ...
    @property
    def cascade(self) -> CascadeReport | None: ...

class Certificate:
    def __init__(self, *, primal: float, dual: float, proven: bool, complete: bool) -> None: ...
    @property
    def primal(self) -> float: ...
    @property
    def dual(self) -> float: ...
    @property
    def proven(self) -> bool: ...
    @property
    def complete(self) -> bool: ...

class Primal:
    @property
    def value(self) -> float: ...
    @property
    def squared_norm(self) -> float: ...
    @property
    def complete(self) -> bool: ...

class Loss(enum.Enum):
    hinge = 0

    squared_hinge = 1

class OnlineLearner:
    @property
    def chosen(self) -> dict[str, float]: ...

class DualLearner:
    @property
    def memory(self) -> int: ...

class BlockLearner(DualLearner):
    pass

class PassLearner(DualLearner):
    pass

class ParameterType:
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def words(self) -> list[str]: ...

class RegisteredLearner:
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def parameters(self) -> list[ParameterType]: ...
    @property
    def takes_costs(self) -> bool: ...

def registered_learners() -> list[RegisteredLearner]: ...
def make_learner(
    name: str,
    task: Task,
    numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    parameters: Mapping[str, bool | int | float | str],
) -> OnlineLearner | BlockLearner | PassLearner: ...
def learner_needs(name: str, task: Task, threads: int) -> dict[str, int]: ...
def hildreth(
    gram: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    missing: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    examples: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    tolerance: float,
    max_sweeps: int,
) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
def primal_value(
    task: Task,
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    costs: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    loss: Loss,
    threads: int,
    stop: StopFlag | None = None,
    progress: object | None = None,
    world: object | None = None,
) -> Primal: ...

class Engine:
    def run_pass(self, stop: StopFlag | None = None, world: object | None = None) -> PassReport: ...
    def certify(
        self, threads: int, stop: StopFlag | None = None, progress: object | None = None, world: object | None = None
    ) -> Certificate | None: ...
    def final_weights(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...
    def finish(self) -> None: ...
    def export_state(
        self,
    ) -> dict[
        str,
        Annotated[NDArray[numpy.float64], dict(shape=(None,))]
        | Annotated[NDArray[numpy.uint64], dict(shape=(None,))]
        | Annotated[NDArray[numpy.uint8], dict(shape=(None,))],
    ]: ...
    def import_state(self, arg: Mapping[str, object], /) -> None: ...
    def forget_averages(self) -> None: ...
    @property
    def weights_are_final(self) -> bool: ...
    @property
    def weights(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class Part:
    def answer(
        self, question: str, common: Mapping[str, object], own: Mapping[str, object], stop: StopFlag | None = None
    ) -> dict[
        str,
        Annotated[NDArray[numpy.float64], dict(shape=(None,))]
        | Annotated[NDArray[numpy.uint64], dict(shape=(None,))]
        | Annotated[NDArray[numpy.uint8], dict(shape=(None,))],
    ]: ...

class RegisteredEngine:
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def in_parts(self) -> bool: ...
    @property
    def parameters(self) -> list[ParameterType]: ...

def registered_engines() -> list[RegisteredEngine]: ...
@overload
def make_engine(
    name: str,
    task: Task,
    learner: OnlineLearner,
    examples: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    *,
    seed: int,
    shuffle: bool,
    threads: int,
    options: Mapping[str, bool | int | float | str],
) -> Engine: ...
@overload
def make_engine(
    name: str,
    task: Task,
    learner: BlockLearner,
    examples: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    *,
    seed: int,
    shuffle: bool,
    threads: int,
    options: Mapping[str, bool | int | float | str],
) -> Engine: ...
@overload
def make_engine(
    name: str,
    task: Task,
    learner: PassLearner,
    examples: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    *,
    seed: int,
    shuffle: bool,
    threads: int,
    options: Mapping[str, bool | int | float | str],
) -> Engine: ...
@overload
def make_part(
    name: str,
    task: Task,
    learner: OnlineLearner,
    examples: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    *,
    seed: int,
    shuffle: bool,
    threads: int,
    options: Mapping[str, bool | int | float | str],
) -> Part: ...
@overload
def make_part(
    name: str,
    task: Task,
    learner: BlockLearner,
    examples: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    *,
    seed: int,
    shuffle: bool,
    threads: int,
    options: Mapping[str, bool | int | float | str],
) -> Part: ...
@overload
def make_part(
    name: str,
    task: Task,
    learner: PassLearner,
    examples: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    *,
    seed: int,
    shuffle: bool,
    threads: int,
    options: Mapping[str, bool | int | float | str],
) -> Part: ...
def engine_needs(
    name: str, task: Task, threads: int, options: Mapping[str, bool | int | float | str]
) -> dict[str, int]: ...
