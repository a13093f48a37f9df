"""A real pseudo-terminal with a person at it: what a program shows, and what is typed."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cli.screen import Screen

SHELL = Path(__file__).with_name("job_shell.py")
CTRL_C, CTRL_Z = "\x03", "\x1a"


class Terminal:
    """A terminal of a fixed width in which one command runs, under `job_shell.py`."""

    def __init__(self, master: int, columns: int) -> None:
        self._master = master
        self._columns = columns
        self.text = ""

    @property
    def screen(self) -> list[str]:
        """The lines as they stand now."""
        return Screen(self._columns).feed(self.text).lines

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, wanted: str, seconds: float = 60) -> str:
        """Wait until `wanted` was written since the last wait; return all since then.

        Raises:
            AssertionError: it does not come.
        """
        start, deadline = len(self.text), time.monotonic() + seconds
        while wanted not in self.text[start:]:
            assert time.monotonic() < deadline, f"no {wanted!r} in {self.text!r}"
            assert self._read(), f"no {wanted!r} before the end of {self.text!r}"
        return self.text[start:]

    def _read(self) -> bool:
        """Read what comes within a moment; return whether more may come."""
        if not select.select([self._master], [], [], 0.5)[0]:
            return True
        try:
            chunk = os.read(self._master, 65536)
        except OSError:  # EIO: nobody has the other side open
            return False
        self.text += chunk.decode("utf-8", "replace")
        return bool(chunk)


@contextmanager
def terminal(
    command: Sequence[str], *, columns: int = 80, environ: Mapping[str, str], cwd: Path
) -> Iterator[Terminal]:
    """Run a command in a terminal of that width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    shell = subprocess.Popen(
        [sys.executable, str(SHELL), *command],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={"TERM": "xterm-256color", **environ},
        cwd=cwd,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(master, columns)
    finally:
        os.close(master)
        shell.kill()
        shell.wait()
