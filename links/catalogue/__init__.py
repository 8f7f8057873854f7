"""The providers a person can connect, read once from the files beside this module and checked as they are read."""

from links.catalogue.load import catalogue, provider_find, provider_get, resource_words
from links.catalogue.shapes import (
    LoginKind,
    OAuthConfiguration,
    PasswordConfiguration,
    Provider,
    ProviderState,
    RateLimit,
    ResourceOffer,
    ResourceScopes,
    ResourceWords,
    TokenEnvelope,
)

__all__ = [
    "LoginKind",
    "OAuthConfiguration",
    "PasswordConfiguration",
    "Provider",
    "ProviderState",
    "RateLimit",
    "ResourceOffer",
    "ResourceScopes",
    "ResourceWords",
    "TokenEnvelope",
    "catalogue",
    "provider_find",
    "provider_get",
    "resource_words",
]
