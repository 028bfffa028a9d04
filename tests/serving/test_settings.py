from __future__ import annotations

import pytest

from schemas.errors import SettingsError
from serve.settings import resolve, variables


def test_flags_win_over_variables_and_variables_over_defaults() -> None:
    env = {"ALPHA_RESULTS_DATASETS": "/a", "ALPHA_RESULTS_PORT": "9000", "ALPHA_RESULTS_HOST": ""}
    result = resolve(env, {"port": "9001", "workers": None})
    assert (result.datasets, result.port, result.workers, result.host) == ("/a", 9001, 1, "127.0.0.1")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "-1"),
        ("PORT", "65536"),
        ("PORT", "x"),
        ("WORKERS", "0"),
        ("THREADS", "1.5"),
        ("REFRESH_SECONDS", "nan"),
        ("REFRESH_SECONDS", "0.01"),
        ("LOG_LEVEL", "loud"),
        ("LOG_FORMAT", "xml"),
        ("HOST", "  "),
    ],
)
def test_an_invalid_value_is_refused_with_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"ALPHA_RESULTS_{name}"):
        resolve({"ALPHA_RESULTS_DATASETS": "/a", f"ALPHA_RESULTS_{name}": value})


def test_workers_resolve_the_same_settings_as_their_parent() -> None:
    result = resolve({}, {"datasets": "/a b", "port": "1", "refresh_seconds": "0.5", "build": "7"})
    assert resolve(variables(result)) == result


def test_workers_do_not_inherit_a_variable_that_a_flag_of_their_parent_emptied() -> None:
    environment = {"ALPHA_RESULTS_DATASETS": "/a", "ALPHA_RESULTS_CACHE": "/copies"}
    result = resolve(environment, {"cache": ""})
    assert result.cache is None
    assert resolve({**environment, **variables(result)}) == result
