"""Containment of the agent by the operating system (docs/sandbox.md).

`contained` is the entry: it finds out what this machine offers, once, and gives a `Containment`
whose `wrap` goes between the guard and the agent binary.
"""
