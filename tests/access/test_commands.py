from __future__ import annotations

import asyncio
import json
from typing import Any
from unittest import mock

import pytest

from schemas.endpoints import ENDPOINTS, META_IDS
from serve.auth.authenticator import Authenticator
from serve.auth.settings import AccessSettings
from serve.cli.group import serve
from tests.support.keys import bearer


class Shell:
    """The program's commands on one store."""

    def __init__(self, settings: AccessSettings, capsys: pytest.CaptureFixture[str]) -> None:
        self.settings = settings
        self._capsys = capsys

    def __call__(self, line: str, *more: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            serve([*line.split(), *more, "--access", self.settings.access])
        shown = self._capsys.readouterr()
        return int(left.value.code or 0), shown.out, shown.err

    def json(self, line: str) -> Any:
        code, out, _ = self(line, "--json")
        assert code == 0, line
        return json.loads(out)


@pytest.fixture
def shell(
    settings: AccessSettings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    monkeypatch.setenv("ALPHA_RESULTS_ACTOR", "the operator")
    monkeypatch.setenv("ALPHA_RESULTS_LIMITS_STATE", str(settings.limits_state))
    monkeypatch.setenv("ALPHA_RESULTS_REDIS", settings.redis or "")
    if settings.pepper:
        monkeypatch.setenv("ALPHA_RESULTS_PEPPER", settings.pepper[0].decode())
    return Shell(settings, capsys)


@pytest.mark.parametrize("group", ["keys", "accounts", "access"])
def test_the_help_shows_what_each_command_does_uncut(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        serve([group, "--help"])
    commands = capsys.readouterr().out.partition("Commands:\n")[2].splitlines()
    assert len(commands) > 1
    assert [line for line in commands if not line.endswith(".") or line.endswith("...")] == []


def test_the_commands_create_use_and_revoke_a_key(shell: Shell) -> None:
    account = shell.json(
        "accounts create --email A@Example.org --ceiling-endpoints all --ceiling-runs prefix:Test_"
    )
    assert account["email"] == "a@example.org"
    assert account["ceiling"] == {
        "endpoints": {"mode": "all"},
        "alphas": {"mode": "all"},
        "runs": {"mode": "prefix", "prefixes": ["Test_"]},
    }
    key = shell.json(
        "keys issue --account a@example.org --name first --endpoints all --alphas all --runs all --raw"
        " --rate per_second=100,per_minute=1000,monthly=null --expires 2999-01-01 --ips 203.0.113.0/24"
    )
    assert set(key) >= {"key_id", "token"}
    assert key["allow"]["runs"] == {"mode": "prefix", "prefixes": ["Test_"]}
    assert key["granted"]["runs"] == {"mode": "all"}

    async def call() -> Any:
        access = await Authenticator.open(shell.settings)
        try:
            headers = bearer(key["token"])
            return await access.authorize(headers, "203.0.113.7", ENDPOINTS["signals.scores"])
        finally:
            await access.close()

    caller = asyncio.run(call())
    assert (caller.key_id, caller.expose_raw, caller.record.rate.by_option()["monthly"]) == (
        key["key_id"],
        True,
        None,
    )
    assert shell.json(f"keys suspend {key['key_id']}")["status"] == "suspended"
    assert shell.json(f"keys reactivate {key['key_id']}")["status"] == "active"
    changed = shell.json(f"keys set {key['key_id']} --no-raw --name second --ips any --expires never")
    assert (changed["field_policy"], changed["name"]) == ({"expose_raw_book": False}, "second")
    assert (changed["ips"], changed["expires_at"]) == (None, None)
    use = {"calls_this_month": 1, "last_used_at": mock.ANY}
    shown = shell.json(f"keys show {key['key_id']}")
    assert shown == changed | use
    times = (shown["created_at"], shown["last_used_at"], account["created_at"], shell.json("audit")[0]["at"])
    assert all(time.endswith("Z") for time in times), times
    assert shell.json(f"keys revoke {key['key_id']}")["status"] == "revoked"
    assert shell.json("keys list") == []
    assert [row["key_id"] for row in shell.json("keys list --revoked --account a@example.org")] == [
        key["key_id"]
    ]
    assert shell.json("accounts deactivate a@example.org")["active"] is False
    assert shell.json("accounts activate a@example.org")["active"] is True
    assert shell.json("accounts set a@example.org --admin")["role"] == "admin"
    assert [row["email"] for row in shell.json("accounts list")] == ["a@example.org"]
    assert shell.json(f"accounts show {account['user_id']}")["role"] == "admin"
    entries = shell.json("audit")
    assert len(entries) == 9
    assert {entry["actor"] for entry in entries} == {"the operator"}
    assert [entry["action"] for entry in shell.json(f"audit --limit 1 --subject {key['key_id']}")] == [
        "key.revoke"
    ]
    everything = json.dumps([entries, shell.json("keys list --revoked"), changed])
    assert key["token"].partition(".")[2] not in everything


def test_text_output_has_one_line_per_field_and_the_token_once(shell: Shell) -> None:
    shell("accounts create --email a@example.org")
    code, out, err = shell("keys issue --account a@example.org --name first")
    assert code == 0
    assert "ceiling" not in err, "all requested grants were given"
    *rows, token = out.strip().splitlines()
    key_id = dict(row.split("\t") for row in rows)["key_id"]
    assert token.startswith(f"ar_live_{key_id}.")
    assert "never again" in err
    for line in ("keys list", f"keys show {key_id}", "audit"):
        code, out, _ = shell(line)
        assert code == 0
        assert key_id in out
        assert token.partition(".")[2] not in out
    assert ",".join(META_IDS) in shell("keys list")[1]
    assert "a@example.org" in shell("accounts list")[1]


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("accounts create --email nobody", "name@example.org"),
        ("keys issue --account x@y.org --name k", "accounts create"),
        ("keys suspend 0000000000000000", "keys list"),
        ("accounts set x@y.org --no-admin", "accounts list"),
    ],
)
def test_a_refused_command_prints_one_line_and_exits_with_its_code(shell: Shell, line: str, fix: str) -> None:
    code, out, err = shell(line)
    assert (code, out) == (2, "")
    assert fix in err
    assert len(err.strip().splitlines()) == 1
    line_for_people = err.strip()
    code, out, err = shell(line, "--json")
    assert (code, err) == (2, "")
    error = json.loads(out)
    assert (error["error"], error["exit_code"], error["retryable"]) == ("AccessError", 2, False)
    assert f"error: {error['message']}" == line_for_people


def test_a_usage_error_is_json_too(shell: Shell) -> None:
    code, out, err = shell("keys issue --name k", "--json")
    assert code == 2
    error = json.loads(out)
    assert (error["error"], error["exit_code"]) == ("SettingsError", 2)
    assert "--account" in error["message"]
    assert "--account" in err


def test_a_grant_beyond_the_ceiling_is_reported(shell: Shell) -> None:
    shell("accounts create --email a@example.org --ceiling-endpoints meta.me")
    code, out, err = shell("keys issue --account a@example.org --name k --endpoints all", "--json")
    assert code == 0
    assert json.loads(out)["allow"]["endpoints"] == {"mode": "list", "ids": ["meta.me"]}
    assert "ceiling" in err


def test_the_schema_revision_is_shown_and_upgraded(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shell.json("access show")["revision"] is None
    assert shell("access upgrade")[0] == 0
    shown = shell.json("access show")
    assert shown["revision"] == shown["head"]
    assert "@" not in shown["store"]
    monkeypatch.delenv("ALPHA_RESULTS_DATASETS", raising=False)
    with pytest.raises(SystemExit) as left:
        serve(["keys", "list"])
    assert left.value.code == 2


COMMANDS = {
    "accounts": ("activate", "create", "deactivate", "list", "set", "show"),
    "keys": ("issue", "list", "reactivate", "revoke", "set", "show", "suspend"),
    "access": ("show", "upgrade"),
    "audit": (),
}


@pytest.mark.parametrize(
    "line", [f"{group} {name}" for group, names in COMMANDS.items() for name in ("", *names)]
)
def test_every_command_has_help(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        serve([*line.split(), "--help"], prog_name="alpha-results serve")
    assert not left.value.code
    out = capsys.readouterr().out
    assert f"Usage: alpha-results serve {line}".strip() in out
    if len(line.split()) == 1:
        assert [name for name in COMMANDS[line.strip()] if f"\n  {name} " not in out] == []
    else:
        assert "--datasets" in out
