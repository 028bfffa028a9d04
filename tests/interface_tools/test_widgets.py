"""The widgets of OpenBB Workspace: format, calls, and the proxy for browsers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from tests.interface_tools.conftest import Service
from tests.support.contract_app import FULL
from tests.support.ports import free_port
from tests.support.processes import REPOSITORY
from tests.support.waiting import PATIENCE, eventually

WORKSPACE = "https://pro.openbb.co"
TEXT = {"type": "string", "minLength": 1}
FORMAT = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {
        "type": "object",
        "required": ["name", "description", "endpoint"],
        "additionalProperties": False,
        "properties": {
            **dict.fromkeys(("name", "description", "category", "subCategory", "endpoint"), TEXT),
            "type": {"const": "table"},
            "source": {"type": "array", "items": TEXT},
            "gridData": {
                "properties": {"w": {"maximum": 40}, "h": {"maximum": 100}},
                "additionalProperties": {"type": "integer", "minimum": 1},
            },
            "data": {
                "additionalProperties": False,
                "properties": {
                    "dataKey": TEXT,
                    "table": {
                        "additionalProperties": False,
                        "properties": {
                            "columnsDefs": {
                                "type": "array",
                                "items": {
                                    "required": ["field", "headerName"],
                                    "additionalProperties": False,
                                    "properties": {
                                        **dict.fromkeys(("field", "headerName", "headerTooltip"), TEXT),
                                        "cellDataType": {"enum": ["text", "number", "boolean", "dateString"]},
                                        "formatterFn": {"const": "none"},
                                    },
                                },
                            }
                        },
                    },
                },
            },
            "params": {
                "type": "array",
                "items": {
                    "required": ["paramName", "type"],
                    "additionalProperties": False,
                    "properties": {
                        **dict.fromkeys(("paramName", "label", "description"), TEXT),
                        "type": {"enum": ["date", "text", "number", "boolean"]},
                        "value": {"type": ["string", "number", "boolean", "null"]},
                        "options": {
                            "type": "array",
                            "items": {"required": ["label", "value"], "additionalProperties": TEXT},
                        },
                    },
                },
            },
        },
    },
}
"""What the reference of widgets.json says of the members that are used here; an endpoint may have braces."""

CELLS = {"number": (int, float), "boolean": (bool,), "text": (str,), "dateString": (str,)}
"""What stands in the JSON of a cell by its type."""


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=PATIENCE) as client:
        yield client


def called(widget: dict[str, Any], **entered: str) -> tuple[str, dict[str, str]]:
    """Return path and query of a widget's call: braces are filled, and a parameter without a value is left out."""
    path, query = widget["endpoint"], {}
    for parameter in widget["params"]:
        name = parameter["paramName"]
        value = entered.get(name, parameter["value"])
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", str(value))
        elif value is not None:
            query[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return f"/{path}", query


def test_the_widgets_document_has_the_documented_format(service: Service, http: httpx.Client) -> None:
    jsonschema.validate(http.get(f"{service.address}/widgets.json").json(), FORMAT)


def test_every_widgets_call_returns_its_columns(service: Service, http: httpx.Client) -> None:
    widgets = http.get(f"{service.address}/widgets.json").json()
    headers = {"Authorization": f"Bearer {service.key}"}
    week = http.get(f"{service.address}/v1/alphas/{FULL}/rebalances", headers=headers).json()["data"][0]
    for name, widget in widgets.items():
        entered = {"alpha": FULL, "date": week["date"]}
        if name == "benchmarks_daily":
            entered["symbol"] = "SPY"
        if name == "portfolio_trades":
            entered["book"] = "long_short"
        path, query = called(widget, **entered)
        answer = http.get(service.address + path, params=query, headers=headers)
        assert answer.status_code == 200, (name, answer.text)
        rows = answer.json()[widget["data"]["dataKey"]]
        assert rows, name
        shown = {column["field"]: column["cellDataType"] for column in widget["data"]["table"]["columnsDefs"]}
        assert not [x for x in shown if x.startswith("raw_")]
        for row in rows:
            assert shown.keys() >= row.keys() - {x for x in row if x.startswith("raw_")}, name
            for column, value in row.items():
                if column in shown and value is not None:
                    assert type(value) in CELLS[shown[column]], (name, column, value)


@contextmanager
def proxied(service: Service, http: httpx.Client, folder: Path) -> Iterator[str]:
    """Put nginx in front of the service, with the two blocks of the page."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("nginx, of Debian's package nginx-light, is not installed (.ci/nightly installs it)")
    page = (REPOSITORY / "docs/delta-sharing.md").read_text("utf-8")
    maps, location = re.findall(r"```nginx\n(.*?)```", page, re.DOTALL)
    places = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{name}_temp_path {folder}/{name};\n" for name in places)
    port = free_port()
    (folder / "nginx.conf").write_text(
        f"pid {folder}/nginx.pid;\ndaemon off;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{temporary}{maps}\n"
        f"server {{\nlisten 127.0.0.1:{port};\nlocation / {{\nproxy_pass {service.address};\n{location}}}\n}}\n}}\n"
    )
    process = subprocess.Popen([program, "-c", str(folder / "nginx.conf"), "-e", "stderr"])
    try:
        address = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            try:
                return http.get(f"{address}/v1/health").status_code == 200
            except httpx.ConnectError:
                return False

        eventually(answers)
        yield address
    finally:
        process.terminate()
        process.wait()


def test_the_documented_proxy_allows_the_workspace_and_no_other_origin(
    service: Service, http: httpx.Client, tmp_path: Path
) -> None:
    key = {"Authorization": f"Bearer {service.key}"}
    requested = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
    with proxied(service, http, tmp_path) as address:
        for path in ("/widgets.json", "/v1/alphas"):
            preflight = http.options(f"{address}{path}", headers={"Origin": WORKSPACE, **requested})
            assert preflight.status_code == 204
            assert preflight.headers["access-control-allow-origin"] == WORKSPACE
            assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
            answer = http.get(f"{address}{path}", headers={"Origin": WORKSPACE, **key})
            assert answer.status_code == 200
            assert answer.headers["access-control-allow-origin"] == WORKSPACE
            other = {"Origin": "https://example.org"}
            assert http.options(f"{address}{path}", headers={**other, **requested}).status_code == 404
            answer = http.get(f"{address}{path}", headers={**other, **key})
            assert "access-control-allow-origin" not in answer.headers
            assert "Origin" in answer.headers.get_list("vary")
        refused = http.get(f"{address}/v1/alphas", headers={"Origin": WORKSPACE})
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, WORKSPACE)
