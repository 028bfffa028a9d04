"""What is said of a `symbol` that the run never had: it is more often misspelt than meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from serve.http.context import Context
from serve.http.envelope import warning

_TOLD: Final = 10
"""Names told one by one."""


def warnings_of_symbols(context: Context) -> tuple[Mapping[str, Any], ...]:
    """Return the warning that names the symbols asked for which the run does not know, if there are any.

    Raises
    ------
    CacheMiss, SnapshotCorrupt
        As :meth:`serve.cache.symbols.RunSymbols.known`.
    """
    asked = context.values["symbol"]
    if asked is None:
        return ()
    known = context.service.symbols.known(context.snapshot, asked, raw=context.raw, at_once=context.hurried)
    unknown = [name for name in asked if name not in known]
    if not unknown:
        return ()
    spelled = {name.casefold(): name for name in known}
    told = [_told(name, spelled.get(name.casefold())) for name in unknown[:_TOLD]]
    more = [f"{len(unknown) - _TOLD} more"] if len(unknown) > _TOLD else []
    return (warning("unknown_symbol", f"The run never scored or traded {', '.join([*told, *more])}."),)


def _told(name: str, spelled: str | None) -> str:
    return name if spelled is None else f"{name} (did you mean {spelled}?)"
