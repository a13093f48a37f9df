"""Composition: what a run, a sync, a review or the demo is put together from."""
