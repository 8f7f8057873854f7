"""Garmin, read from its Health and Activity APIs."""
