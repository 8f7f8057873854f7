"""Wahoo, read from its cloud API and the FIT files it names."""
