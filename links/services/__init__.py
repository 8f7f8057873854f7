"""Writes of the links app, by what they are about: tokens, logins, connections, pulls, refreshes."""
