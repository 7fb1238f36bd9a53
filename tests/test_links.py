"""Links between the pages of the documentation lead somewhere."""

import re
from functools import cache

import pytest
from support.pages import markdown_pages
from support.places import ROOT

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def without_code(text):
    """Return a page without its blocks and spans of code, which may look like links."""
    return re.sub(r"`[^`]*`", "", re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE))


@cache
def anchors(path):
    """Return the anchors of a page's headings as GitHub makes them."""
    found = []
    text = re.sub(r"^ *```.*?^ *```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.append(anchor if anchor not in found else f"{anchor}-{found.count(anchor)}")
    return set(found)


def broken_links(page):
    """Return the links of a page whose file or heading does not exist."""
    links = re.findall(LINK, without_code(page.read_text(encoding="utf-8")))
    broken = []
    for link in links:
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        if not re.match(r"[a-z]+:", link) and not (path.exists() and (not anchor or anchor in anchors(path))):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", markdown_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken_links(page) == []


def test_every_page_is_in_the_table_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\]\((docs/[^)#]+)", readme))
    assert named == {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}


def test_broken_links_are_found(tmp_path):
    (tmp_path / "other.md").write_text("# Other\n\n## What `auto` chooses\n\n```\n# no heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md) [b](other.md#what-auto-chooses) [c](#here) [d](https://example.org/x) `[e](code.md)`\n"
        "[f](missing.md) [g](other.md#missing) [h](#missing) [i](other.md#no-heading)\n\n## Here\n"
    )
    assert broken_links(page) == ["missing.md", "other.md#missing", "#missing", "other.md#no-heading"]
