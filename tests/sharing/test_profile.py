"""`keys issue --profile`: profiles for clients of Delta Sharing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from serve.cli.group import serve
from tests.support.small_disk import small_disk

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def invoke(*arguments: str) -> tuple[int, str]:
        store = f"sqlite:///{tmp_path}/access.sqlite3"
        result = CliRunner().invoke(serve, [*arguments, "--access", store])
        return result.exit_code, result.output

    assert invoke("accounts", "create", "--email", "a@example.org")[0] == 0
    return invoke


def issue(*more: str) -> list[str]:
    return ["keys", "issue", "--account", "a@example.org", "--name", "notebook", *more]


def test_a_profile_has_address_key_and_expiry(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "profile.share"
    flags = [
        "--profile",
        str(path),
        "--url",
        "https://alphas.example.org/",
        "--expires",
        "2099-01-01",
        "--json",
    ]
    code, output = run(*issue(*flags))
    assert code == 0, output
    profile = json.loads(path.read_text())
    assert profile == {
        "shareCredentialsVersion": 1,
        "endpoint": "https://alphas.example.org/delta-sharing",
        "bearerToken": json.loads(output)["token"],
        "expirationTime": json.loads(output)["expires_at"],
    }
    assert path.stat().st_mode & 0o777 == 0o600


def test_no_key_is_issued_where_the_profile_cannot_be_written(run: Run, tmp_path: Path) -> None:
    there = tmp_path / "there.share"
    there.write_text("mine")
    for flags, word in [
        (["--profile", str(there), "--url", "https://x.example.org"], "name a new file"),
        (["--profile", str(tmp_path / "new.share")], "--url"),
        (
            ["--profile", str(tmp_path / "no/such/new.share"), "--url", "https://x.example.org"],
            "No such file",
        ),
    ]:
        code, output = run(*issue(*flags))
        assert code == 2
        assert word in output
    assert there.read_text() == "mine"
    assert json.loads(run("keys", "list", "--json")[1]) == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("alphas.example.org", "'alphas.example.org'"),
        ("ftp://alphas.example.org", "'ftp://alphas.example.org'"),
        ("https://me:hunter2@alphas.example.org", "alphas.example.org"),  # pragma: allowlist secret
        ("https://alphas.example.org?key=x", "alphas.example.org"),
    ],
)
def test_an_address_that_no_client_could_use_is_refused_and_no_key_is_issued(
    run: Run, tmp_path: Path, url: str, shown: str
) -> None:
    path = tmp_path / "profile.share"
    code, output = run(*issue("--profile", str(path), "--url", url))
    assert code == 2, output
    assert output.startswith("error: --url or ALPHA_RESULTS_PUBLIC_URL is ")
    assert shown in output
    assert "write https://host or https://host/prefix, without user name" in output
    assert "hunter2" not in output
    assert not path.exists()
    assert json.loads(run("keys", "list", "--json")[1]) == []


def test_a_refused_key_leaves_no_profile(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "profile.share"
    code, output = run(
        *issue("--profile", str(path), "--url", "https://x.example.org", "--expires", "2020-01-01")
    )
    assert code == 2, output
    assert not path.exists()


def test_a_token_is_shown_even_if_the_disk_is_too_full_for_its_profile(run: Run, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, disk.full():
        path = disk.folder / "profile.share"
        code, output = run(*issue("--profile", str(path), "--url", "https://x.example.org"))
        assert code == 5, output
        assert f"{path} cannot be written: No space left on device. The key is issued" in output
        assert not path.exists()
    [key] = json.loads(run("keys", "list", "--json")[1])
    assert f"ar_live_{key['key_id']}." in output
