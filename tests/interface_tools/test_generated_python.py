"""A client that openapi-python-client makes from the document loses nothing of any answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interface_tools.conftest import DOCUMENT, Service
from tests.support.contract_app import FULL, PLAIN

GENERATOR = "openapi-python-client==0.29.1"
CALLS = """
import importlib, json, pkgutil, re, sys
from generated import AuthenticatedClient, api

address, alpha, other = sys.argv[1:]
client = AuthenticatedClient(base_url=address, token=sys.stdin.read())
week = None
given = {"alpha": alpha, "symbol": "SPY", "book": "long_short", "table": "trades", "alphas": f"{alpha},{other}"}
told = {}

def seen(value):
    if isinstance(value, dict):
        return {name: seen(part) for name, part in value.items()}
    if isinstance(value, list):
        return [seen(part) for part in value]
    return re.sub(r"(\\d)\\+00:00$", r"\\1Z", value) if isinstance(value, str) else value

def ask(name, module, **more):
    arguments = module._get_kwargs.__annotations__
    known = {x: y for x, y in {**given, **more}.items() if x in arguments}
    if name == "signals_scores" or "rebalances" in name or "positions" in name or "pnl" in name:
        known.pop("symbol", None)
    if "rebalances" in name:
        known.pop("book", None)
    if name == "research_contribution":
        known["alphas"] = other
    answer = module.sync_detailed(client=client, **known)
    sent, parsed = json.loads(answer.content), answer.parsed.to_dict()
    told["_".join([name, *more])] = [int(answer.status_code), seen(parsed) == seen(sent), type(answer.parsed).__name__]
    return sent

for group in sorted(x.name for x in pkgutil.iter_modules(api.__path__)):
    package = importlib.import_module(f"generated.api.{group}")
    for name in sorted(x.name for x in pkgutil.iter_modules(package.__path__)):
        if group == "admin" or name in ("catalog_alphas_source_download", "signals_rebalances_get"):
            continue
        module = importlib.import_module(f"generated.api.{group}.{name}")
        sent = ask(name, module)
        if name == "signals_scores":
            fields = importlib.import_module("generated.models.signals_scores_fields").SignalsScoresFields
            ask(name, module, fields=fields.ALL)
        if name == "performance_metrics":
            ask(name, module, panel=True, doc=True)
        if name == "catalog_alphas_list":
            ask(name, module, complete_only=True)
        if name == "signals_rebalances_list":
            given["date"] = __import__("datetime").date.fromisoformat(sent["data"][20]["date"])
ask("signals_rebalances_get", importlib.import_module("generated.api.signals.signals_rebalances_get"))
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated")
    done = subprocess.run(
        ["uv", "tool", "run", "--from", GENERATOR, "openapi-python-client", "generate", "--path", str(DOCUMENT),
         "--output-path", str(folder / "generated"), "--meta", "none", "--fail-on-warning"],
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    return folder


def test_the_generated_client_reads_every_answer_completely(service: Service, generated: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALLS, service.address, FULL, PLAIN],
        cwd=generated, input=service.key, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert len(result) == 39
    assert {name: entry for name, entry in result.items() if entry[:2] != [200, True]} == {}
    assert result["signals_scores"][2] != result["signals_scores_fields"][2]
