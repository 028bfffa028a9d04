"""Allow-lists, and how a ceiling clamps them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

from schemas.endpoints import META_IDS


class Mode(StrEnum):
    """How an allow-list decides."""

    ALL = "all"
    LIST = "list"
    PREFIX = "prefix"


LISTS: Final = ("endpoints", "alphas", "runs")
"""The lists of a key, and of its account as ceilings."""
_FIELD: Final = {Mode.LIST: "ids", Mode.PREFIX: "prefixes"}


@dataclass(frozen=True)
class AllowList:
    """A set of names: all, those listed, or those that start with one of several prefixes.

    Attributes
    ----------
    mode
        How `values` are read.
    values
        The ids or the prefixes, in the order they were granted; empty with mode `all`. An empty list of
        the other modes allows nothing.
    """

    mode: Mode
    values: tuple[str, ...] = ()

    @cached_property
    def _members(self) -> frozenset[str]:
        return frozenset(self.values)

    @property
    def is_all(self) -> bool:
        """Whether it allows every name."""
        return self.mode is Mode.ALL

    def allows(self, name: str) -> bool:
        """Whether `name` is in the set; letter case counts."""
        if self.mode is Mode.ALL:
            return True
        if self.mode is Mode.LIST:
            return name in self._members
        return name.startswith(self.values)

    def intersection(self, other: AllowList) -> AllowList:
        """Return the list that allows exactly the names that both allow; ids keep the order of this list."""
        if other.mode is Mode.ALL:
            return self
        if self.mode is Mode.ALL:
            return other
        if self.mode is Mode.LIST:
            return AllowList(Mode.LIST, tuple(x for x in self.values if other.allows(x)))
        if other.mode is Mode.LIST:
            return AllowList(Mode.LIST, tuple(x for x in other.values if self.allows(x)))
        longer = [a if a.startswith(b) else b for a in self.values for b in other.values if _nested(a, b)]
        return AllowList(Mode.PREFIX, tuple(dict.fromkeys(longer)))

    def without(self, names: tuple[str, ...]) -> AllowList:
        """Return the list without some ids; lists of other modes are returned unchanged."""
        if self.mode is not Mode.LIST or self._members.isdisjoint(names):
            return self
        return AllowList(Mode.LIST, tuple(x for x in self.values if x not in names))

    def to_json(self) -> dict[str, Any]:
        """Return the object of the API, ``{mode, ids | prefixes}``."""
        if self.mode is Mode.ALL:
            return {"mode": self.mode.value}
        return {"mode": self.mode.value, _FIELD[self.mode]: list(self.values)}

    def dumps(self) -> str:
        """Return `to_json` as compact JSON text, as it is stored."""
        return json.dumps(self.to_json(), separators=(",", ":"))

    @classmethod
    def loads(cls, text: str) -> AllowList:
        """Read the text of `dumps`; raises ValueError or KeyError for a damaged store."""
        body = json.loads(text)
        mode = Mode(body["mode"])
        return cls(mode, () if mode is Mode.ALL else tuple(body[_FIELD[mode]]))


def _nested(a: str, b: str) -> bool:
    return a.startswith(b) or b.startswith(a)


def clamp(granted: str, ceiling: str) -> AllowList:
    """Return the list in force from the stored texts of a key's list and of its account's ceiling."""
    return AllowList.loads(granted).intersection(AllowList.loads(ceiling))


ALL: Final = AllowList(Mode.ALL)
"""Every name."""
DEFAULT_CEILING: Final = AllowList(Mode.LIST, META_IDS)
"""Default ceiling of an account's endpoints, and so the default endpoints of its keys."""
DEFAULT_ALPHAS: Final = AllowList(Mode.PREFIX, ("Test_",))
"""Default alphas and runs of a key: the test alphas."""
