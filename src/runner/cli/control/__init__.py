"""The control plane on the command line: one module per group, one declaration per command.

A command says what it is called, which parameters of the library's command it offers, and how its
answer reads. What a value may be is the library's to say: here a value is read, never judged.
"""
