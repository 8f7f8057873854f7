"""The embedded default: PostgreSQL and Redis from wheels, the process tree, and `manage.py up`."""
