"""Reading changes by cursor: no change is lost across clocks and nodes, and few are repeated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.publication.history import Change
from serve.pages.changes import START, ChangeLog, Cursor, Entry, make_entry

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def change(second: float, alpha: str) -> Entry:
    return make_entry(Change(NOW + timedelta(seconds=second), "published", alpha, "0" * 20, None))


def log(entries: list[Entry]) -> ChangeLog:
    return ChangeLog(sorted(entries, key=lambda entry: entry[:2]))


def everyone(_: str) -> bool:
    return True


def read_on(seen: ChangeLog, cursor: Cursor, limit: int) -> tuple[list[Change], Cursor]:
    """Read until no changes are left."""
    results: list[Change] = []
    while True:
        part = seen.after(cursor, limit, 0)
        results += part.changes
        cursor = part.next
        if not part.changes:
            return results, cursor


@given(
    moments=st.lists(st.integers(0, 4000), min_size=1, max_size=25),
    lateness=st.lists(st.integers(0, 3590), min_size=25, max_size=25),
    lag=st.integers(0, 3),
    limit=st.integers(1, 7),
)
@settings(max_examples=150, deadline=None)
def test_no_late_change_is_lost_whichever_node_answers(
    moments: list[int], lateness: list[int], lag: int, limit: int
) -> None:
    """Changes become known up to an hour late, and on a second node later still."""
    entries = [change(second, f"Test_{n}") for n, second in enumerate(moments)]
    arrivals = [entries[n] for n in sorted(range(len(entries)), key=lambda n: moments[n] + lateness[n])]
    reported: list[Change] = []
    cursor = START
    for count in range(1, len(arrivals) + 1):
        nodes = log(arrivals[:count]), log(arrivals[: max(0, count - lag)])
        actual, cursor = read_on(nodes[count % 2], cursor, limit)
        reported += actual
    reported += read_on(log(arrivals), cursor, limit)[0]
    assert {entry.change for entry in entries} == set(reported)


@given(moments=st.lists(st.integers(0, 9000), min_size=1, max_size=25), limit=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_changes_in_order_are_listed_once(moments: list[int], limit: int) -> None:
    entries = [change(second, f"Test_{n}") for n, second in enumerate(sorted(moments))]
    entries.sort(key=lambda entry: entry[:2])
    reported: list[Change] = []
    cursor = START
    for count in range(len(entries) + 1):
        actual, cursor = read_on(log(entries[:count]), cursor, limit)
        reported += actual
    assert reported == [entry.change for entry in entries]


def test_only_the_changes_around_a_late_one_are_listed_again() -> None:
    old, recent = (
        [change(n, f"Test_{n}") for n in range(100)],
        [change(3000 + n, f"Test_n{n}") for n in range(5)],
    )
    _, cursor = read_on(log(old + recent), START, 100)
    late = change(3000.5, "Test_late")
    actual, _ = read_on(log([*old, *recent, late]), cursor, 100)
    assert late.change in actual
    assert not {entry.change for entry in old} & set(actual)


def test_a_rows_cursor_continues_after_it() -> None:
    entries = [change(n * 40, f"Test_{n}") for n in range(20)]
    full = log(entries).after(START, 100, 0)
    for place, cursor in enumerate(full.cursors):
        assert log(entries).after(cursor, 100, 0).changes == full.changes[place + 1 :]
        assert Cursor.decode(cursor.encode()) == cursor


def test_a_change_dated_in_the_future_is_listed_when_its_time_comes() -> None:
    entries = [change(0, "Test_a"), change(600, "Test_fast")]
    assert [x.alpha_id for x in log(entries).readable(NOW, everyone).after(START, 9, 0).changes] == ["Test_a"]
    later = log(entries).readable(NOW + timedelta(seconds=601), everyone)
    assert [x.alpha_id for x in later.after(START, 9, 0).changes] == ["Test_a", "Test_fast"]
