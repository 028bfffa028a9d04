"""Tear sheets written by the command, and what their pages hold."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

from click.testing import CliRunner, Result

from datasets.__main__ import cli


def report(*arguments: object, folder: Path, **variables: str | None) -> Result:
    """Run the command in a folder."""
    unset = {name: None for name in os.environ if name.startswith("ALPHA_RESULTS_")}
    with contextlib.chdir(folder):
        return CliRunner().invoke(cli, ["report", *map(str, arguments)], env={**unset, **variables})


class Page(HTMLParser):
    """A page's data, exact numbers, text and resources."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.numbers: list[str] = []
        self.loads: list[str] = []
        self.words: list[str] = []
        self.within: list[str] = []
        self.data = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.within.append(given.get("id") or tag)
        if tag == "data":
            self.numbers.append(str(given["value"]))
        self.loads += [str(given[name]) for name in ("src", "href", "action", "poster") if name in given]

    def handle_endtag(self, tag: str) -> None:
        if tag != "meta":
            self.within.pop()

    def handle_data(self, data: str) -> None:
        inside = self.within[-1] if self.within else ""
        if inside == "data" and not self.data and data.lstrip().startswith("{"):
            self.data = data
        elif inside not in {"script", "style"}:
            self.words.append(data)

    @property
    def text(self) -> str:
        """The words, with one blank between them."""
        return " ".join(" ".join(self.words).split())


def written_page(
    root: Path, folder: Path, *alphas: str, market: Path | None = None, more: Sequence[str] = ()
) -> Page:
    given = [*(["--market-data", market] if market else []), *more]
    out = folder / "sheet.html"
    done = report(*alphas, "--datasets", root, "--out", out, *given, folder=folder)
    assert (done.exit_code, done.stderr) == (0, "")
    return Page(out.read_text("utf-8"))
