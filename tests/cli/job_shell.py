"""The least of a shell with job control: `job_shell.py COMMAND…` on a terminal of its own.

Runs the command in the foreground. When it is stopped it says STOPPED and waits for a line, then lets
the command go on. At the end it says EXIT and the code.
"""

import fcntl
import os
import signal
import subprocess
import sys
import termios


def main() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # A shell gives the terminal away and takes it back without being stopped for it.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    child = subprocess.Popen(sys.argv[1:], process_group=0).pid
    os.tcsetpgrp(0, child)
    while True:
        _, status = os.waitpid(child, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if not os.WIFSTOPPED(status):
            break
        say("STOPPED")
        os.read(0, 100)
        os.tcsetpgrp(0, child)
        os.kill(child, signal.SIGCONT)
    say(f"EXIT {os.waitstatus_to_exitcode(status)}")


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


if __name__ == "__main__":
    main()
