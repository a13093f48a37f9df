"""Draw what `runner demo` shows on a terminal: `python tools/terminal_picture.py docs/demo.svg`.

The demo really runs, on a pseudo-terminal; its last screen becomes an SVG without fonts or scripts from
elsewhere. What differs from machine to machine (the folder, the log's name) is replaced, so that a
new picture differs from the old one only where the program does, and in its durations.
"""

import errno
import fcntl
import io
import os
import pty
import re
import shutil
import struct
import sys
import tempfile
import termios
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

COLUMNS, ROWS = 100, 41
TITLE = "make demo"
FONTS = "ui-monospace, Menlo, Consolas"
FOLDER = "/tmp/runner-demo"  # noqa: S108 - shown, not used
_REAL_FOLDER = re.compile(rf"{FOLDER}-\w+")
_THEME = TerminalTheme(
    (22, 27, 34),
    (201, 209, 217),
    [(72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34),
     (88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)],
)  # fmt: skip
_ERASED = re.compile(r"^.*\x1b\[2K", re.MULTILINE)
"""The activity line, up to where the program erases it."""
_FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def demo_output() -> str:
    """Return all that `runner demo` writes to a terminal, escapes included."""
    home = tempfile.mkdtemp(prefix="runner-picture-")
    process, terminal = pty.fork()
    if process == 0:
        environ = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": home,
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
        }
        os.execve(sys.executable, [sys.executable, "-m", "runner", "demo"], environ)  # noqa: S606
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    parts = list(iter(lambda: _read(terminal), b""))
    _, status = os.waitpid(process, 0)
    shutil.rmtree(home, ignore_errors=True)
    text = b"".join(parts).decode("utf-8")
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit(f"The demo failed; no picture was written.\n{text}")
    return text


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError as error:  # Linux reports the end of a pseudo-terminal as an error
        if error.errno != errno.EIO:
            raise
        return b""


def screen(output: str) -> list[str]:
    """Return the last rows of the output as a terminal leaves them, with their colours."""
    plain = output.replace("\r\n", "\n").replace("\r", "")
    lines = _ERASED.sub("", plain).rstrip("\n").split("\n")[-ROWS:]
    start = next(number for number, line in enumerate(lines) if line)
    return [_REAL_FOLDER.sub(FOLDER, line) for line in lines[start:]]


def picture(rows: list[str]) -> str:
    """Return the rows as an SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), legacy_windows=False)
    for row in rows:
        console.print(Text.from_ansi(row), no_wrap=True, crop=True)
    svg = console.export_svg(title=TITLE, theme=_THEME, unique_id="runner-demo")
    lines = _FONT_FACE.sub("", svg).replace("Fira Code", FONTS).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(screen(demo_output())), encoding="utf-8")
