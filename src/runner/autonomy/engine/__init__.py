"""The pure step engine: (state, spec, report, now, ids) → (new state, answer, what follows).

It reads no clock, no disk and no randomness; time, ids and the signing key come in.
"""
