"""Print a page to PDF with a local browser, because a PDF library would need a second implementation of every chart."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from schemas.errors import PrintingFailed, SettingsError

BROWSERS: Final = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
"""Browser commands; the first one on the PATH is used."""
_SECONDS: Final = 120.0
"""Maximum seconds to print a page."""
_QUIET: Final = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pdf-header-footer",
)


def find_browser() -> str:
    """Return the first browser on the PATH.

    Raises
    ------
    SettingsError
        When no browser is on the PATH.
    """
    for name in BROWSERS:
        program = shutil.which(name)
        if program:
            return program
    raise SettingsError(
        "no browser that prints is on the PATH: install Chromium, Chrome or Edge, or leave --pdf out and print the page from "
        "any browser"
    )


def print_page(browser: str, page: Path, target: Path) -> None:
    """Print a page to a PDF file.

    Parameters
    ----------
    browser
        Result of :func:`find_browser`.
    page
        The HTML file.
    target
        The PDF file to write.

    Raises
    ------
    PrintingFailed
        When the browser does not write the file; the message has the last line of its output.
    """
    with tempfile.TemporaryDirectory(prefix="alpha-results-print-") as profile:
        command = [browser, *_QUIET, f"--user-data-dir={profile}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--no-sandbox")  # otherwise Chromium refuses to run as root
        command += [f"--print-to-pdf={target.resolve()}", f"{page.resolve().as_uri()}#print"]
        try:
            result = subprocess.run(  # noqa: S603 - the machine's own browser, and a page that loads no other file
                command, capture_output=True, text=True, errors="replace", check=False, timeout=_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PrintingFailed(f"{browser} did not print the page: {error}") from error
        if result.returncode or not target.is_file() or not target.stat().st_size:
            last = (result.stderr.strip().splitlines() or ["it wrote no message"])[-1]
            raise PrintingFailed(f"{browser} did not print the page (exit code {result.returncode}): {last}")
