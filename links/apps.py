"""Links: the provider catalogue, link tokens, hosted pages, connections and connectors."""

from django.apps import AppConfig


class LinksConfig(AppConfig):
    """The links app."""

    name = "links"

    def ready(self) -> None:
        """Check the catalogue, name our events, and answer what the apps below ask."""
        from aggregation import registry as aggregation_registry
        from links import introspection, selectors
        from links.catalogue import catalogue
        from links.events import EVENT_TYPES
        from users import registry as users_registry
        from webhooks.registry import event_types_register

        catalogue()
        event_types_register(EVENT_TYPES)
        users_registry.connected_sources.append(selectors.connected_sources)
        aggregation_registry.provider_names.append(selectors.provider_name)
        aggregation_registry.attempt_sources.append(introspection.last_attempts)
