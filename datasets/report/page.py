"""Render a tear sheet as one self-contained HTML document."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from datasets import charts
from datasets.report import figures
from datasets.report.content import Content
from schemas.metrics.core import CORE
from schemas.project import NAME, UNKNOWN, project_version

_HERE: Final = Path(__file__).parent
_EXPORT: Final = re.compile(r"^export (?=(async )?(function|const|class)\b)", re.MULTILINE)
_IMPORT: Final = re.compile(r"^import .*\n", re.MULTILINE)
_EXPORTED: Final = re.compile(r"^export (?:async )?function (\w+)", re.MULTILINE)
_FILTERS: Final = (
    *("label", "number", "fixed", "points", "percent", "entry", "unit", "basis", "day", "dated"),
    *("of_equity", "measured", "span", "evidence", "withheld"),
)
"""Functions of :mod:`datasets.report.figures` that are filters in the templates."""
_END_OF_SCRIPT: Final = re.compile(r"<(?=/script|!--)", re.IGNORECASE)


def render(sheets: Sequence[Content], compared: Content | None = None) -> str:
    """Render the page of one alpha, or of several side by side.

    Parameters
    ----------
    sheets
        Result of :func:`datasets.report.content.content` for each alpha.
    compared
        Result of :func:`datasets.report.compared.compared`; None for one alpha.

    Returns
    -------
    str
        HTML whose content security policy allows only its inline scripts and styles, and no other files. The same content
        gives the same text.
    """
    styles = _asset("sheet.css")
    scripts = [_script(charts.library().decode()), _script(_chart_script()), _script(_asset("sheet.js"))]
    data = orjson.dumps({"sheets": sheets, "compared": compared}).decode().replace("<", "\\u003c")
    hashes = " ".join(map(_digest, scripts))
    policy = (
        f"default-src 'none'; script-src {hashes}; style-src {_digest(styles)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    version = project_version()
    return (
        _templates()
        .get_template("sheet.html.jinja")
        .render(
            sheets=sheets,
            compared=compared,
            core=[statistic.name for statistic in CORE],
            title=" · ".join(sheet["name"] for sheet in sheets),
            policy=policy,
            styles=Markup(styles),  # noqa: S704 - our own file
            scripts=[Markup(script) for script in scripts],  # noqa: S704 - our own files and the library
            data=Markup(data),  # noqa: S704 - JSON without "<", so no tag can begin
            made_by=NAME if version == UNKNOWN else f"{NAME} {version}",
        )
    )


def _chart_script() -> str:
    """Return the chart modules as one script that defines the global `charts`, because a single file cannot import modules."""
    text = _IMPORT.sub("", b"".join(charts.modules().values()).decode())
    names = ", ".join(_EXPORTED.findall(text))
    return f"const charts = (() => {{\n{_EXPORT.sub('', text)}\nreturn {{ {names} }};\n}})();\n"


def _script(text: str) -> str:
    """Escape a script for inline use, so that it does not contain an end tag."""
    return _END_OF_SCRIPT.sub(r"\\x3c", text)


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (_HERE / name).read_text("utf-8")


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update({name: getattr(figures, name) for name in _FILTERS})
    environment.globals.update(reason=figures.reason, banded=figures.banded)
    return environment
