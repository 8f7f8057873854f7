"""Hammerhead, read from its API's list of activities and their FIT files."""
