"""Features of tokens in plain Python, for tools that want strings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache


@lru_cache(maxsize=1 << 20)
def of_word(word: str, longest: int) -> tuple[str, ...]:
    """Return the features that depend on the word alone."""
    shape = re.sub("[A-Z]", "X", re.sub("[a-z]", "x", re.sub("[0-9]", "d", word)))
    affixes = [
        f"{kind}={part}"
        for size in range(1, longest + 1)
        if len(word) >= size
        for kind, part in ((f"p{size}", word[:size]), (f"s{size}", word[-size:]))
    ]
    return (f"w={word}", f"l={word.lower()}", *affixes, f"h={shape}", "bias")


def indicators(words: Sequence[str], longest: int = 3) -> list[list[str]]:
    """Return 14 features a token: word, lower case, affixes of 1 to 3, shape, words at -2, -1, 1 and 2, bias."""
    around = ["<s>", "<s>", *words, "</s>", "</s>"]
    return [
        [
            *of_word(word, longest),
            f"w-2={around[t]}",
            f"w-1={around[t + 1]}",
            f"w+1={around[t + 3]}",
            f"w+2={around[t + 4]}",
        ]
        for t, word in enumerate(words)
    ]
