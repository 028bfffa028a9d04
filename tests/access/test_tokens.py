from __future__ import annotations

import base64
import hmac
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.auth.tokens import NO_PEPPER, Digests, Token, TokenShape, new_token, pepper_id

SHAPE = TokenShape("ar", "live")
PEPPER = b"pepper of the tests"


def test_a_new_token_has_the_documented_shape_and_256_random_bits() -> None:
    token = new_token()
    text = SHAPE.spell(token)
    words, _, secret = text.partition(".")
    prefix, environment, key_id = words.split("_")
    assert (prefix, environment) == ("ar", "live")
    assert len(key_id) == 16
    assert set(key_id) <= set(string.digits + string.ascii_lowercase)
    assert len(secret) == 43
    assert len(base64.urlsafe_b64decode(secret + "=")) == 32
    assert SHAPE.parse(text) == token


def test_tokens_are_unique() -> None:
    made = [new_token() for _ in range(1000)]
    assert len({token.key_id for token in made}) == len({token.secret for token in made}) == 1000


GOOD = "ar_live_0123456789abcdef." + "A" * 43


@pytest.mark.parametrize(
    "text",
    [
        "",
        GOOD + "A",
        GOOD[:-1],
        GOOD + "\n",
        " " + GOOD,
        GOOD.replace(".", "_"),
        GOOD.replace("ar_", "xx_"),
        GOOD.replace("live", ""),
        GOOD.replace("live", "li_ve"),
        GOOD.replace("live", "li.ve"),
        GOOD[:-1] + "=",
        GOOD[:-1] + "é",
        GOOD.replace("0", "\u0660"),
        GOOD.replace("ar_live_", "ar_live_x"),
    ],
)
def test_other_texts_are_not_tokens(text: str) -> None:
    assert SHAPE.parse(text) is None
    assert SHAPE.parse(GOOD) is not None


@given(st.text(max_size=80))
def test_parsing_never_raises_and_accepted_tokens_round_trip(text: str) -> None:
    token = SHAPE.parse(text)
    assert token is None or not token.ours or SHAPE.spell(token) == text


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (GOOD, True),
        (GOOD.replace("live", "test"), False),
        (GOOD.replace("live", "LIVE"), False),
        (GOOD.replace("abcdef", "ABCDEF"), True),
        (GOOD.replace("abcdef", "a_c-ef"), True),
    ],
)
def test_every_environment_and_id_gives_a_valid_token(text: str, ours: bool) -> None:
    token = SHAPE.parse(text)
    assert token is not None
    assert token.ours == ours


def test_the_mask_shows_only_the_prefix_and_the_start_of_the_id() -> None:
    assert SHAPE.mask("0123456789abcdef") == "ar_live_0123"


def test_a_secret_verifies_only_against_its_own_digest() -> None:
    digests = Digests((PEPPER,))
    token, other = new_token(), new_token()
    digest, pepper_id = digests.make(token)
    assert digests.verify(token, digest, pepper_id)
    assert not digests.verify(Token(token.key_id, other.secret), digest, pepper_id)
    # A digest moved to another key's row matches neither secret.
    assert not digests.verify(Token(other.key_id, token.secret), digest, pepper_id)
    assert not digests.verify(other, digest, pepper_id)
    assert not digests.verify(token, *digests.decoy)


def test_older_keys_verify_until_their_pepper_is_removed() -> None:
    token = new_token()
    digest, pepper_id = Digests((PEPPER,)).make(token)
    rotated = Digests((b"the pepper after", PEPPER))
    assert rotated.newest != pepper_id
    assert rotated.verify(token, digest, pepper_id)
    assert not Digests((b"the pepper after",)).verify(token, digest, pepper_id)


def test_a_secret_is_digested_without_a_pepper() -> None:
    digest, pepper_id = Digests(()).make(new_token())
    assert pepper_id == NO_PEPPER
    assert len(digest) == 32


def test_a_stolen_store_alone_cannot_verify() -> None:
    token = new_token()
    digest, _ = Digests((PEPPER,)).make(token)
    assert digest != hmac.digest(b"", f"{token.key_id}.{token.secret}".encode(), "sha256")
    assert PEPPER.decode() not in pepper_id(PEPPER)


def test_a_token_hides_its_secret_when_printed() -> None:
    token = new_token()
    assert token.secret not in repr(token)
    assert token.secret not in str(token)
