"""Deliverables, their state machine, and `status.json`."""
