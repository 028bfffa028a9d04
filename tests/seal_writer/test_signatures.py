"""With team keys, unsigned seals are refused and served runs name their team."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pipeline.group import cli
from pipeline.rules.checking import check
from pipeline.seal import Seal
from pipeline.seal.signature import MAX_ENVELOPE_BYTES, read_keys
from pipeline.snapshot_builder import build_seal
from schemas.errors import SealRefused, SettingsError
from tests.seal_writer.command import writer
from tests.support.application import running
from tests.support.pipeline_command import build
from tests.support.processes import WITHOUT_RIGHTS
from tests.support.seals import make_seal
from tests.support.small_disk import small_disk


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a signed and an unsigned seal, two keys, and a file of keys with one of them."""
    folder = tmp_path_factory.mktemp("signed")
    publics = [
        writer("make-key", str(folder / f"{name}.pem")).stdout.strip() for name in ("desk", "stranger")
    ]
    (folder / "keys.json").write_text(json.dumps({"desk A": [publics[0]], "desk B": []}))
    make_seal(folder, alpha_id="Test_plain")
    make_seal(folder, alpha_id="Test_signed")
    done = writer("sign", str(folder / "Test_signed"), "--key", str(folder / "desk.pem"))
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def fault(seal: Path, keys: Path) -> str | None:
    report = check(Seal.open(str(seal)), keys=read_keys(str(keys)))
    assert (report.sealed_by == "desk A") == (not report.violations)
    assert {violation.rule for violation in report.violations} <= {"seal.signature"}
    return report.violations[0].message if report.violations else None


def test_a_signed_seal_is_accepted_and_others_are_refused_by_rule(place: Path, tmp_path: Path) -> None:
    keys = place / "keys.json"
    assert fault(place / "Test_signed", keys) is None
    assert fault(place / "Test_plain", keys) == "it has no seal.dsse.json"
    copied = shutil.copytree(place / "Test_plain", tmp_path / "copied")
    shutil.copy(place / "Test_signed" / "seal.dsse.json", copied)
    assert fault(copied, keys) == "its seal.dsse.json belongs to another seal, of Test_signed"
    foreign = shutil.copytree(place / "Test_plain", tmp_path / "foreign")
    assert writer("sign", str(foreign), "--key", str(place / "stranger.pem")).returncode == 0
    assert fault(foreign, keys) == "none of the deployment's team keys signed it"


def changed(envelope: Any, how: str) -> bytes:
    if how == "payload":
        payload = json.loads(base64.b64decode(envelope["payload"]))
        payload["predicate"]["alpha_id"] = "Test_other"
        envelope["payload"] = base64.b64encode(json.dumps(payload).encode()).decode()
    elif how == "type":
        envelope["payloadType"] = "text/plain"
    elif how == "signature":
        envelope["signatures"][0]["sig"] = base64.b64encode(b"\0" * 64).decode()
    elif how == "none":
        envelope["signatures"] = []
    return json.dumps(envelope).encode()


@pytest.mark.parametrize("how", ["payload", "type", "signature", "none", "list", "text", "large"])
def test_a_forged_signature_does_not_count(place: Path, tmp_path: Path, how: str) -> None:
    seal = shutil.copytree(place / "Test_signed", tmp_path / "seal")
    path = seal / "seal.dsse.json"
    raw = {"list": b"[]", "text": b"\xff", "large": path.read_bytes() + b" " * MAX_ENVELOPE_BYTES}
    path.write_bytes(raw[how] if how in raw else changed(json.loads(path.read_bytes()), how))
    assert fault(seal, place / "keys.json") is not None


def test_without_team_keys_no_signature_is_required(place: Path) -> None:
    for name in ("Test_plain", "Test_signed"):
        report = check(Seal.open(str(place / name)))
        assert (report.violations, report.sealed_by) == ((), None)


def test_answers_name_the_sealing_team(place: Path, tmp_path: Path) -> None:
    keys, root = str(place / "keys.json"), tmp_path / "root"
    with pytest.raises(SealRefused, match="breaks 1 rule; nothing"):
        build_seal(str(place / "Test_plain"), root, seal_keys=keys)
    assert build_seal(str(place / "Test_signed"), root, seal_keys=keys).changed
    build_seal(str(place / "Test_plain"), root)
    with running(root) as api:
        for path in ("metrics", "equity-curve?book=long_short", "rebalances"):
            assert api.json(f"/v1/alphas/Test_signed/{path}", api.key())["meta"]["sealed_by"] == "desk A"
        assert "sealed_by" not in api.json("/v1/alphas/Test_plain/metrics", api.key())["meta"]


