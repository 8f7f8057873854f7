"""What is kept of an endpoint's answer: its beginning, scrubbed of what looks personal or secret."""

import re
from typing import Final

from webhooks.constants import EXCERPT_CHARACTERS, EXCERPT_SOURCE_CHARACTERS

# Answers are strangers': every pattern is linear in its text, taking each run of its characters once and whole.
_CONTROL: Final = re.compile(r"[^\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd]++")
_ADDRESS_RUN: Final = re.compile(r"[\w.+@%-]++")
#: `secret=…`, `"token": "…"`: whatever stands behind such a word.
_NAMED_SECRET: Final = re.compile(
    r"(?i)(secret|token|passw(?:or)?d|api_?key|authorization|cookie)[\"' ]{0,3}[=:][\"' ]{0,3}[^\s\"',;&]++"
)
_SCRUBBED: Final = (
    (re.compile(r"[A-Za-z0-9+/_=-]{20,}+"), "[token]"),  # ids, keys, tokens, encoded bodies
    (re.compile(r"\d(?:[ .,:/()-]{0,2}\d)++"), "[number]"),  # values, dates, telephone numbers
)
#: What any of these may be made of; matched backwards, from where a text was cut.
_CUT_RUN: Final = re.compile(r"[\w.,:+@/=-]*+")
_CUT: Final = "[cut]"


def answer_excerpt(body: bytes) -> str | None:
    """The scrubbed beginning of a failed answer; None for an empty one.

    Only so much is looked at that what is kept is filled by most answers; a word that is cut there is left out, since
    what is left of it would not look like what it is.
    """
    text = body.decode(errors="replace")
    is_cut = len(text) > EXCERPT_SOURCE_CHARACTERS
    text = _CONTROL.sub(" ", text[:EXCERPT_SOURCE_CHARACTERS])
    if is_cut:
        text = text[: len(text) - _cut_characters(text)] + _CUT
    text = _NAMED_SECRET.sub(r"\1=[secret]", text.strip())
    text = _ADDRESS_RUN.sub(_without_address, text)
    for pattern, word in _SCRUBBED:
        text = pattern.sub(word, text)
    return text[:EXCERPT_CHARACTERS] or None


def _cut_characters(text: str) -> int:
    """The length of the word at the end."""
    found = _CUT_RUN.match(text[::-1])
    return found.end() if found else 0


def _without_address(run: re.Match[str]) -> str:
    found = run[0]
    return "[address]" if "@" in found.strip(".+@-") or "%40" in found else found
