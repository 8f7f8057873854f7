"""People: users, their demographics and insurance, payors and diagnoses, deletion, erasure and export."""

from django.apps import AppConfig


class UsersConfig(AppConfig):
    """The users app."""

    name = "users"

    def ready(self) -> None:
        """Name what is kept of a person here and below."""
        from management import erasure as management_erasure
        from management import registry as management_registry
        from management.idempotency import replies_forget
        from users import registry, team_erasure
        from users.exporting import parts
        from users.services import own_rows
        from users.services.exports import exports_end

        registry.erasers.append(registry.Eraser(own_rows.tables(), own_rows.user_portion_erase))
        registry.erasers.append(
            registry.Eraser(
                management_erasure.TABLES,
                management_erasure.user_portion_erase,
                management_erasure.user_portion_begin,
                emptied=management_erasure.EMPTIED,
            )
        )
        management_registry.team_erasers.append(
            management_registry.TeamEraser(team_erasure.tables(), team_erasure.team_portions, is_referred_to=True)
        )
        management_registry.team_erasers.append(
            management_registry.TeamEraser(frozenset(), team_erasure.pending_portions, is_first=True)
        )
        registry.exporters.append(parts.USERS)
        registry.exporters.append(parts.MANAGEMENT)
        registry.disconnectors.append(exports_end)
        registry.disconnectors.append(replies_forget)
