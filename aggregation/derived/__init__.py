"""Values made of what devices sent: scores of a night and of a day, and how steadily a source sends. Pure functions.

Each is the service's own, whatever score a provider gives, so that people with different devices can be compared. A
change of a formula is a new version beside the old one; see `aggregation.derived.versions`.
"""
