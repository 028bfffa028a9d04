from __future__ import annotations

import re
from pathlib import Path

import pytest

from schemas.errors import SettingsError
from serve.auth.settings import AccessSettings, StoreLocation

ROOT = Path("/srv/published")


def test_default_files_lie_beside_the_root_not_in_it() -> None:
    result = AccessSettings.from_environment({}, ROOT)
    assert result.location.path == Path("/srv/published.access.sqlite3")
    assert result.limits_state == Path("/srv/published.limits.sqlite3")
    assert (result.redis, result.key_prefix, result.environment) == (None, "ar", "live")
    assert (result.pepper, result.trusted_hops, result.workers) == ((), 0, 1)


def test_flags_override_the_environment() -> None:
    env = {
        "ALPHA_RESULTS_ACCESS": "postgresql://someone:word@db.example.org/access",
        "ALPHA_RESULTS_LIMITS_STATE": "/var/limits",
        "ALPHA_RESULTS_REDIS": "redis://cache",
        "ALPHA_RESULTS_KEY_PREFIX": "zz",
        "ALPHA_RESULTS_ENVIRONMENT": "test",
        "ALPHA_RESULTS_PEPPER": "the newer pepper, the older pepper",
        "ALPHA_RESULTS_TRUSTED_HOPS": "2",
        "ALPHA_RESULTS_WORKERS": "4",
    }
    result = AccessSettings.from_environment(env, ROOT, {"workers": 3, "redis": None})
    assert result.location.dsn == "postgresql://someone:word@db.example.org/access"
    assert (result.limits_state, result.redis) == (Path("/var/limits"), "redis://cache")
    assert (result.key_prefix, result.environment) == ("zz", "test")
    assert result.pepper == (b"the newer pepper", b"the older pepper")
    assert (result.trusted_hops, result.workers) == (2, 3)


def test_settings_do_not_show_secrets() -> None:
    result = AccessSettings(
        "postgresql://someone:pa55word@db.example.org/access",
        redis="redis://:pa55word@cache",
        pepper=(b"pa55word pa55word",),
    )
    assert "pa55word" not in repr(result)
    assert "pa55word" not in result.location.shown
    assert "pa55word" not in repr(result.location)
    assert result.location.shown == "postgresql on db.example.org:5432, database access"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/a/b.sqlite3", "/a/b.sqlite3"),
        ("sqlite:////a/b.sqlite3", "/a/b.sqlite3"),
        ("sqlite:///b.sqlite3", str(Path("b.sqlite3").absolute())),
    ],
)
def test_a_file_is_named_by_path_or_url(text: str, path: str) -> None:
    assert StoreLocation.parse(text).path == Path(path)


def test_a_path_below_an_unknown_home_directory_stays_as_it_is() -> None:
    path = "~no_such_user/x"
    here = Path.cwd() / path
    assert StoreLocation.parse(path).path == here
    assert AccessSettings.from_environment({}, path).location.path == Path(f"{here}.access.sqlite3")


@pytest.mark.parametrize(
    ("env", "fix"),
    [
        ({"ALPHA_RESULTS_ACCESS": "mysql://x/y"}, "postgresql://"),
        ({"ALPHA_RESULTS_ACCESS": "sqlite:///:memory:"}, "needs a file"),
        ({"ALPHA_RESULTS_ACCESS": "postgresql://u:pass[word@db/access"}, "brackets percent-encoded"),
        ({"ALPHA_RESULTS_ACCESS": "/srv/published/keys.sqlite3"}, "outside"),
        ({"ALPHA_RESULTS_KEY_PREFIX": "a_b"}, "ALPHA_RESULTS_KEY_PREFIX"),
        ({"ALPHA_RESULTS_ENVIRONMENT": "Live"}, "lower-case"),
        ({"ALPHA_RESULTS_PEPPER": "short"}, "32 random bytes"),
        ({"ALPHA_RESULTS_TRUSTED_HOPS": "-1"}, "whole number"),
        ({"ALPHA_RESULTS_TRUSTED_HOPS": "99"}, "between 0 and 16"),
        ({"ALPHA_RESULTS_WORKERS": "0"}, "between 1 and 256"),
        ({"ALPHA_RESULTS_REDIS": "localhost:6379"}, "redis://"),
        ({"ALPHA_RESULTS_REDIS": "redis://cache:6379/counts"}, "its database must be a number"),
    ],
)
def test_an_invalid_value_is_refused_with_the_fix(env: dict[str, str], fix: str) -> None:
    with pytest.raises(SettingsError, match=fix):
        AccessSettings.from_environment(env, ROOT)


@pytest.mark.parametrize("password", ["ab/cd", "12#34", "12?34", "1/2@3"])
def test_a_password_that_was_not_percent_encoded_is_never_shown(password: str) -> None:
    for variable, address in (
        ("ALPHA_RESULTS_ACCESS", f"postgresql://u:{password}@db.example:5432/access"),
        ("ALPHA_RESULTS_REDIS", f"redis://:{password}@cache.example:6379/0"),
    ):
        with pytest.raises(SettingsError, match="percent-encode") as refused:
            AccessSettings.from_environment({variable: address}, ROOT)
        assert not [part for part in re.split(r"\W", password) if part in str(refused.value)]


def test_a_remote_root_needs_an_explicit_store() -> None:
    with pytest.raises(SettingsError, match="ALPHA_RESULTS_ACCESS"):
        AccessSettings.from_environment({}, "s3://bucket/published")
    named = AccessSettings.from_environment({"ALPHA_RESULTS_ACCESS": "/a/keys"}, "s3://bucket/published")
    assert named.limits_state == Path("/a/keys.limits")


def test_several_workers_need_redis() -> None:
    several = AccessSettings("/a/keys", limits_state=Path("/a/limits"), workers=2)
    with pytest.raises(SettingsError, match=r"ALPHA_RESULTS_REDIS=redis://.* or run one worker"):
        several.require_serving()
    AccessSettings("/a/keys", redis="redis://cache", workers=2).require_serving()
    AccessSettings("/a/keys", limits_state=Path("/a/limits")).require_serving()
    with pytest.raises(SettingsError, match="ALPHA_RESULTS_LIMITS_STATE"):
        AccessSettings("postgresql://db/access").require_serving()
