"""The templates of the feature sets that have a name."""

from __future__ import annotations

_AFFIXES = "\n".join(f"{kind}[0,{size}]" for size in (1, 2, 3, 4) for kind in ("prefix", "suffix"))

_WORDS = "word[0]"

_TAGGING = f"""
bias
word[0]
lower[0]
{_AFFIXES}
shortshape[0]
word[-2]
word[-1]
word[1]
word[2]
"""

_RICH = f"""{_TAGGING}prefix[0,5]
suffix[0,5]
suffix[0,6]
shape[0]
shortshape[-1] shortshape[0] shortshape[1]
word[-1] word[0]
word[0] word[1]
"""

_CHUNKING = """
bias
word[-2]
word[-1]
word[0]
word[1]
word[2]
word[-1] word[0]
word[0] word[1]
suffix[0,2]
suffix[0,3]
shortshape[0]
pos[-2]
pos[-1]
pos[0]
pos[1]
pos[2]
pos[-2] pos[-1]
pos[-1] pos[0]
pos[0] pos[1]
pos[1] pos[2]
pos[-2] pos[-1] pos[0]
pos[-1] pos[0] pos[1]
pos[0] pos[1] pos[2]
word[0] pos[0]
"""

_NER = f"""
bias
word[-2]
word[-1]
word[0]
word[1]
word[2]
lower[-1]
lower[0]
lower[1]
{_AFFIXES}
shape[0]
shortshape[-1]
shortshape[0]
shortshape[1]
shortshape[-1] shortshape[0]
shortshape[0] shortshape[1]
word[-1] word[0]
word[0] word[1]
pos[-1]
pos[0]
pos[1]
pos[-1] pos[0]
pos[0] pos[1]
gazetteer[-1]
gazetteer[0]
gazetteer[1]
cluster[-1,4]
cluster[-1,6]
cluster[-1,10]
cluster[-1,20]
cluster[0,4]
cluster[0,6]
cluster[0,10]
cluster[0,20]
cluster[1,4]
cluster[1,6]
cluster[1,10]
cluster[1,20]
"""

# Chosen on the development parts of conll2003_en and conll2002_es: `benchmarks/beam.py --task tag --part observations`.
_NER_OBSERVED = f"""{_NER}label[-1] shortshape[-1] shortshape[0] shortshape[1]
"""

_NER_RICH = f"""{_NER_OBSERVED}word[-1] word[1]
"""

FEATURE_SETS = {
    "words": _WORDS,
    "tagging": _TAGGING,
    "rich": _RICH,
    "chunking": _CHUNKING,
    "ner": _NER,
    "ner-observed": _NER_OBSERVED,
    "ner-rich": _NER_RICH,
}


def templates_of(name: str, *, with_pos: bool, with_clusters: bool, with_gazetteers: bool) -> str:
    """Return a named set's templates, without those that need what is not there.

    Examples
    --------
    >>> templates_of("words", with_pos=False, with_clusters=False, with_gazetteers=False)
    'word[0]'
    """
    missing = [
        atom
        for atom, there in (("pos[", with_pos), ("cluster[", with_clusters), ("gazetteer[", with_gazetteers))
        if not there
    ]
    lines = FEATURE_SETS[name].strip().splitlines()
    return "\n".join(line for line in lines if not any(atom in line for atom in missing))
