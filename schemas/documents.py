"""Documents derived from the declarations: pages, and parts of pages between two marks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from schemas.exit_codes import ExitCode
from schemas.metrics.core import CORE, RANK_IC
from schemas.metrics.families import FAMILIES
from schemas.metrics.statistic import CHECKED_MEANINGS, Statistic
from schemas.metrics_documentation import documented
from schemas.notices import CHANCE, NOTICES, Notice
from schemas.notices.catalogue import MAX_OTHER_RUNS, MIN_OTHER_RUNS
from schemas.notices.market import MIN_NAME_SESSIONS
from schemas.settings import GROUPS, Setting
from schemas.table import Column, Origin, Table
from schemas.tables import TABLES


def with_part(document: str, begin: str, end: str, part: str) -> str:
    """Return a document with the part between two marks replaced.

    Raises
    ------
    ValueError
        When it has no such marks.
    """
    before, first, rest = document.partition(begin)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise ValueError(f"the document has no part between {begin} and {end}")
    return f"{before}{begin}\n\n{part}\n{end}{after}"


def with_parts(document: str) -> str:
    """Return a document with its marked parts rendered again; ValueError if it has none, or a part has no end."""
    names = [name for name in _PARTS if _begin(name) in document]
    if not names:
        raise ValueError(f"the document has none of the marks {', '.join(map(_begin, _PARTS))}")
    for name in names:
        document = with_part(document, _begin(name), f"<!-- end of {name} -->", _PARTS[name]())
    return document


def _begin(name: str) -> str:
    return f"<!-- {name}: derived from schemas by `just docs` -->"


def data_dictionary() -> str:
    """Return the page of every published table and column."""
    lines = [
        "# Data dictionary",
        "",
        "Derived from `schemas/tables` by `uv run just docs`.",
        "",
        "*Optional* columns are absent if the run never recorded them. *Raw* columns are served only to keys with raw-book",
        "access. *Derived* columns are computed by the pipeline; all others are as the engine sealed them. Partition columns are",
        "in the path (`book=long_short/`), not in the file.",
        "",
    ]
    for table in TABLES.values():
        lines.extend(_table(table))
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(table: Table) -> Iterator[str]:
    yield f"## {table.name}"
    yield ""
    yield table.meaning
    yield ""
    traits = [f"key: {_names(table.key)}", f"order: {_names(table.sort)}"]
    if table.partition:
        traits.append(f"partitioned by: {_names(table.partition)}")
    traits.append("sealed by the engine" if table.sealed else "made by the pipeline")
    yield "; ".join(traits) + "."
    yield ""
    yield "| column | type | unit | meaning | notes |"
    yield "|---|---|---|---|---|"
    for column in table:
        yield f"| `{column.name}` | {column.type} | {column.unit} | {escape_cell(column.meaning)} | {', '.join(_column_notes(column))} |"
    yield ""


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
    parts = []
    for group in GROUPS:
        rows = "\n".join(map(_setting, group.settings))
        parts.append(
            f"### {group.title}\n\n{group.about}\n\n"
            f"| variable | flag | type | default | meaning |\n|---|---|---|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


def _setting(setting: Setting) -> str:
    flag = f"`{setting.flag}`" if setting.flag else "none"
    default = setting.otherwise or ("none" if setting.default is None else f"`{setting.default}`")
    if setting.required:
        default = "required"
    meaning = escape_cell(setting.meaning) + (" **Secret.**" if setting.secret else "")
    return f"| `{setting.variable}` | {flag} | {setting.kind.type} | {default} | {meaning} |"


def _exit_codes() -> str:
    may_pass = {True: "yes", False: "no", None: ""}
    rows = "\n".join(f"| {code.value} | {code.meaning} | {may_pass[code.retry]} |" for code in ExitCode)
    return f"| code | meaning | a retry may help |\n|---|---|---|\n{rows}\n"


def _definitions() -> str:
    """Return each statistic with the conventions its formula leaves open, and each word of `checked`, as Markdown."""
    rows = [_statistic(f"core.{x.name}", x) for x in CORE]
    rows += [
        _statistic(f"rank_ic.{signal}.{x.name}", x) for signal, family in RANK_IC.items() for x in family
    ]
    words = [f"| `{word.value}` | {meaning} |" for word, meaning in CHECKED_MEANINGS.items()]
    head = "| statistic | formula | calendar | costs | ddof | a year by | risk-free rate |\n|---|---|---|---|---|---|---|"
    return "\n".join([head, *rows, "", "| `checked` | meaning |\n|---|---|", *words, ""])


def _research_figures() -> str:
    """Return each figure of each family of research figures, with its formula and where that comes from, as Markdown."""
    parts = []
    for family in FAMILIES.values():
        rows = [
            f"| `{path}` | {field.counts} | {field.formula} | {field.source} |"
            for path, field in documented(family.payload)
            if field.formula and not path.rpartition("[].")[0]
        ]
        head = "| figure | unit | formula | source |\n|---|---|---|---|"
        parts += [f"### {family.name}", "", family.payload.meaning, "", head, *rows, ""]
    return "\n".join(parts)


def _statistic(path: str, statistic: Statistic) -> str:
    x = statistic.definition
    ddof = "" if x.ddof is None else str(x.ddof)
    return (
        f"| `{path}` | {statistic.formula} | {x.calendar} | {x.costs} | {ddof} | {x.factor} | {x.risk_free} |"
    )


def notices_markdown() -> str:
    """Return the page of every notice with its meaning, figure, threshold and source."""
    return "\n".join([_NOTICES_HEAD, *(_notice(notice) for notice in NOTICES.values())])


_NOTICES_HEAD: Final = f"""\
# Notices

