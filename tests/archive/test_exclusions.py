from __future__ import annotations

import pytest

from pipeline.archive.exclusions import DEFAULT_EXCLUDE, exclusions, is_excluded
from schemas.errors import SettingsError


@pytest.mark.parametrize(
    "path",
    [
        ".env", "src/.git/config", ".ipynb_checkpoints/a-checkpoint.ipynb", "lib/__pycache__/a.cpython-311.pyc",
        "a.pyc", "keys/server.pem", "SERVER.PEM", "tls.key", "id_rsa", "ssh/id_rsa.pub", "deploy/id_ed25519",
        "prod.env", "notebooks/run-checkpoint.ipynb", "secrets.toml", "x/Secrets.yaml", ".aws/credentials",
        "store.p12", "alpha.egg-info/PKG-INFO", "draft.py~", ".DS_Store",
    ],
)  # fmt: skip
def test_private_files_and_caches_are_excluded(path: str) -> None:
    assert is_excluded(path, DEFAULT_EXCLUDE)


@pytest.mark.parametrize(
    "path",
    ["run.py", "src/alpha/signal.py", "README.md", "params/keys.json", "keyboard.py", "a.b/c.d.py", "env.py",
     "secretsanta.py", "monkey.txt", "notebooks/run.ipynb", "pem.py"],
)  # fmt: skip
def test_source_files_are_included(path: str) -> None:
    assert not is_excluded(path, DEFAULT_EXCLUDE)


def test_the_setting_replaces_the_patterns_or_adds_to_them() -> None:
    assert exclusions(None) == exclusions("  ") == DEFAULT_EXCLUDE
    assert exclusions("*.CSV, tmp ,tmp") == ("*.csv", "tmp")
    assert exclusions("+*.csv") == (*DEFAULT_EXCLUDE, "*.csv")
    assert exclusions("+") == DEFAULT_EXCLUDE


@pytest.mark.parametrize("text", [",", " , "])
def test_separators_without_a_pattern_do_not_include_private_files(text: str) -> None:
    with pytest.raises(SettingsError, match=r"ALPHA_RESULTS_ARCHIVE_EXCLUDE: .* holds no pattern"):
        exclusions(text)


def test_a_pattern_with_a_slash_is_refused() -> None:
    with pytest.raises(SettingsError, match="'data/private' holds a slash"):
        exclusions("*.csv,data/private")
