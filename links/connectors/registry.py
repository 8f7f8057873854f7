"""The connectors there are: the classes that the catalogue's files name, made when they are first asked for."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from healthsvc.kernel.principal import Environment
from links.catalogue import LoginKind, catalogue
from links.connectors.base import Connector
from links.connectors.generic.client import GenericConnector


class _NamedConnectors(Mapping[str, Connector]):
    """Provider slug → connector, for those whose file names a class."""

    def __getitem__(self, slug: str) -> Connector:
        provider = catalogue().get(slug)
        if provider is None or not provider.connector:
            raise KeyError(slug)
        connector: Connector = _made(provider.connector)
        return connector

    def __iter__(self) -> Iterator[str]:
        return (slug for slug, provider in catalogue().items() if provider.connector)

    def __len__(self) -> int:
        return sum(1 for _ in self)


CONNECTORS: Final[Mapping[str, Connector]] = _NamedConnectors()

#: An app's data are sent to us; those of a demonstration are pulled.
_PLAYED: Final = (LoginKind.OAUTH, LoginKind.PASSWORD, LoginKind.EMAIL, LoginKind.APP)


def connector_of(slug: str, environment: Environment) -> Connector | None:
    """Who reads a provider's data in an environment; None where nobody can.

    In the sandbox the simulator has data for every provider that a person logs in to.
    """
    named = CONNECTORS.get(slug)
    if named is None and environment is Environment.SANDBOX:
        provider = catalogue().get(slug)
        return _generic(slug) if provider is not None and provider.login in _PLAYED else None
    return named


def registry_check() -> None:
    """ImproperlyConfigured, with the file and its field, where a class that the catalogue names can't be used."""
    for slug, provider in catalogue().items():
        if provider.connector:
            connector = _checked(slug, "connector", provider.connector)
            missing = set(provider.resources) - set(getattr(connector, "window_days", ()))
            if missing:
                raise _mistake(slug, "resources", f"name {', '.join(sorted(missing))}, which the connector can't pull.")
        if provider.password_adapter:
            _checked(slug, "password_adapter", provider.password_adapter)


@lru_cache(maxsize=200)
def _generic(slug: str) -> GenericConnector:
    return GenericConnector(slug)


@lru_cache(maxsize=200)
def _made(path: str) -> Any:
    """An instance of the class at `module:Class`. Connectors keep nothing, so that one of each is enough."""
    return import_string(path.replace(":", "."))()


def _checked(slug: str, field: str, path: str) -> Any:
    try:
        return _made(path)
    except ModuleNotFoundError as error:
        reason = f"there is no module {error.name}; is its folder in PYTHONPATH?"
    except ImportError as error:
        reason = str(error)
    except TypeError as error:
        reason = f"it is made without arguments. ({error})"
    raise _mistake(slug, field, f"{path} can't be made: {reason}")


def _mistake(slug: str, field: str, message: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"links/catalogue: {catalogue()[slug].file}: {field} {message}")
