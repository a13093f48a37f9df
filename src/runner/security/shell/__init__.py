"""A strict, fail-closed reading of shell scripts: what would bash run, with which words."""

from runner.security.shell.analysis import analyse, tainted
from runner.security.shell.errors import ShellParseError

__all__ = ["ShellParseError", "analyse", "tainted"]
