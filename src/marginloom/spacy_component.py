"""Models as a component of spaCy pipelines; install it with the extra ``spacy``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from marginloom.errors import InputError


class MarginloomComponent:
    """Sets tags, trees and entities of documents.

    spaCy finds it by the name ``marginloom``: ``nlp.add_pipe("marginloom", config={"tagger": "pos.safetensors"})``.

    Parameters
    ----------
    tagger : str, optional
        Model file of a tagger: its labels become ``token.tag_``, and ``token.pos_`` where they are those of Universal
        Dependencies.
    parser : str, optional
        Model file of a parser that reads words and parts of speech; it needs a tagger.
    entities : str, optional
        Model file of a tagger whose labels mark spans, which become ``doc.ents``.
    """

    def __init__(self, tagger: str | None = None, parser: str | None = None, entities: str | None = None) -> None:
        if tagger is None and parser is None and entities is None:
            raise InputError("the component marginloom has nothing to do: name a tagger, a parser or entities")
        if parser is not None and tagger is None:
            raise InputError("parsers read parts of speech: name a tagger too")
        from marginloom.tasks.loading import load

        self._tagger, self._parser, self._entities = (
            None if path is None else load(path) for path in (tagger, parser, entities)
        )

    def __call__(self, doc: Any) -> Any:
        """Annotate one document."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Any], *, batch_size: int = 64) -> Iterator[Any]:
        """Annotate documents, `batch_size` of them at a time."""
        batch: list[Any] = []
        for doc in stream:
            batch.append(doc)
            if len(batch) == batch_size:
                yield from self._annotated(batch)
                batch = []
        yield from self._annotated(batch)

    def _annotated(self, docs: list[Any]) -> list[Any]:
        sentences = [list(_sentences(doc)) for doc in docs]
        words = [[token.text for token in span] for spans in sentences for span in spans]
        spans = [span for own in sentences for span in own]
        if self._tagger is not None:
            for span, tags in zip(spans, self._tagger.predict(words), strict=True):
                _set_tags(span, tags)
        if self._parser is not None:
            for span, tree in zip(spans, self._parser.predict(words, tagger=self._tagger), strict=True):
                _set_tree(span, tree)
        if self._entities is not None:
            found = iter(self._entities.predict_spans(words))
            for doc, own in zip(docs, sentences, strict=True):
                doc.ents = [
                    _entity(doc, span.start + start, span.start + end, kind)
                    for span in own
                    for kind, start, end in next(found)
                ]
        return docs


def _sentences(doc: Any) -> Iterator[Any]:
    """Yield the sentences of a document, or the document as one."""
    yield from (doc.sents if doc.has_annotation("SENT_START") else [doc[:]] if len(doc) else [])


def _set_tags(span: Any, tags: list[Any]) -> None:
    from spacy.symbols import IDS

    for token, tag in zip(span, tags, strict=True):
        token.tag_ = str(tag)
        if str(tag) in IDS and str(tag).isupper():
            token.pos_ = str(tag)


def _set_tree(span: Any, tree: list[Any]) -> None:
    tokens = list(span)
    for token, arc in zip(tokens, tree, strict=True):
        head, label = arc if isinstance(arc, tuple) else (arc, "ROOT" if arc == 0 else "dep")
        token.head = token if head == 0 else tokens[head - 1]
        token.dep_ = "ROOT" if head == 0 else str(label)


def _entity(doc: Any, start: int, end: int, kind: str) -> Any:
    from spacy.tokens import Span

    return Span(doc, start, end, label=kind)


def make_component(
    nlp: Any, name: str, tagger: str | None, parser: str | None, entities: str | None
) -> MarginloomComponent:
    """Return the component, as spaCy asks for it."""
    return MarginloomComponent(tagger, parser, entities)


def register() -> None:
    """Tell spaCy the name of the component; its entry point does that for installed packages."""
    from spacy.language import Language

    Language.factory(
        "marginloom",
        default_config={"tagger": None, "parser": None, "entities": None},
        func=make_component,
    )


def __getattr__(name: str) -> Any:
    if name != "factory":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    register()
    return make_component
