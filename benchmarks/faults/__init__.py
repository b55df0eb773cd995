"""Planted faults, each of which the tests that are always run have to find."""
