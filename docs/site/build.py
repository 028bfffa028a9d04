"""Build the site of the documents: ``python docs/site/build.py [FOLDER]``; `just site` writes it to ``site/``.

The pages are ``docs/`` and the further files of the repository that `OUTSIDE` lists. They are copied into one folder, with
their links rewritten; Zensical renders that folder as HTML and refuses dead links and anchors. No page fetches anything from
another host.
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
"""Path in the repository -> path in the site. In the site, links to the README lead to the index, which takes its place."""
FOLDERS: Final = {"docs": "index.md", "docs/decisions": "decisions/index.md"}
"""Folder that pages may link to -> page of the site that replaces it."""
COPIED: Final = (".md", ".json", ".png", ".svg")

_FENCE: Final = re.compile(r"^( *)(```+)([^\n`]*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
_LABEL: Final = re.compile(r"[\[({|]+([^\[\](){}|]+)[\])}|]")
_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)


class BrokenLink(ValueError):
    """A page links to a file that is not in the repository."""


def pages() -> dict[str, str]:
    """Return path in the repository -> path in the site, for every file of the site."""
    documents = {
        path.relative_to(REPOSITORY).as_posix(): path.relative_to(DOCS).as_posix()
        for path in sorted(DOCS.rglob("*"))
        if path.suffix in COPIED and HERE not in path.parents
    }
    return documents | {source: page for source, page in OUTSIDE.items() if source != "README.md"}


def stage(folder: Path) -> None:
    """Write every page into a folder, with its links rewritten."""
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
    """Apply a change to a page, except in its fenced blocks."""
    parts, at = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*parts, change(text[at:])])


def relink(text: str, source: str, page: str, known: dict[str, str]) -> str:
    """Rewrite the links of a page to pages of the site; a link to any other file is replaced by its text.

    Raises
    ------
    BrokenLink
        For a target that is neither in the repository nor a URL.
    """

    def link(match: re.Match[str]) -> str:
        mark, label, address = match.groups()
        if ":" in address or address.startswith("#"):
            return match[0]
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
    """Render the diagrams of a page; renderings are cached beside the pages, since each takes seconds."""

    def image(match: re.Match[str]) -> str:
        if match[3].strip() != "mermaid":
            return match[0]
        name = f"diagram-{hashlib.sha256(match[4].encode()).hexdigest()[:16]}.svg"
        stored = folder.parent / "diagrams" / name
        if not stored.exists():
            stored.parent.mkdir(parents=True, exist_ok=True)
            stored.write_text(sized(mermaidx.render(match[4]).svg()), "utf-8")
        (folder / "images").mkdir(exist_ok=True)
        shutil.copyfile(stored, folder / "images" / name)
        there = os.path.relpath(f"images/{name}", Path(page).parent)
        labels = ", ".join(dict.fromkeys(label.replace("<br>", " ") for label in _LABEL.findall(match[4])))
        return f"![Diagram: {html.escape(labels)}]({there}){{ .diagram }}\n"

    return _FENCE.sub(image, text)


def sized(svg: str) -> str:
    """Set the width of a drawing to that of its layout, so that all drawings have the same font size."""
    return re.sub(r'width="100%"(.*?max-width: ([\d.]+)px)', r'width="\2"\1', svg, count=1, flags=re.DOTALL)


def decisions() -> str:
    """Return the page that lists the decisions by title."""
    lines = ["# Decisions", "", "Why it is built this way: one page for each choice that lasts.", ""]
    for path in sorted((DOCS / "decisions").glob("*.md")):
        title = _TITLE.search(path.read_text("utf-8"))
        lines.append(f"- [{title[1] if title else path.stem}]({path.name})")
    return "\n".join([*lines, ""])


def build(out: Path) -> None:
    """Build the site in a folder, which is emptied first; a warning ends the build."""
    shutil.rmtree(STAGING / "pages", ignore_errors=True)
    stage(STAGING / "pages")
    shutil.copyfile(HERE / "zensical.toml", STAGING / "zensical.toml")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    subprocess.run(command, cwd=STAGING, check=True)
    shutil.rmtree(out, ignore_errors=True)
    shutil.move(STAGING / "site", out)


if __name__ == "__main__":
    build(Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / "site").resolve())
