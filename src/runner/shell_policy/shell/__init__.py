"""A strict, fail-closed reading of shell scripts: what would bash run, with which words."""

from runner.shell_policy.shell.analysis import analyse, tainted
from runner.shell_policy.shell.limits import ShellParseError

__all__ = ["ShellParseError", "analyse", "tainted"]
