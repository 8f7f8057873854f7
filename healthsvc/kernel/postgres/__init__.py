"""Django's PostgreSQL backend, which also carries the tenancy scope onto every new connection."""
