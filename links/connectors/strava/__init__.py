"""Strava, read from its API v3."""
