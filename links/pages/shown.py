"""A provider as the pages show it, in groups and found by words."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from links import selectors
from links.catalogue import Provider, resource_words
from links.pages.sessions import APP_LOGINS, Visit

#: A list longer than this is told in groups, the providers that are asked for most first.
_GROUPED_ABOVE: Final = 12
_MOST_USED: Final = 6
#: How many of its resources a provider's line names.
_NAMED_RESOURCES: Final = 4
SEARCH_MAXIMUM_CHARACTERS: Final = 80


@dataclass(frozen=True, slots=True)
class Group:
    """Providers under one heading; no heading where there is one group only."""

    title: str
    providers: Sequence[dict[str, object]]


def provider_shown(visit: Visit, provider: Provider) -> dict[str, object]:
    """One provider's line."""
    words = resource_words()
    gives = ", ".join(words[name].title.lower() for name in list(provider.resources)[:_NAMED_RESOURCES])
    return {
        "slug": provider.slug,
        "name": provider.name,
        "logo": selectors.logo_path(provider.slug),
        "url": visit.at("link_consent", slug=provider.slug),
        "gives": provider.description or gives.capitalize(),
        "in_the_app": provider.login in APP_LOGINS,
    }


def groups_of(visit: Visit, providers: Sequence[Provider], in_the_app: Sequence[Provider]) -> list[Group]:
    """The list in an order that helps: the team's own where it chose one, else what is asked for most and the rest
    by name; what only the app can connect comes last."""
    own_order = bool(visit.brand.link_providers)
    if own_order or len(providers) <= _GROUPED_ABOVE:
        parts = [("", list(providers))]
    else:
        rest = sorted(providers[_MOST_USED:], key=lambda one: one.name.casefold())
        parts = [("Most used", list(providers[:_MOST_USED])), ("All others, A to Z", rest)]
    parts.append(("On your phone", list(in_the_app)))
    return [Group(title, [provider_shown(visit, one) for one in members]) for title, members in parts if members]


def found_by(words: str, providers: Sequence[Provider]) -> list[Provider]:
    """The providers that every typed word fits, those whose name fits first. A word fits what it is a part of in the
    name, and what it begins in the names of resources."""
    typed = _plain(words).split()
    if not typed:
        return list(providers)
    by_name = [one for one in providers if all(word in _name(one) for word in typed)]
    by_more = [one for one in providers if one not in by_name and all(_fits(word, one) for word in typed)]
    return by_name + by_more


def _fits(word: str, provider: Provider) -> bool:
    known = resource_words()
    told = " ".join([provider.description, *(known[name].title for name in provider.resources)])
    return word in _name(provider) or any(part.startswith(word) for part in _plain(told).split())


def _name(provider: Provider) -> str:
    name = _plain(provider.name)
    return f"{name} {name.replace(' ', '')} {provider.slug.replace('_', ' ')}"


def _plain(text: str) -> str:
    """In lower case and without accents."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))
