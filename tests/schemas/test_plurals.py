"""Numbers with their nouns."""

import pytest

from schemas.plurals import counted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (counted(0, "week"), "0 weeks"),
        (counted(1, "week"), "1 week"),
        (counted(2, "week"), "2 weeks"),
        (counted(1, "week has", "weeks have"), "1 week has"),
        (counted(3, "week has", "weeks have"), "3 weeks have"),
    ],
)
def test_a_noun_and_its_verb_agree_with_the_number(text: str, expected: str) -> None:
    assert text == expected
