"""Every code block of the pages is run by `just documents` or excluded with a reason."""

from __future__ import annotations

import click
import pytest

from datasets.__main__ import cli as datasets
from pipeline.group import cli as pipeline
from serve.cli.group import serve
from tests.documents.left_out import LEFT_OUT, LeftOut, reason
from tests.documents.pages import Block, all_pages, blocks, own_commands, steps
from tests.support.processes import REPOSITORY

PROGRAMS: dict[str, click.Command] = {"pipeline": pipeline, "serve": serve, "datasets": datasets}
ALL = [block for page in all_pages() for block in blocks(page)]
LEFT = [block for block in ALL if reason(block)]


@pytest.mark.parametrize("page", all_pages())
def test_every_code_block_is_run_or_excluded_with_a_reason(page: str) -> None:
    steps([block for block in blocks(page) if reason(block) is None])


def test_a_block_in_an_unknown_language_is_refused_by_its_page_and_line() -> None:
    with pytest.raises(ValueError, match=r"docs/new\.md, line 7: a block of 'rust' is not run"):
        steps([Block("docs/new.md", 7, "rust", "fn main() {}\n")])


@pytest.mark.parametrize(
    "text", ["systemctl stop something\n", "rm -f /var/lib/alpha-results/access.sqlite3\n"]
)
def test_a_block_that_changes_the_machine_is_never_run(text: str) -> None:
    with pytest.raises(ValueError, match="changes the machine is not run"):
        steps([Block("docs/new.md", 7, "sh", text)])


@pytest.mark.parametrize("entry", LEFT_OUT, ids=lambda entry: f"{entry.page}: {entry.begins[:30]!r}")
def test_excluded_blocks_exist_and_name_existing_tests(
    entry: LeftOut,
) -> None:
    assert [block for block in LEFT if reason(block) is entry], "no block begins so: take the entry out"
    named = [word.rstrip(",;:") for word in entry.why.split() if word.startswith("tests/")]
    assert not [place for place in named if not (REPOSITORY / place).exists()]


@pytest.mark.parametrize("block", ALL, ids=lambda block: f"{block.page}:{block.line}")
def test_commands_in_pages_exist(block: Block) -> None:
    for words in own_commands(block):
        command, rest = PROGRAMS[words[0]], words[1:]
        while isinstance(command, click.Group):
            name = next(word for word in rest if not word.startswith("-"))
            actual = command.get_command(click.Context(command), name)
            assert actual, (words, f"{name} is no command")
            command, rest = actual, rest[rest.index(name) + 1 :]
        known = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)} | {
            "--help"
        }
        flags = {word.partition("=")[0] for word in rest if word.startswith("--")}
        assert flags <= known, (words, flags - known)
