"""Supply chain: installed files are pinned by hash, and containers have minimal rights."""

from __future__ import annotations

import re
import subprocess
import tomllib
from typing import Any

import yaml

from tests.support.processes import REPOSITORY

DOCKERFILE = (REPOSITORY / "deploy" / "Dockerfile").read_text("utf-8")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def test_the_image_runs_unprivileged_and_installs_packages_by_hash() -> None:
    last = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]
    assert re.search(r"^USER 10001:10001$", last, re.MULTILINE)
    after = last[last.index("\nUSER ") :]
    assert not re.search(r"^(RUN|COPY|ADD|USER root)", after.removeprefix("\nUSER 10001:10001"), re.MULTILINE)
    installs = re.findall(r"(?:pip install|uv sync|uv pip)[^\n]*", DOCKERFILE)
    assert len(installs) == 2
    for line in installs:
        assert "--require-hashes" in line or "--frozen" in line, line
    assert not re.search(r"^ADD |curl|wget|apt-get", DOCKERFILE, re.MULTILINE)


def test_the_image_has_one_base_that_can_be_pinned_by_digest() -> None:
    assert re.search(r"^ARG BASE=python:3\.11-slim-bookworm$", DOCKERFILE, re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${BASE}", "${BASE}"]


def test_the_installers_requirements_are_pinned_with_hashes() -> None:
    text = (REPOSITORY / "deploy" / "uv.txt").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert lines
    for line in lines:
        assert re.match(r"\S+==\d", line), line
        assert HASH.search(line), line


def test_every_file_in_the_lock_has_a_hash() -> None:
    lock = tomllib.loads((REPOSITORY / "uv.lock").read_text("utf-8"))
    fetched = [package for package in lock["package"] if "registry" in package["source"]]
    assert len(fetched) > 100
    for package in fetched:
        files: list[dict[str, Any]] = [*package.get("wheels", []), *filter(None, [package.get("sdist")])]
        assert files, package["name"]
        for file in files:
            assert re.fullmatch(r"sha256:[0-9a-f]{64}", file["hash"]), package["name"]
    others = [package["source"] for package in lock["package"] if "registry" not in package["source"]]
    assert all("editable" in source or "virtual" in source for source in others), others


def test_workflow_actions_are_pinned_and_read_only() -> None:
    for path in (REPOSITORY / ".github" / "workflows").glob("*.yml"):
        workflow = yaml.safe_load(path.read_text("utf-8"))
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for job in workflow["jobs"].values():
            for step in job["steps"]:
                if "uses" in step:
                    assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]), step["uses"]


def test_no_tracked_file_contains_a_key_or_pepper() -> None:
    """`just secrets` does not know the format of our keys."""
    key = re.compile(rb"[a-z0-9]+_(?:live|test)_[0-9a-z]{16}\.[0-9A-Za-z_-]{43}(?![0-9A-Za-z_-])")
    pepper = re.compile(rb"PEPPER\w*[\"']?\s*[=:]\s*[\"']?[0-9a-fA-F]{32,}")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True).stdout
    names = [name for name in listed.decode().split("\0") if name]
    assert len(names) > 500
    results = []
    for name in names:
        path = REPOSITORY / name
        data = path.read_bytes() if path.is_file() else b""
        results += [(name, match[0][:24]) for shape in (key, pepper) for match in shape.finditer(data)]
    assert not results
