"""Links: the provider catalogue, link tokens, hosted pages, connections and connectors."""

from django.apps import AppConfig


class LinksConfig(AppConfig):
    """The links app."""

    name = "links"

    def ready(self) -> None:
        """Check the catalogue, name our events, and answer what the apps below ask."""
        from aggregation import registry as aggregation_registry
        from links import brand, device_selectors, introspection, metrics_selectors, selectors, team_erasure
        from links.catalogue import catalogue
        from links.connectors.registry import registry_check
        from links.erasure import TABLES, user_portion_erase
        from links.events import EVENT_TYPES
        from links.exporting import EXPORTER
        from links.services.connections import user_disconnect
        from management import registry as management_registry
        from users import registry as users_registry
        from webhooks.registry import event_types_register

        registry_check()
        management_registry.provider_slugs.append(catalogue)
        management_registry.scoped_provider_slugs.append(selectors.provider_slugs_scoped)
        event_types_register(EVENT_TYPES)
        users_registry.connected_sources.append(selectors.connected_sources)
        users_registry.team_logo_urls.append(brand.team_logo_url)
        users_registry.connection_counts.append(metrics_selectors.connection_counts)
        users_registry.disconnectors.append(user_disconnect)
        users_registry.erasers.append(users_registry.Eraser(TABLES, user_portion_erase))
        users_registry.exporters.append(EXPORTER)
        management_registry.team_erasers.append(
            management_registry.TeamEraser(team_erasure.TABLES, team_erasure.team_portions)
        )
        aggregation_registry.provider_names.append(selectors.provider_name)
        aggregation_registry.attempt_sources.append(introspection.last_attempts)
        aggregation_registry.device_pushes.append(device_selectors.device_push)
