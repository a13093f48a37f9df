"""The control plane: a durable state machine that decides what a run does next (DESIGN §1)."""
