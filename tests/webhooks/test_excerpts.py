"""What is kept of answers, which are strangers': short, scrubbed, and cheap to make whatever they hold."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.constants import ANSWER_READ_BYTES, EXCERPT_CHARACTERS, EXCERPT_SOURCE_CHARACTERS
from webhooks.excerpts import answer_excerpt

TOKEN = re.compile(r"[A-Za-z0-9+/_=-]{20}")
NUMBER = re.compile(r"\d[ .,:/()-]{0,2}\d")
ADDRESS = re.compile(r"[\w]@[\w-]+\.\w")
ALPHABETS = ("a.@-", "aA0_-=", "0.,:- ", "a@. \x00", "\u00e9@.0 ")
TEXTS = st.one_of([st.text(alphabet, max_size=ANSWER_READ_BYTES) for alphabet in ALPHABETS])


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (b"  \x00", None),
        (b"", None),
        (b"No ada@example.com, hr 118 on 2026-11-21", "No [address], hr [number] on [number]"),
        (b"a@b.c+d@e.f <x.y+z@localhost>", "[address] <[address]>"),
        (b"@media ok @ at. x@", "@media ok @ at. x@"),
        (b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\xff", "[token]\ufffd"),
        (b"a" * ANSWER_READ_BYTES, "[cut]"),
        (b"x1 " * 400, ("x1 " * 400)[:EXCERPT_CHARACTERS]),
        (b"98 mg, +49 30 12 34 56, 5.4", "[number] mg, +[number]"),
        (b"jane%40x.org said secret=hunter2pw", "[address] said secret=[secret]"),
        (b'{"api_key": "abc", "code": 7}', '{"api_key=[secret]", "code": 7}'),
    ],
)
def test_what_is_kept(body: bytes, kept: str | None) -> None:
    assert answer_excerpt(body) == kept


@pytest.mark.parametrize(
    "secret", [b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b"ada.lovelace@example.com", b"118.25.7.1"]
)
def test_what_is_cut_in_its_middle_is_not_kept(secret: bytes) -> None:
    """At the edge of what is looked at, which long tokens before it bring into what is kept."""
    long_token = b"t" * 300 + b" "
    for kept_bytes in range(1, len(secret)):
        begin = long_token + b"u" * (EXCERPT_SOURCE_CHARACTERS - len(long_token) - kept_bytes - 1) + b" "
        assert answer_excerpt(begin + secret + b" " * 500) == "[token] [token] [cut]"


@given(TEXTS, st.booleans())
def test_nothing_that_looks_like_a_secret_is_left(text: str, packed: bool) -> None:
    body = text.encode()[:ANSWER_READ_BYTES]
    found = answer_excerpt(body * 3 if packed else body) or ""
    assert len(found) <= EXCERPT_CHARACTERS
    assert [pattern.search(found) for pattern in (TOKEN, NUMBER, ADDRESS)] == [None, None, None]


@given(TEXTS, TEXTS)
def test_what_comes_later_is_never_looked_at(text: str, rest: str) -> None:
    begin = (text + " " * EXCERPT_SOURCE_CHARACTERS)[:EXCERPT_SOURCE_CHARACTERS]
    assert answer_excerpt(f"{begin}{rest}.".encode()) == answer_excerpt(f"{begin}.".encode())
