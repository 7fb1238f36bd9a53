"""The templates of the feature sets for spans that have a name."""

from __future__ import annotations

_AFFIXES = "\n".join(
    f"{kind}[{place},{size}]"
    for place in ("first", "last")
    for kind, sizes in (("prefix", (2, 3, 4)), ("suffix", (2, 3, 4)))
    for size in sizes
)

_SPANS = f"""
bias
word[first]
word[last]
lower[every]
word[all]
lower[all]
pos[all]
shape[all]
shortshape[all]
prefix[every,3]
suffix[every,3]
shortshape[every]
length
{_AFFIXES}
word[first-1]
word[first-2]
word[last+1]
word[last+2]
word[first-2] word[first-1]
word[last+1] word[last+2]
word[first-1] word[last+1]
pos[first-1]
pos[last+1]
pos[first-2] pos[first-1]
pos[last+1] pos[last+2]
pos[first-1] pos[all] pos[last+1]
lower[around.every]
gazetteer[every]
cluster[last,4]
cluster[last,8]
cluster[every,20]
cluster[first-1,8]
cluster[last+1,8]
"""

_PAIRS = """
pair
order distance
order entities
order distance entities
lower[between.every] order
lower[between.every] entities order
lower[between.pairs] order
lower[between.all] order
pos[between.all] order
pos[between.every] order
lower[between.first] order
lower[between.last] order
lower[left.first-1] order
lower[right.last+1] order
pos[left.first-1] order
pos[right.last+1] order
lower[left.first-1] lower[right.last+1]
lower[left.first-2] order
lower[right.last+2] order
lower[left.first-3] order
lower[right.last+3] order
lower[left.first-2] lower[left.first-1] order
lower[right.last+1] lower[right.last+2] order
pos[left.first-2] pos[left.first-1] order
pos[right.last+1] pos[right.last+2] order
lower[left.first-1] lower[between.all] order
lower[between.all] lower[right.last+1] order
lower[head.first-1] lower[head.last+1] order
lower[tail.first-1] lower[tail.last+1] order
lower[head.all]
lower[tail.all]
lower[head.all] lower[tail.all]
lower[head.last] lower[tail.last]
prefix[head.first,3]
prefix[tail.first,3]
suffix[head.last,3]
suffix[tail.last,3]
suffix[head.last,3] suffix[tail.last,3] order
lower[head.every]
lower[tail.every]
pos[head.all] pos[tail.all] order
shortshape[head.all] shortshape[tail.all] order
shortshape[left.all] lower[between.all] shortshape[right.all] order
lower[head.last] order
lower[tail.last] order
lower[sentence.every] pair
cluster[head.last,8] cluster[tail.last,8]
cluster[between.every,8] order
gazetteer[head.every]
gazetteer[tail.every]
"""

FEATURE_SETS = {"spans": f"{_SPANS}{_PAIRS}"}


def templates_of(name: str, *, with_pos: bool, with_clusters: bool, with_gazetteers: bool) -> str:
    """Return a named set's templates, without those that need what is not there.

    Examples
    --------
    >>> any("pos[" in line for line in templates_of("spans", with_pos=False, with_clusters=True, with_gazetteers=True))
    False
    """
    missing = [
        atom
        for atom, there in (("pos[", with_pos), ("cluster[", with_clusters), ("gazetteer[", with_gazetteers))
        if not there
    ]
    lines = FEATURE_SETS[name].strip().splitlines()
    return "\n".join(line for line in lines if line and not any(atom in line for atom in missing))
