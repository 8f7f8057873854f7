"""Dexcom, read from its API v3."""
