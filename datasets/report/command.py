"""``report``: write a tear sheet of one alpha, or of several side by side."""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from pathlib import Path

import click

from datasets.disk import writing
from datasets.report.pdf import find_browser, print_page
from schemas.console.terminal import echo
from schemas.errors import SettingsError
from schemas.settings.options import option
from schemas.tables.books import CONDITIONED_BOOKS

MAX_ALPHAS: int = 6
"""Maximum alphas on a sheet; more curves could not be distinguished."""


@click.command()
@click.argument("alphas", nargs=-1, required=True, metavar="ALPHA...")
@option("datasets", "root")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="HTML file to write."
)
@click.option("--pdf", is_flag=True, help="Also print it to a PDF file next to it, with Chromium or Chrome.")
@click.option("--book", default=CONDITIONED_BOOKS[0], show_default=True, help="Book whose curves are drawn.")
@click.option("--from", "first", metavar="DAY", help="First day shown, as YYYY-MM-DD.")
@click.option("--to", "last", metavar="DAY", help="Last day shown.")
@option("market_data")
@click.option(
    "--benchmark",
    metavar="SYMBOL",
    help="Series of the market data. Default: the only one, or SPY.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def report(
    *,
    alphas: tuple[str, ...],
    root: str,
    out: Path,
    pdf: bool,
    book: str,
    first: str | None,
    last: str | None,
    market_data: str | None,
    benchmark: str | None,
    as_json: bool,
) -> None:
    """Write the tear sheet of ALPHA, or of up to six alphas side by side, as one file.

    The file is self-contained: it may be mailed, archived and opened from a folder. Its figures are those that the
    API answers to a key without raw-book access. The same snapshots give the same bytes.
    """
    from datasets.analysis.root import open_published  # noqa: PLC0415 - it loads Polars, and --help does without
    from datasets.figures.series import Window  # noqa: PLC0415 - as above
    from datasets.report.compared import compared  # noqa: PLC0415 - as above
    from datasets.report.content import content  # noqa: PLC0415 - as above
    from datasets.report.page import render  # noqa: PLC0415 - as above

    if pdf and out.suffix.lower() == ".pdf":
        raise SettingsError(
            f"--out {out} is the name of the PDF file that --pdf writes next to the HTML file; give a name that ends in .html"
        )
    for target in (out, out.with_suffix(".pdf")) if pdf else (out,):
        if target.exists() and not target.is_file():  # a draft would take the place of /dev/stdout itself
            raise SettingsError(
                f"--out: {target} is not a file and would be replaced; give the name of a file"
            )
    browser = find_browser() if pdf else None
    if not 1 <= len(set(alphas)) == len(alphas) <= MAX_ALPHAS:
        raise SettingsError(f"give one to {MAX_ALPHAS} alphas, each once")
    published = open_published(root)
    runs = [published[alpha] for alpha in alphas]
    window = Window(_day("--from", first), _day("--to", last))
    sheets = [content(run, book, market_data, benchmark, window) for run in runs]
    page = render(sheets, compared(runs, book, window) if len(runs) > 1 else None)
    written = write(page, out, browser)
    answer = {
        "alphas": {sheet["alpha_id"]: sheet["snapshot"] for sheet in sheets},
        "html": str(written[0]),
        "pdf": str(written[1]) if browser else None,
    }
    echo(json.dumps(answer) if as_json else "\n".join(map(str, written)))


def _day(flag: str, text: str | None) -> dt.date | None:
    try:
        return None if text is None else dt.datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007 - a day has no zone
    except ValueError:
        raise SettingsError(f"{flag}: {text!r} is not a valid date; give one as YYYY-MM-DD") from None


def write(page: str, out: Path, browser: str | None) -> list[Path]:
    """Write the page, and the PDF with --pdf: both files or neither.

    Raises
    ------
    SettingsError
        When the folder does not exist or the file cannot be written.
    DiskUnavailable
        When the disk is full or read-only, or the user lacks permission.
    """
    try:
        with writing(out), tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as folder:
            drafts = {out: Path(folder, "page.html")}
            drafts[out].write_text(page, "utf-8")
            if browser is not None:
                pdf_file = out.with_suffix(".pdf")
                drafts[pdf_file] = Path(folder, "page.pdf")
                print_page(browser, drafts[out], drafts[pdf_file])
            for target, draft in drafts.items():
                draft.replace(target)
    except OSError as error:
        raise SettingsError(f"{out} cannot be written: {error.strerror or error}") from error
    return list(drafts)
