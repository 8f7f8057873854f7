"""What is kept of an endpoint's answer: its beginning, scrubbed of what looks personal or secret."""

import re
from typing import Final

from webhooks.constants import EXCERPT_CHARACTERS

_CONTROL: Final = re.compile(r"[^\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd]+")
_SCRUBBED: Final = (
    (re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+"), "[address]"),
    (re.compile(r"[A-Za-z0-9+/_=-]{20,}"), "[token]"),  # ids, keys, tokens, encoded bodies
    (re.compile(r"\d[\d.,:\-]{2,}"), "[number]"),  # values, dates, telephone numbers
)


def answer_excerpt(body: bytes) -> str | None:
    """The scrubbed beginning of a failed answer; None for an empty one."""
    text = _CONTROL.sub(" ", body.decode(errors="replace")).strip()
    for pattern, word in _SCRUBBED:
        text = pattern.sub(word, text)
    return text[:EXCERPT_CHARACTERS] or None
