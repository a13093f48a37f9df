"""The top-level help, rendered ahead: `help.txt` beside this module.

It is what `runner --help` prints when rendered by Typer (a test holds the two together;
`python -m runner.cli.help_cache` writes it anew).
"""

from pathlib import Path

_FILE = Path(__file__).with_name("help.txt")


def cached_help() -> str | None:
    """Return the rendered help, or None when this installation does not carry it."""
    try:
        return _FILE.read_text(encoding="utf-8")
    except OSError:
        return None


def rendered_help() -> str:
    """Return the help as Typer renders it now, 80 columns wide."""
    from runner.cli.app import render_help  # noqa: PLC0415 - the import is what the cache saves

    return render_help()


if __name__ == "__main__":
    _FILE.write_text(rendered_help(), encoding="utf-8")
