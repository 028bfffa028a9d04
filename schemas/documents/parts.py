"""Parts of documents that are derived from the declarations, each between two marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from schemas.documents.metrics_documentation import documented
from schemas.exit_codes import ExitCode
from schemas.metrics.core import CORE, RANK_IC
from schemas.metrics.families import FAMILIES
from schemas.metrics.statistic import CHECKED_MEANINGS
from schemas.notices import NOTICES
from schemas.notices.notice import Notice
from schemas.settings import GROUPS, Setting
from schemas.table import Column, Origin, Table
from schemas.tables import TABLES
from schemas.warning_codes import CODES

Parts = Mapping[str, Callable[[], str]]
"""Name of a part -> its renderer."""


def with_parts(document: str, parts: Parts) -> str:
    """Return a document with its marked parts rendered again.

    Raises
    ------
    ValueError
        When it has none of the marks, or a part has no end.
    """
    names = [name for name in parts if _begin(name) in document]
    if not names:
        raise ValueError(f"the document has none of the marks {', '.join(map(_begin, parts))}")
    for name in names:
        before, _, rest = document.partition(_begin(name))
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        if not end:
            raise ValueError(f"the part {name} of the document has no end")
        document = f"{before}{_begin(name)}\n\n{parts[name]()}\n{end}{after}"
    return document


def update(documents: Iterable[Path], parts: Parts) -> None:
    """Render the marked parts of files again."""
    for path in documents:
        path.write_text(with_parts(path.read_text("utf-8"), parts), "utf-8")


def _begin(name: str) -> str:
    return f"<!-- {name}: derived by `just docs` -->"


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown, ending in a newline; bars in cells are escaped."""
    cells = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows)
    head = f"| {' | '.join(headings)} |\n|{'---|' * len(headings)}\n"
    return head + "".join(f"| {row} |\n" for row in cells)


def _tables() -> str:
    """Return every table with its columns."""
    return "\n".join(map(_table, TABLES.values()))


def _table(table: Table) -> str:
    traits = [f"key: {_names(table.key)}", f"order: {_names(table.sort)}"]
    if table.partition:
        traits.append(f"partitioned by: {_names(table.partition)}")
    traits.append("sealed by the engine" if table.sealed else "made by the pipeline")
    return f"## {table.name}\n\n{table.meaning}\n\n{'; '.join(traits)}.\n\n{column_table(table)}"


def column_table(columns: Iterable[Column]) -> str:
    """Return a table of columns."""
    rows = (
        (f"`{x.name}`", f"{x.type}, {x.unit}".removesuffix(", none"), x.meaning, ", ".join(_column_notes(x)))
        for x in columns
    )
    return markdown_table(("column", "type, unit", "meaning", "notes"), rows)


def _column_notes(column: Column) -> Iterator[str]:
    if not column.published:
        yield "sealed only, not published"
    if column.origin is Origin.DERIVED:
        yield "derived"
    if column.origin is Origin.EITHER:
        yield "derived unless sealed"
    if column.optional:
        yield "optional"
    if column.needs and column.origin is not Origin.SEALED:
        yield "needs " + _names(column.needs)
    if column.nullable:
        yield "may be null"
    if column.raw:
        yield "raw"
    if column.bound != "any":
        yield column.bound
    if column.vocabulary:
        yield "one of " + _names(column.vocabulary)


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _settings() -> str:
    headings = ("variable, flag", "default (type)", "meaning")
    return "\n".join(
        f"## {group.title}\n\n{group.about}\n\n{markdown_table(headings, map(_setting, group.settings))}"
        for group in GROUPS
    )


def _setting(setting: Setting) -> Sequence[str]:
    # Few columns, since the meaning needs the width.
    names = "<br>".join(f"`{name}`" for name in (setting.variable, setting.flag) if name)
    default = setting.otherwise or ("none" if setting.default_text is None else f"`{setting.default_text}`")
    if setting.required:
        default = "required"
    meaning = setting.meaning + (" **Secret.**" if setting.secret else "")
    return names, f"{default} ({setting.kind.type})", meaning


def _exit_codes() -> str:
    may_pass = {True: "yes", False: "no", None: ""}
    rows = ((str(code.value), code.meaning, may_pass[code.retry]) for code in ExitCode)
    return markdown_table(("code", "meaning", "a retry may help"), rows)


def _coded(headings: Sequence[str], words: Mapping[str, str]) -> str:
    """Return a table of words, set as code, with their meanings."""
    return markdown_table(headings, [(f"`{word}`", meaning) for word, meaning in words.items()])


def _definitions() -> str:
    """Return each statistic with its formula, and each word of `checked`."""
    formulas = {f"core.{x.name}": x.formula for x in CORE}
    formulas |= {
        f"rank_ic.{signal}.{x.name}": x.formula for signal, family in RANK_IC.items() for x in family
    }
    return (
        f"{_coded(('statistic', 'formula'), formulas)}\n{_coded(('`checked`', 'meaning'), CHECKED_MEANINGS)}"
    )


def _codes() -> str:
    """Return the codes of `meta.warnings` and `meta.notices`."""
    return "\n".join(_coded((f"code of `meta.{name}`", "meaning"), codes) for name, codes in CODES.items())


def _research_figures() -> str:
    """Return each figure of each family of research figures, with its formula and the source of that."""
    headings = ("figure", "unit", "formula", "source")
    parts = []
    for family in FAMILIES.values():
        rows = [
            (f"`{path}`", field.unit_text, field.formula, field.source)
            for path, field in documented(family.payload)
            if field.formula and "[]." not in path
        ]
        parts.append(f"### {family.name}\n\n{family.payload.meaning}\n\n{markdown_table(headings, rows)}")
    return "\n".join(parts)


def _notices() -> str:
    return "\n".join(map(_notice, NOTICES.values()))


def _notice(notice: Notice) -> str:
    bound = f"below {notice.threshold:g}" if notice.below else f"above {notice.threshold:g}"
    if notice.least is not None:
        bound = f"outside {notice.least:g} to {notice.threshold:g}"
    return (
        f"## {notice.id}\n\n{notice.meaning}\n\n"
        f"Notice if `{notice.figure}` is {bound} ({notice.unit.replace('_', ' ')}). It is the {notice.definition}.\n\n"
        f"Threshold: {notice.source}.\n"
    )


PARTS: Final[Parts] = {
    "tables": _tables,
    "settings": _settings,
    "exit codes": _exit_codes,
    "definitions": _definitions,
    "codes": _codes,
    "research figures": _research_figures,
    "notices": _notices,
}
