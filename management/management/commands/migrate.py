"""Django's `migrate`, run as the role that owns the tables, which then lets the service's role use them."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.core.management.commands.migrate import Command as DjangoMigrate
from django.db import connections
from psycopg import sql

from management import trail_partitions


class Command(DjangoMigrate):
    """Migrate through the `owner` connection, then grant."""

    def add_arguments(self, parser: CommandParser) -> None:
        """As Django's, with `owner` as the default database."""
        super().add_arguments(parser)
        parser.set_defaults(database="owner")

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate and grant. Row-level security, not grants, keeps teams apart; grants keep the schema fixed."""
        super().handle(*args, **options)
        role = settings.DATABASES["default"]["USER"]
        if not role or role == settings.DATABASES["owner"]["USER"]:
            return
        with connections[options["database"]].cursor() as cursor:
            for statement in (
                "GRANT USAGE ON SCHEMA public TO {}",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {}",
                "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {}",
            ):
                cursor.execute(sql.SQL(statement).format(sql.Identifier(role)))
            trail_partitions.doors_close(cursor, role)
