"""Build the site of the documents: ``python docs/site/build.py [FOLDER]``; `just site` writes it to ``site/``.

The pages are those of the repository: ``docs/``, and from outside it the ones that `OUTSIDE` lists. They are put side by
side in a folder of their own, with their links rewritten; Zensical makes HTML of that folder, and refuses a link or an
anchor that leads nowhere. Nothing on a page is fetched from another host.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import mermaidx

HERE: Final = Path(__file__).resolve().parent
DOCS: Final = HERE.parent
REPOSITORY: Final = DOCS.parent
STAGING: Final = REPOSITORY / ".site"

OUTSIDE: Final = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
    "benchmarks/RESULTS.md": "benchmarks-results.md",
    "benchmarks/results.png": "images/benchmarks.png",
    "clients/python/README.md": "clients/python.md",
    "clients/datasets/README.md": "clients/datasets.md",
    "clients/seal-writer/README.md": "clients/seal-writer.md",
}
"""Path in the repository -> path in the site. The README is the start of a repository as the index is that of the site:
a link to the one leads to the other here."""
FOLDERS: Final = {"docs": "index.md", "docs/decisions": "decisions/index.md"}
"""Folders that a page may link to, and the page that stands for each."""
COPIED: Final = (".md", ".json", ".png", ".svg")

_FENCE: Final = re.compile(r"^( *)(```+)([^\n`]*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
_LABEL: Final = re.compile(r"[\[({|]+([^\[\](){}|]+)[\])}|]")
_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)


class BrokenLink(ValueError):
    """A page links to what is not in the repository."""


def pages() -> dict[str, str]:
    """Return path in the repository -> path in the site, of every file that the site is made of."""
    found = {
        path.relative_to(REPOSITORY).as_posix(): path.relative_to(DOCS).as_posix()
        for path in sorted(DOCS.rglob("*"))
        if path.suffix in COPIED and HERE not in path.parents
    }
    return found | {source: page for source, page in OUTSIDE.items() if source != "README.md"}


def stage(folder: Path) -> None:
    """Write every page into a folder, links rewritten to where their targets are there."""
    known = pages() | OUTSIDE
    for source, page in pages().items():
        target = folder / page
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            text = (REPOSITORY / source).read_text("utf-8")
            text = outside_fences(text, partial(relink, source=source, page=page, known=known))
            target.write_text(with_diagrams(text, page, folder), "utf-8")
        else:
            shutil.copyfile(REPOSITORY / source, target)
    (folder / "decisions/index.md").write_text(decisions(), "utf-8")
    shutil.copyfile(HERE / "site.css", folder / "site.css")


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Change a page but for its fenced blocks."""
    parts, at = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, change(text[at:])])


def relink(text: str, source: str, page: str, known: dict[str, str]) -> str:
    """Let the links of a page lead to pages of the site; what is no page of it is named by its text alone.

    Raises
    ------
    BrokenLink
        For a target that is neither in the repository nor at an address of its own.
    """

    def link(found: re.Match[str]) -> str:
        mark, label, address = found.groups()
        if ":" in address or address.startswith("#"):
            return found[0]
        path, hash_, anchor = address.partition("#")
        target = (REPOSITORY / source).parent.joinpath(path).resolve()
        if not target.is_relative_to(REPOSITORY) or not target.exists():
            raise BrokenLink(f"{source} links to {address}, which is not in the repository")
        name = target.relative_to(REPOSITORY).as_posix()
        inside = FOLDERS.get(name) or known.get(name)
        if inside is None:
            return str(label)
        if name == "README.md":
            hash_ = anchor = ""
        there = os.path.relpath(inside, Path(page).parent)
        return f"{mark}[{label}]({there}{hash_}{anchor})"

    return _LINK.sub(link, text)


def with_diagrams(text: str, page: str, folder: Path) -> str:
    """Draw the diagrams of a page; what is drawn once is stored beside the pages, for drawing takes seconds."""

    def drawn(found: re.Match[str]) -> str:
        if found[3].strip() != "mermaid":
            return found[0]
        name = f"diagram-{hashlib.sha256(found[4].encode()).hexdigest()[:16]}.svg"
        stored = folder.parent / "diagrams" / name
        if not stored.exists():
            stored.parent.mkdir(parents=True, exist_ok=True)
            stored.write_text(sized(mermaidx.render(found[4]).svg()), "utf-8")
        (folder / "images").mkdir(exist_ok=True)
        shutil.copyfile(stored, folder / "images" / name)
        there = os.path.relpath(f"images/{name}", Path(page).parent)
        said = ", ".join(dict.fromkeys(label.replace("<br>", " ") for label in _LABEL.findall(found[4])))
        return f"![Diagram: {html.escape(said)}]({there}){{ .diagram }}\n"

    return _FENCE.sub(drawn, text)


def sized(svg: str) -> str:
    """Give a drawing the width it was laid out for, so that letters are of one size in all of them."""
    return re.sub(r'width="100%"(.*?max-width: ([\d.]+)px)', r'width="\2"\1', svg, count=1, flags=re.DOTALL)


def decisions() -> str:
    """Return the list of the decisions, made of their titles."""
    lines = ["# Decisions", "", "Why it is built this way: one page for each choice that lasts.", ""]
    for path in sorted((DOCS / "decisions").glob("*.md")):
        title = _TITLE.search(path.read_text("utf-8"))
        lines.append(f"- [{title[1] if title else path.stem}]({path.name})")
    return "\n".join([*lines, ""])


def build(out: Path) -> None:
    """Make the site in a folder, which is emptied first; a warning ends it."""
    shutil.rmtree(STAGING / "pages", ignore_errors=True)
    stage(STAGING / "pages")
    shutil.copyfile(HERE / "zensical.toml", STAGING / "zensical.toml")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    subprocess.run(command, cwd=STAGING, check=True)
    shutil.rmtree(out, ignore_errors=True)
    shutil.move(STAGING / "site", out)


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / "site").resolve())
