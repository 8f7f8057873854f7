"""What a person may leave out before they go to a provider: its scopes, told as the resources they open."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from links.catalogue import Provider, ResourceWords, resource_words


@dataclass(frozen=True, slots=True)
class SharedResource:
    """A resource as the consent page tells it. `reach_back_days` 0: no past data."""

    words: ResourceWords
    granularity: str
    reach_back_days: int


@dataclass(frozen=True, slots=True)
class Choice:
    """Resources that go together, because the provider gives them under the same scopes.

    `fixed`: part of every login there, so that leaving it out would leave nothing.
    """

    name: str
    resources: tuple[SharedResource, ...]
    scopes: tuple[str, ...]
    fixed: bool = False
    #: What is told in the resources' place of a scope that only adds to resources of other choices.
    on_top: ResourceWords | None = None
    #: The team connects nothing without it; `fixed` too.
    needed: bool = False


def shared_resources(provider: Provider) -> tuple[SharedResource, ...]:
    """Everything the provider would share, in the pages' order."""
    return tuple(_shared(provider, name) for name in provider.resources)


def choices_of(
    provider: Provider, required: Collection[str] = (), optional: Collection[str] = ()
) -> tuple[Choice, ...]:
    """What the person can leave out, in the pages' order, with what they can't; nothing where it is all or nothing.

    `required`: scopes without which the team connects nothing; `optional`: those that it asks for as well. What of both
    the provider's resources don't take is told too: nothing is asked for that the person was not told of.
    """
    base = frozenset(provider.oauth.base_scopes if provider.oauth else ())
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, offer in provider.resources.items():
        groups.setdefault(tuple(sorted(set(offer.required) - base)), []).append(name)
    found = [
        Choice(names[0], tuple(_shared(provider, name) for name in names), scopes, fixed=not scopes)
        for scopes, names in groups.items()
    ]
    found += [
        Choice(f"more_{number}", (), (scope,), on_top=provider.scope_words[scope])
        for number, scope in enumerate(provider.scopes_on_top, start=1)
    ]
    found += _asked_by_team(provider, [*required, *optional])
    found = [replace(one, fixed=True, needed=True) if set(one.scopes) & set(required) else one for one in found]
    return tuple(found) if _is_a_choice(found) else _all_there_is(found)


def scopes_left_out(choices: Collection[Choice], kept: Collection[str]) -> list[str]:
    """The scopes that nothing kept needs. `kept`: names of choices."""
    wanted = {scope for choice in choices if choice.fixed or choice.name in kept for scope in choice.scopes}
    offered = dict.fromkeys(scope for choice in choices for scope in choice.scopes)
    return [scope for scope in offered if scope not in wanted]


def is_something(choices: Collection[Choice], kept: Collection[str]) -> bool:
    """Whether at least one resource is left to share."""
    told = [choice for choice in choices if choice.on_top is None]
    kept_any = any(choice.needed or (choice.name in kept and not choice.fixed) for choice in told)
    return kept_any or all(choice.fixed for choice in told)


def _asked_by_team(provider: Provider, scopes: Collection[str]) -> list[Choice]:
    """Scopes that only the team asks for. Named by their scope: what stands there must not change under a name."""
    unknown = dict.fromkeys(scope for scope in scopes if scope not in provider.scopes)
    words = f"A permission under {provider.name}'s own name for it; {provider.name} says what it opens"
    return [Choice(f"scope {scope}", (), (scope,), on_top=ResourceWords(scope, words)) for scope in unknown]


def _is_a_choice(found: Collection[Choice]) -> bool:
    """Whether something can be left out such that a resource stays."""
    free = sum(not choice.fixed for choice in found)
    return free > 1 or (free == 1 and is_something(found, ()))


def _all_there_is(found: Collection[Choice]) -> tuple[Choice, ...]:
    """Everything as fixed, where the team needs more than the resources tell of; else nothing to tell."""
    if not any(choice.needed and choice.on_top for choice in found):
        return ()
    return tuple(replace(choice, fixed=True) for choice in found)


def _shared(provider: Provider, name: str) -> SharedResource:
    offer = provider.resources[name]
    limit = offer.reach_back_days
    days = provider.backfill_days if limit is None else min(provider.backfill_days, limit)
    known = resource_words()[name]
    return SharedResource(
        replace(known, words=provider.words.get(name, known.words)), _interval(offer.granularity), days
    )


def _interval(granularity: str) -> str:
    """`5 minutes` is told as `every 5 minutes`. What comes with each night or reading, the words say already."""
    return f"every {granularity.removeprefix('1 ')}" if granularity[:1].isdigit() else ""
