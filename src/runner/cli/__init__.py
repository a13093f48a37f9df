"""The command line: Typer commands, presenters, output formats, exit codes."""
