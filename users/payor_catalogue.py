"""Payors that every team finds: the large ones of the United States, from `users/data/payors.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import Any, Final

from users.addresses import PostalAddress, us_state_problem, zip_problem
from users.constants import PayorProvider, PayorSource
from users.words import words_of

_FILE: Final = "payors.toml"


@dataclass(frozen=True, slots=True)
class PayorInfo:
    """A payor as callers see it. `provider_ids`: what clearing houses call it."""

    code: str
    name: str
    aliases: tuple[str, ...]
    address: PostalAddress
    source: PayorSource
    provider_ids: Mapping[PayorProvider, str]

    def is_called(self, words: list[str]) -> bool:
        """Whether one name or alias has, for each of the words, one that begins with it."""
        return any(_has_words(_words(name), words) for name in (self.name, *self.aliases))

    def begins(self, words: list[str]) -> bool:
        """Whether the name begins with the first of the words."""
        return bool(words) and _words(self.name)[0].startswith(words[0])


@lru_cache(maxsize=1)
def platform_payors() -> Mapping[str, PayorInfo]:
    """The payors of the file by code, in the order of their names. ValueError names the payor that can't be read."""
    text = resources.files("users.data").joinpath(_FILE).read_text(encoding="utf-8")
    document = tomllib.loads(text)
    payors = sorted((_read(code, entry) for code, entry in document.items()), key=lambda payor: payor.name.casefold())
    return {payor.code: payor for payor in payors}


@cache
def _words(name: str) -> tuple[str, ...]:
    """The words of a name of the file."""
    return tuple(words_of(name))


def _has_words(has: tuple[str, ...], words: list[str]) -> bool:
    return all(any(word.startswith(beginning) for word in has) for beginning in words)


def _read(code: str, entry: Mapping[str, Any]) -> PayorInfo:
    try:
        return PayorInfo(
            code=code,
            name=entry["name"],
            aliases=tuple(entry.get("aliases", ())),
            address=_address(entry["address"]),
            source=PayorSource.PLATFORM,
            provider_ids={PayorProvider(name): text for name, text in entry.get("provider_ids", {}).items()},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{_FILE}: {code}: {error}") from error


def _address(parts: list[str]) -> PostalAddress:
    first_line, city, state, zip_code = parts
    problem = us_state_problem(state) or zip_problem(zip_code)
    if problem:
        raise ValueError(problem)
    return PostalAddress(first_line=first_line, second_line="", city=city, state=state, zip=zip_code)
