"""The fenced blocks of every page that people read, and the script that a page makes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import dedent

from tests.support.processes import REPOSITORY

_BLOCK = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_CALL = re.compile(r"^\$ (.*(?:\\\n.*)*)\n?((?:(?!\$ ).*\n?)*)", re.MULTILINE)

_MACHINE = re.compile(
    r"\b(?:systemctl|apt-get|useradd|runuser|pg_dump|psql)\b|(?<![\w$.}/])/(?:opt|etc|srv|var)/"
)
"""Commands that change the machine itself: never run from a page."""

MARK = "\x1e"
"""Separator between the outputs of two steps."""


@dataclass(frozen=True)
class Block:
    """A fenced block: page, line, language and text."""

    page: str
    line: int
    language: str
    text: str

    def calls(self) -> list[tuple[str, str]]:
        """Return the commands of a console, each with what is printed below it."""
        return [(command, printed) for command, printed in _CALL.findall(self.text)]


@dataclass(frozen=True)
class Step:
    """A command of a page's script and its printed output, None if the page shows none."""

    line: int
    command: str
    printed: str | None = None


def all_pages() -> list[str]:
    """Return every page, as a path in the repository."""
    result = [
        *REPOSITORY.glob("*.md"),
        *(REPOSITORY / "docs").rglob("*.md"),
        *(REPOSITORY / "clients").glob("*/README.md"),
    ]
    return sorted(path.relative_to(REPOSITORY).as_posix() for path in result)


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page in their order; those inside a list too."""
    text = (REPOSITORY / page).read_text("utf-8")
    return [
        Block(page, text[: result.start()].count("\n") + 1, result[2].strip(), dedent(result[3]))
        for result in _BLOCK.finditer(text)
    ]


def steps(parts: list[Block]) -> list[Step]:
    """Return the steps of the blocks in order; an `output` block is the output of the block before it.

    Raises
    ------
    ValueError
        For a block in a language that is not run.
    """
    results: list[Step] = []
    for block in parts:
        if block.language == "mermaid":
            continue  # a diagram, rendered by the site: tests/documents/test_site.py
        if _MACHINE.search(block.text):
            raise ValueError(
                f"{block.page}, line {block.line}: a block that changes the machine is not run. Name it in "
                "tests/documents/left_out.py, with the test that runs it somewhere else"
            )
        if block.language == "console":
            results += [
                Step(block.line, command, printed.strip() or None) for command, printed in block.calls()
            ]
        elif block.language == "sh":
            results.append(Step(block.line, block.text))
        elif block.language == "python":
            results.append(Step(block.line, f"python -W error - <<'END_OF_BLOCK'\n{block.text}END_OF_BLOCK"))
        elif block.language == "output" and results:
            results[-1] = Step(results[-1].line, results[-1].command, block.text)
        else:
            raise ValueError(
                f"{block.page}, line {block.line}: a block of {block.language or 'no language'!r} is not run. Write it as "
                "`sh`, `console` (`$ command` and what it prints), `python`, or `output` (what the block before it "
                "prints); or name it in tests/documents/left_out.py, with the reason why it is not"
            )
    return results


def script(parts: list[Step]) -> str:
    """Return one script of a page, so that steps share variables and files."""
    ending = "trap '[ -z \"$!\" ] || { kill $! && wait $! || true; }' EXIT\n"
    return ending + "".join(f"{part.command}\nprintf '{MARK}'\n" for part in parts)


def matches(printed: str, answer: str) -> bool:
    """Whether output equals that of a page, ignoring white space, with `…` for omissions."""
    pieces = [re.escape("".join(piece.split())) for piece in printed.split("…")]
    return re.fullmatch(".*".join(pieces), "".join(answer.split())) is not None


def own_commands(block: Block) -> list[list[str]]:
    """Return the words of each of this project's commands in a block, after `python -m` or `alpha-results`.

    `alpha-results import` belongs to the seal writer, whose commands are in none of this project's command groups.
    """
    text = block.text.replace("$ ", "")
    text = re.sub(r"\\\n\s*", " ", text)
    lines = re.findall(r"\bpython -m ((?:pipeline|serve|datasets) [^\n#|;&)]*)", text)
    lines += [
        words if words.startswith(("serve ", "datasets ")) else f"pipeline {words}"
        for words in re.findall(
            r"(?:^|\$\()alpha-results ((?!-|import )[a-z][^\n#|;&)]*)", text, re.MULTILINE
        )
    ]
    return [line.split() for line in lines]
