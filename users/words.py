"""How names and descriptions become words that can be searched by their beginnings, and searches the same."""

import re
import unicodedata
from typing import Final

#: The character after every other: what begins with a word sorts before the word with it behind.
_LAST: Final = "\U0010ffff"
#: What a word has more is left out, in what is searched and in searches.
WORD_MAXIMUM_CHARACTERS: Final = 100

_WORD = re.compile(r"[^\W_]+")
_APOSTROPHE = re.compile(r"['’]")


def words_of(text: str) -> list[str]:
    """The words of a text, each once, in the order they come: small letters and digits, without accents.

    An apostrophe belongs to its word, so that crohns finds Crohn's; every other sign ends one.
    """
    plain = unicodedata.normalize("NFKD", _APOSTROPHE.sub("", text)).casefold()
    bare = "".join(character for character in plain if not unicodedata.combining(character))
    return list(dict.fromkeys(word[:WORD_MAXIMUM_CHARACTERS] for word in _WORD.findall(bare)))


def word_range(word: str) -> tuple[str, str]:
    """From where (included) to where (left out) words lie that begin with `word`, in the order of code points."""
    return word, word + _LAST
