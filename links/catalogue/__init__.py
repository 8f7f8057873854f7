"""The providers a person can connect, read once from the files beside this module and checked as they are read."""

from links.catalogue.load import (
    catalogue,
    catalogue_reload,
    catalogue_shipped,
    provider_find,
    provider_get,
    resource_words,
)
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
    SourceType,
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
    "SourceType",
    "TokenEnvelope",
    "catalogue",
    "catalogue_reload",
    "catalogue_shipped",
    "provider_find",
    "provider_get",
    "resource_words",
]