def test_commands_and_workers_use_the_file_of_keys(place: Path, tmp_path: Path) -> None:
    for options, code in (((), 0), (("--seal-keys", str(place / "keys.json")), 1)):
        command = ["check", *options, str(place / "Test_plain"), str(place / "Test_signed")]
        assert CliRunner().invoke(cli, command).exit_code == code
    keys = ("--seal-keys", str(place / "keys.json"))
    built = build(tmp_path / "root", "--from", str(place), "--json", *keys)
    assert built.outcomes() == {"Test_plain": "refused", "Test_signed": "built"}


def test_a_receipt_is_small_and_verifiable_with_the_keys(place: Path, tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.json"
    shutil.copy(place / "Test_signed" / "seal.dsse.json", receipt)
    assert receipt.stat().st_size <= 2048
    keys = ("--keys", str(place / "keys.json"))
    done = writer("verify", str(receipt), *keys, "--seal", str(place / "Test_signed"), "--json")
    assert json.loads(done.stdout)["team"] == "desk A"
    other = writer("verify", str(receipt), *keys, "--seal", str(place / "Test_plain"))
    assert other.returncode == 2
    assert "does not belong to" in other.stderr
    other = writer("verify", str(receipt), "--keys", str(receipt))
    assert other.stderr.startswith(f"error: --keys: {receipt} is not a file of keys")
    folder = writer("verify", str(place / "Test_signed"), *keys)
    assert folder.returncode == 2
    assert folder.stderr.endswith(
        "Test_signed cannot be read: Is a directory; a receipt is the seal.dsse.json of a seal.\n"
    )


def test_a_missing_key_is_reported_as_missing(place: Path, tmp_path: Path) -> None:
    signed = writer("sign", str(place / "Test_plain"), "--key", str(tmp_path / "no.pem"))
    assert signed.returncode == 2
    assert signed.stderr == f"error: the key {tmp_path}/no.pem cannot be read: No such file or directory.\n"


@pytest.mark.parametrize("unreadable", ["key", "seal", "receipt", "new key", "scores"])
def test_a_file_without_permission_is_no_wrong_argument(place: Path, tmp_path: Path, unreadable: str) -> None:
    seal, key, scores = tmp_path / "seal", tmp_path / "key.pem", tmp_path / "scores.csv"
    shutil.copytree(place / "Test_signed", seal)
    shutil.copy(place / "desk.pem", key)
    scores.write_text("date,symbol,score\n")
    closed, arguments = {
        "key": (key, ["sign", str(seal), "--key", str(key)]),
        "seal": (seal / "seal.json", ["sign", str(seal), "--key", str(key)]),
        "receipt": (
            seal / "seal.dsse.json",
            ["verify", str(seal / "seal.dsse.json"), "--keys", str(place / "keys.json")],
        ),
        "new key": (seal, ["make-key", str(seal / "new.pem")]),
        "scores": (scores, ["import", str(scores), str(scores), "--out", str(tmp_path / "new")]),
    }[unreadable]
    closed.chmod(0)
    try:
        command = [*WITHOUT_RIGHTS, sys.executable, "-m", "alpha_results_seal", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        closed.chmod(0o700)
    assert done.returncode == 5, done.stderr
    assert "Permission denied" in done.stderr
    assert str(closed) in done.stderr


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"a": []}', '{"a": ["AAAA"]}', '{"a": "AAAA"}', '{"a": [1]}']
)
def test_an_invalid_file_of_keys_is_refused_before_reading_seals(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.json").write_text(text)
    with pytest.raises(SettingsError, match=r"^--seal-keys: "):
        read_keys(str(tmp_path / "keys.json"))


@pytest.mark.parametrize("text", ["[]", '"a"', '{"a": "AAAA"}', '{"a": {"b": 1}}'])
def test_a_malformed_file_of_keys_is_described_without_python_terms(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.json").write_text(text)
    with pytest.raises(
        SettingsError, match=r"is not a file of keys \(it is not an object of lists\); write a JSON object"
    ):
        read_keys(str(tmp_path / "keys.json"))


def test_a_missing_file_of_keys_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"^--seal-keys: \S+ cannot be read: No such file or directory; give the file"
    ):
        read_keys(str(tmp_path / "keys.json"))


def test_a_private_key_is_private_and_never_overwritten(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    assert writer("make-key", str(key)).returncode == 0
    assert key.stat().st_mode & 0o777 == 0o600
    before = key.read_bytes()
    assert writer("make-key", str(key)).returncode == 2
    assert key.read_bytes() == before


def test_no_key_is_left_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        key = disk.folder / "key.pem"
        with disk.full():
            refused = writer("make-key", str(key))
            assert (refused.returncode, refused.stdout) == (5, "")
            assert "No space left on device" in refused.stderr
        assert writer("make-key", str(key)).returncode == 0
