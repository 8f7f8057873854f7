"""Tests of the aggregation query compiler."""
