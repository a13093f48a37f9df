"""Agents of whatever make; `claude` is the one that exists."""
