"""Escaping of texts on a terminal."""

from __future__ import annotations

import io
import json
import unicodedata

import click.testing
from hypothesis import example, given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from schemas.console.screen import Screen, make_table
from schemas.console.terminal import echo, visible

ODD = "a\x1b]0;title\x07\x9b2J\r\x7f\u202eb"


@given(st.text())
@example(ODD)
def test_no_terminal_control_sequence_remains(text: str) -> None:
    left = {letter for letter in visible(text) if unicodedata.category(letter) in {"Cc", "Cs"}}
    assert left <= {"\n", "\t"}
    assert visible(visible(text)) == visible(text)


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"])))
def test_other_text_is_unchanged(text: str) -> None:
    assert visible(text) == text


@given(st.dictionaries(st.text(), st.text()))
def test_escaping_keeps_json_documents_equal(value: dict[str, str]) -> None:
    assert json.loads(visible(json.dumps(value, ensure_ascii=False))) == value


def test_messages_and_tables_are_escaped() -> None:
    @click.command()
    def say() -> None:
        echo(ODD)

    printed = click.testing.CliRunner().invoke(say, color=True).output
    table, written = Table("name"), io.StringIO()
    table.add_row(ODD)
    table.add_row(Text(ODD))
    Screen(file=written, width=200).print(table, ODD)
    for shown in (printed, written.getvalue()):
        assert "\\u001b]0;title\\u0007\\u009b2J" in shown
        assert not {"\x1b", "\x07", "\x9b", "\r", "\x7f", "\u202e"} & set(shown)


def test_a_long_table_is_printed_as_padded_lines_that_fold() -> None:
    """Rich would take seconds to draw it."""
    table, written, narrow = make_table("alpha", "name", title="alphas"), io.StringIO(), io.StringIO()
    for number in range(501):
        table.add_row(f"alpha_{number}", Text("two\nlines \x1b"))
    Screen(file=written).print(table)
    lines = written.getvalue().splitlines()
    assert lines[:3] == ["alphas", "alpha      name", "alpha_0    two lines \\u001b"]
    assert len(lines) == 503
    assert lines[-1] == "alpha_500  two lines \\u001b"

    terminal = Screen(file=narrow, force_terminal=True, width=16, color_system=None)
    terminal.print(table)
    folded = [line.rstrip() for line in narrow.getvalue().splitlines()]
    assert folded[-2:] == ["alpha_500  two", "lines \\u001b"]


def test_a_short_table_is_drawn() -> None:
    table, written = make_table("alpha"), io.StringIO()
    table.add_row("one")
    Screen(file=written).print(table)
    assert [line.strip() for line in written.getvalue().splitlines()][3] == "│ one   │"
