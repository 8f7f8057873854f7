"""The rule that labs impose on patients' names, and what to change in a name that breaks it."""

import re
from typing import Final

NAME_MAXIMUM_CHARACTERS: Final = 50

#: A letter or digit first; words of letters, digits and - . , ' with one space between; no accents. Full match only:
#: what labs print on tubes and send in HL7 has to come back the same. Linear: a space always begins a new word.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9\-.,']*(?: [A-Za-z0-9\-.,']+)*")
_FIRST = re.compile(r"[A-Za-z0-9]")
_WHITE_SPACE_BUT_SPACE = re.compile(r"[^\S ]")
_OUTSIDE = re.compile(r"[^A-Za-z0-9\-.,' ]")


def patient_name_problem(text: str) -> str | None:
    """What to change in `text` so that labs take it as a first or last name; None where nothing is wrong.

    The sentence never repeats the name. White space around a name is for the caller to take off.
    """
    if _NAME.fullmatch(text) and len(text) <= NAME_MAXIMUM_CHARACTERS:
        return None
    if not text:
        return "Must not be empty."
    if len(text) > NAME_MAXIMUM_CHARACTERS:
        return f"At most {NAME_MAXIMUM_CHARACTERS} characters: shorten it."
    if _WHITE_SPACE_BUT_SPACE.search(text):
        return "Put a plain space in the place of every tab, line break and other white space."
    if _OUTSIDE.search(text):
        return (
            "Only letters without accents (A-Z, a-z), digits, spaces and - . , ' may be used: write é as e, a curved"
            " apostrophe as a straight one, and leave out every other character."
        )
    if not _FIRST.match(text):
        return "Must begin with a letter (A-Z, a-z) or a digit: leave out what stands before it."
    return "Only one space may stand between words, and none at the end: leave out the others."
