"""Autonomous sessions on disk: state, index, journal, locks, and what holds them together."""
