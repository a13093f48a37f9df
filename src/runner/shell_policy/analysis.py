"""The one place that asks the shell package to read a script."""

from collections.abc import Mapping

from runner.shell_policy.decision import PolicyRefusalError
from runner.shell_policy.shell import ShellParseError, analyse
from runner.shell_policy.shell.facts import ShellScript, ShellWord, SimpleCommand


def read_script(
    text: str,
    variables: Mapping[str, str],
    command: SimpleCommand | None = None,
    arguments: tuple[ShellWord, ...] | None = None,
) -> ShellScript:
    """Return the commands in `text`. Raises RefusedError for what can't be understood.

    Args:
        text: the script, as bash would get it.
        variables: environment variables whose values are certain.
        command: the command that makes a shell run the text, when it is not the outermost.
        arguments: the positional parameters that it gives the text.
    """
    try:
        if command is None:
            return analyse(text, variables=variables)
        return analyse(
            text, variables=variables, cwds=command.cwds, scope=command.scope, arguments=arguments
        )
    except ShellParseError as error:
        raise PolicyRefusalError("parse", str(error)) from error
