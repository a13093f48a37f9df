"""The work tree of each step, kept where agents can't write, and compared with what is there."""
