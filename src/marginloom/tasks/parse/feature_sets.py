"""The templates of the feature sets for arcs that have a name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

#: Stands in templates for each name that FEATS has: a template for every one.
_EVERY_NAME = "feats.*["
_IN_TREE = re.compile(r"\[[gpnfl]([+-]\d+)?(,[^\[]*)?\]$")
_SIBLING = re.compile(r"\[s([+-]\d+)?(,[^\[]*)?\]$")
#: Names of values in FEATS that a set reads, at most.
_MOST_NAMES = 12

_ARCS = """
word[h] direction
word[h] xpos[h] direction distance
xpos[h] direction distance
word[m] direction
word[m] xpos[m] direction distance
xpos[m] direction distance
xpos[h] word[m] xpos[m] direction
word[h] xpos[h] xpos[m] direction
word[h] word[m] direction
pos[h] pos[m]
pos[h] pos[m] direction distance
xpos[h] xpos[m]
xpos[h] xpos[m] direction distance
pos[h] pos[b] pos[m] direction
xpos[h] xpos[b] xpos[m] direction
pos[h] pos[h+1] pos[m-1] pos[m] direction
pos[h-1] pos[h] pos[m-1] pos[m] direction
pos[h] pos[h+1] pos[m] pos[m+1] direction
pos[h-1] pos[h] pos[m] pos[m+1] direction
xpos[h] xpos[m-1] xpos[m] direction
xpos[h] xpos[m] xpos[m+1] direction
xpos[h-1] xpos[h] xpos[m] direction
xpos[h] xpos[h+1] xpos[m] direction
pos[h] pos[m-2] pos[m-1] pos[m] direction
pos[h] pos[m] pos[m+1] pos[m+2] direction
pos[h-2] pos[h-1] pos[h] pos[m] direction
pos[h] pos[h+1] pos[h+2] pos[m] direction
lower[h] lower[m]
lower[h] xpos[m] direction
xpos[h] lower[m] direction
suffix[h,3] xpos[m] direction
xpos[h] suffix[m,3] direction
word[m-1] xpos[m] xpos[h] direction
word[m+1] xpos[m] xpos[h] direction
word[h-1] xpos[m] xpos[h] direction
word[h+1] xpos[m] xpos[h] direction
cluster[h,6] cluster[m,6] direction
cluster[h,6] xpos[m] direction
xpos[h] cluster[m,6] direction
"""

_SIBLINGS = """
pos[h] pos[s] pos[m] direction
xpos[s] xpos[m] direction
word[s] word[m] direction
word[s] xpos[m] direction
xpos[s] word[m] direction
"""

_LABELS = """
label direction distance
label word[m]
label xpos[m] direction
label pos[m] direction
label suffix[m,3]
label xpos[m-1] xpos[m] direction
label xpos[m] xpos[m+1] direction
label word[h] direction
label xpos[h] direction
label pos[h] direction
label pos[h] pos[m] direction
label xpos[h] xpos[m] direction
label word[h] xpos[m] direction
label xpos[h] word[m] direction
"""

_RICH_LABELS = f"""{_LABELS.rstrip()}
label word[h] word[m] direction
label lower[m] direction
label suffix[m,2] xpos[m]
label suffix[h,3] xpos[m] direction
label word[m-1] xpos[m] direction
label word[m+1] xpos[m] direction
label word[m-2] xpos[m] pos[h]
label word[m-1] pos[m] pos[h] direction
label pos[h] pos[m-1] pos[m] direction
label pos[h] pos[m-2] pos[m-1] pos[m] direction
label pos[h] pos[m] pos[m+1] direction
label pos[h-1] pos[h] pos[m] direction
label pos[h] pos[h+1] pos[m] direction
label xpos[h] xpos[m] direction distance
label word[h] pos[m] direction distance
label word[h] xpos[m] word[m-1]
"""

#: Of trees that are known.
_TREE_LABELS = """
label pos[g] pos[h] pos[m] direction
label pos[m] pos[f] direction
label pos[m] pos[l] direction
label word[f] pos[m] pos[h]
label word[l] pos[m] pos[h]
label xpos[f] xpos[m] xpos[h]
label xpos[l] xpos[m] xpos[h]
label pos[p] pos[m] pos[h] direction
label pos[n] pos[m] pos[h] direction
label word[p] pos[m] direction
label word[n] pos[m] direction
label pos[p] pos[m] pos[n] pos[h]
"""

_FEATS_LABELS = """
label feats[m] pos[h] direction
label feats[h] pos[m] direction
label feats.*[m] pos[m] pos[h] direction
label feats.*[h] feats.*[m] pos[m] direction
label feats[f] pos[m] pos[h]
"""

_FEATS_ARCS = """
feats[m] pos[h] direction
feats[h] pos[m] direction
feats.*[m] pos[m] pos[h] direction
feats.*[h] feats.*[m] pos[h] pos[m]
"""

#: The 28 templates of Huang and Sagae (2010), Table 1.
_STATES = """
word[s0]
xpos[s0]
word[s0] xpos[s0]
word[s1]
xpos[s1]
word[s1] xpos[s1]
word[q0]
xpos[q0]
word[q0] xpos[q0]
word[s0] word[s1]
xpos[s0] xpos[s1]
xpos[s0] xpos[q0]
word[s0] xpos[s0] xpos[s1]
xpos[s0] word[s1] xpos[s1]
word[s0] word[s1] xpos[s1]
word[s0] xpos[s0] word[s1]
word[s0] xpos[s0] word[s1] xpos[s1]
xpos[s0] xpos[q0] xpos[q1]
xpos[s1] xpos[s0] xpos[q0]
word[s0] xpos[q0] xpos[q1]
xpos[s1] word[s0] xpos[q0]
xpos[s1] xpos[s1.l] xpos[s0]
xpos[s1] xpos[s1.r] xpos[s0]
xpos[s1] xpos[s0] xpos[s0.r]
xpos[s1] xpos[s1.l] word[s0]
xpos[s1] xpos[s1.r] word[s0]
xpos[s1] word[s0] xpos[s0.l]
xpos[s2] xpos[s1] xpos[s0]
"""

#: What Zhang and Nivre (2011) add, for arc-standard states: distance, valency, words and tags of modifiers.
_MORE_STATES = """
pos[s0]
pos[s1]
pos[q0]
pos[s0] pos[s1]
pos[s0] pos[q0]
pos[s1] pos[s0] pos[q0]
pos[s0] pos[q0] pos[q1]
pos[s1] pos[s0] pos[q0] pos[q1]
pos[s2] pos[s1] pos[s0]
pos[s2] pos[s1] pos[s0] pos[q0]
xpos[s0] xpos[q0] xpos[q1] xpos[q2]
xpos[q1]
word[q1]
word[q1] xpos[q1]
xpos[q2]
xpos[q0] xpos[q1]
word[s0] word[q0]
word[s1] xpos[q0]
word[s0] xpos[q0]
xpos[s0] word[q0]
word[s1] word[q0]
xpos[s1] word[q0]
xpos[s1] xpos[q0]
word[s0] distance
xpos[s0] distance
word[s1] distance
xpos[s1] distance
xpos[s0] xpos[s1] distance
pos[s0] pos[s1] distance
word[s0] word[s1] distance
word[s0] valency[s0.l]
xpos[s0] valency[s0.l]
word[s0] valency[s0.r]
xpos[s0] valency[s0.r]
word[s1] valency[s1.l]
xpos[s1] valency[s1.l]
word[s1] valency[s1.r]
xpos[s1] valency[s1.r]
word[s0.l]
xpos[s0.l]
word[s0.r]
xpos[s0.r]
word[s1.l]
xpos[s1.l]
word[s1.r]
xpos[s1.r]
xpos[s0] xpos[s0.l] xpos[s0.l2]
xpos[s0] xpos[s0.r] xpos[s0.r2]
xpos[s1] xpos[s1.l] xpos[s1.l2]
xpos[s1] xpos[s1.r] xpos[s1.r2]
xpos[s1] xpos[s0] xpos[s0.l]
xpos[s1] xpos[s0] xpos[s0.r] xpos[q0]
xpos[s1] xpos[s1.r] xpos[s0] xpos[s0.l]
suffix[s0,3] xpos[s1]
xpos[s0] suffix[s1,3]
suffix[q0,3] xpos[s0]
cluster[s0,6] cluster[s1,6]
cluster[s0,6] xpos[s1]
xpos[s0] cluster[s1,6]
cluster[s0,6] cluster[q0,6]
"""

_FEATS_STATES = """
feats[s0] pos[s1]
feats[s1] pos[s0]
feats[q0] pos[s0]
feats[s0] feats[s1]
feats.*[s0] pos[s0] pos[s1]
feats.*[s1] pos[s0] pos[s1]
feats.*[s0] feats.*[s1] pos[s0] pos[s1]
"""

FEATURE_SETS = {
    "arcs": _ARCS + _SIBLINGS + _LABELS,
    "arcs-rich": _ARCS + _FEATS_ARCS + _SIBLINGS + _RICH_LABELS + _TREE_LABELS + _FEATS_LABELS,
    "states-full": _STATES + _MORE_STATES + _FEATS_STATES + _RICH_LABELS + _TREE_LABELS + _FEATS_LABELS,
    "states": _STATES + _LABELS,
    "states-rich": _STATES + _MORE_STATES + _LABELS,
}
#: The sets for each way to find trees; the default comes first.
SETS_OF_METHODS = {
    "graph": ("arcs-rich", "arcs"),
    "transition": ("states-full", "states-rich", "states"),
    "labels": ("arcs-rich", "states-full", "arcs", "states-rich", "states"),
}


def fitting_templates(lines: str, *, order: int, labelled: bool, states: bool = False) -> str:
    r"""Empty lines with templates of siblings and of labels where there is no use for them; the others stay in place.

    Lines about states have no siblings. Labels that are found with the arcs see nothing else of the tree.

    Examples
    --------
    >>> fitting_templates("pos[s] pos[m]\nlabel pos[m]\npos[m]", order=1, labelled=False)
    '\n\npos[m]'
    """

    def fits(line: str) -> bool:
        about_sibling = not states and reads_sibling(line)
        of_label = "label" in _atoms(line)
        return (order == 2 or not about_sibling) and (not of_label or (labelled and not _reads_tree(line)))

    return "\n".join(line if fits(line) else "" for line in lines.split("\n"))


def label_templates(lines: str) -> str:
    r"""Empty all lines but those with templates of labels.

    Examples
    --------
    >>> label_templates("pos[h] pos[m]\nlabel pos[m]")
    '\nlabel pos[m]'
    """
    return "\n".join(line if "label" in _atoms(line) else "" for line in lines.split("\n"))


def _atoms(line: str) -> list[str]:
    return line.partition("#")[0].split()


def _reads_tree(line: str) -> bool:
    """Tell whether a template of labels reads a place that only a tree which is known has."""
    return any(map(_IN_TREE.search, _atoms(line)))


def reads_sibling(template: str) -> bool:
    """Tell whether a template of arcs reads a modifier's sibling.

    Examples
    --------
    >>> reads_sibling("pos[s] pos[m]"), reads_sibling("feats.Number[subj][m]")
    (True, False)
    """
    return any(map(_SIBLING.search, _atoms(template)))


def reads_feats(name: str) -> bool:
    """Tell whether a named set has templates of morphological features.

    Examples
    --------
    >>> reads_feats("arcs")
    False
    """
    return "feats" in FEATURE_SETS[name]


def frequent_names(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the most frequent names in FEATS, for which a set has templates.

    Examples
    --------
    >>> frequent_names({"Case": 5, "Typo": 1, "Number": 7})
    ('Number', 'Case', 'Typo')
    """
    return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:_MOST_NAMES])


def templates_of(name: str, *, with_xpos: bool, with_clusters: bool, feats: Sequence[str] = ()) -> str:
    r"""Return a named set's templates. Without a second part of speech the first one stands for it.

    `feats` are the names in FEATS to read; with none, templates of FEATS are left out.

    Examples
    --------
    >>> templates_of("arcs", with_xpos=False, with_clusters=False).count("xpos")
    0
    """
    lines = [line for line in FEATURE_SETS[name].split("\n") if line and (with_clusters or "cluster[" not in line)]
    if not with_xpos:
        lines = [line.replace("xpos[", "pos[") for line in lines]
    if not feats:
        lines = [line for line in lines if "feats" not in line]
    named = [line.replace(_EVERY_NAME, f"feats.{one}[") for line in lines for one in _names_for(line, feats)]
    return "\n".join(dict.fromkeys(named))


def _names_for(line: str, feats: Sequence[str]) -> Sequence[str]:
    return feats if _EVERY_NAME in line else ("",)