Written by `python -m schemas notices`; a test fails when it is out of date.

A [rule](rules.md) states what is impossible, and refuses a seal. A notice states what is improbable, and never refuses, not even with
`--strict`. A falsified seal may be consistent in every figure, for instance with forward returns reordered by score, or fills at
prices that were never quoted; its figures then differ from those of honest runs. An unusual honest run may exceed a threshold too.

`alpha-results check` prints the notices of a seal, `--json` lists them all under `notices`. A build records them in the
manifest. Each has an outcome: `pass`, `notice` or `not_checked` with the reason. `threshold` is the one that applied to the run:
a mean must lie {CHANCE:g} standard errors from zero, so its threshold is higher for short runs.

Three notices compare a run with other runs of the catalogue at publication. Each snapshot holds a small sample for this
(`probe.json`): returns of up to 64 names on up to 32 sessions, chosen by digests of names and dates, so that all runs
choose the same ones. Up to {MAX_OTHER_RUNS} other runs are compared, by returns from the previous close, so that split adjustments do not
count as contradictions. At least {MIN_OTHER_RUNS} others must have the same names and sessions.

The notices `market.*` compare every mark, fill, forward return and session of a run with
[market prices](market-data.md#prices-that-runs-are-compared-with) that the operator gives: `alpha-results check SEAL --prices FILE` and
`build … --prices FILE`, or `ALPHA_RESULTS_PRICES`. Without them they are `not_checked`. Names and days that the file lacks are not compared; `details` says how many cells were, and has the digest of the
file. A build records the outcomes; `verify` does not repeat them. To compare a seal that is served already, build it again with `--force`.

Notices about the signal before smoothing are visible only with raw-book access; raw books take no part in any notice.

## What notices cannot detect

Some falsifications keep every figure in the range of honest runs, or change values that no other value in the seal contradicts. Those
marked † are noticed where market prices are given:

- **Slight look-ahead.** A score that is mixed with 2 to 5 % of future returns, or less than 3 % where it hardly changes from
  week to week, or is ordered by them within each side of the book, predicts no better than good signals do.
- **Forward returns without prices.**† Returns of names that no book holds, and returns of a name exchanged between two of its
  fills, so that they compound to the same value. Without fills and positions no forward return can be checked.
- **Invented prices.**† Weeks cut out with the gap closed, or one false price path in all books, leave the run consistent. Other runs
  of the catalogue contradict it if there are at least {MIN_OTHER_RUNS}; they miss one name lifted by less than 0.2 % a session, and market prices
  one lifted by less than 0.01 % a session, or held for fewer than {MIN_NAME_SESSIONS} sessions.
- **Selection before the run.** Names left out of the universe that no book held, names that enter it after their fall or leave it
  before their crash, a convenient first or last day, tried variants that are missing from the trials, or trials that hardly differ
  from the run. The remedy is to seal each run when it is made: later changes show as restated.
- **One side, one name or one day.** Costs lower by less than a third on one side or in one book, for some names alone, in part of
  the run, or by a flat 5 bp of purchases or sales, as taxes are; dividends that only some short positions pay, one split that
  is not declared†, losses of a few names cut off, or a loss booked later in a few sessions or over more than three, if all tables
  follow.
- **Terms near the thresholds.** Trading from 0.5 bp, borrowing from 0.05 % a year, interest up to 15 %, positions up to 2.5 times
  the equity, a twentieth of the weeks skipped, a fiftieth of the rows withheld, trials shrunk by less than three quarters, and
  mids less than 0.1 % better than the market†, or in few fills; fills and marks that are a session later than they say, in a
  signal that earns no more by it.
- **A settlement price that is too good**, if the last mark of the name agrees with it.
"""


def _notice(notice: Notice) -> str:
    bound = f"below {notice.threshold:g}" if notice.below else f"above {notice.threshold:g}"
    if notice.least is not None:
        bound = f"outside {notice.least:g} to {notice.threshold:g}"
    return "\n".join(
        [
            f"## {notice.id}",
            "",
            notice.meaning,
            "",
            f"Noticed: `{notice.figure}` ({notice.unit}) {bound}. It is the {notice.definition}.",
            "",
            f"Threshold: {notice.source}.",
            "",
        ]
    )


def escape_cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table."""
    return text.replace("|", "\\|")


_PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "settings": _settings,
    "exit codes": _exit_codes,
    "definitions": _definitions,
    "research figures": _research_figures,
}
"""Name of a part -> its renderer."""
