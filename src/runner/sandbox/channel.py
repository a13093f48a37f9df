"""Keep what an agent starts away from the agent's own process.

The agent's standard input and output are its connection to the SDK. Linux lets a process open the
descriptors, the memory and the environment of another one of the same user. It does not where
that process is not *dumpable*; then only a tracer with capabilities may, and nothing in the
sandbox has any. A program can only set this for itself, after it was started. So the dynamic
linker loads a library into the agent whose one instruction sequence is
`prctl(PR_SET_DUMPABLE, 0)`.

What the agent starts is dumpable again. The agent runs commands with the shell that
`CLAUDE_CODE_SHELL` names. That is a script of ours: it tests that the agent can't be reached
from where the command is to run, and removes the agent's own variables.

bubblewrap stays in the sandbox as process 1 with the standard streams that it was started with, but
closes all others. Every command can write to these, and read bubblewrap's own environment. So the
agent's streams go through it as descriptors 3, 4 and 6, and what the agent signs in with as
descriptor 5.
"""

import platform
import re
import shlex
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runner.errors import PrerequisiteError

FOLDER = Path("/run/runner-agent")
"""Where the sandbox shows the library and the shell: no command can replace a mount point."""

REACHABLE = 126
"""Exit status of the shell where the agent is not closed to its commands."""

PROGRAMS = "programs"
"""The folder in it for the PATH of an agent that starts a sandbox of its own."""

_LIBRARY = "channel.so"
_SHELL = "bash"
_SERVER = "server"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

# mov $157,%eax; mov $4,%edi; xor %esi,%esi; syscall; ret
_X86_64 = bytes.fromhex("b89d000000 bf04000000 31f6 0f05 c3")
# mov x8,#167; mov x0,#4; mov x1,#0; svc #0; ret
_AARCH64 = b"".join(
    word.to_bytes(4, "little")
    for word in (0xD28014E8, 0xD2800080, 0xD2800001, 0xD4000001, 0xD65F03C0)
)
MACHINES = {"x86_64": (62, _X86_64), "aarch64": (183, _AARCH64)}
"""The machines, as `platform.machine()` names them: the number in ELF files, and the code."""

_HEADER_BYTES = 64
_SEGMENT = struct.Struct("<IIQQQQQQ")
_PT_LOAD, _PT_DYNAMIC, _PT_GNU_STACK = 1, 2, 0x6474E551
_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT, _DT_INIT = 4, 5, 6, 10, 11, 12
_PAGE = 0x10000  # the largest that a supported machine has

# Of what begins with CLAUDE only this is for commands: `pkill` in them spares that process.
_KEPT = "CLAUDE_PID"
_SH = "/bin/sh"
_START = """\
unset RUNNER_AGENT_CLOSED
export LD_PRELOAD="$1/{library}${{LD_PRELOAD:+:$LD_PRELOAD}}"
export CLAUDE_CODE_SHELL="$1/{shell}" RUNNER_AGENT_PID=$$
shift
sealed=
while IFS= read -r line <&5; do sealed="$sealed$line
"; done
eval "$sealed"
unset sealed line
exec "$@" <&3 >&4 2>&6 3<&- 4>&- 5<&- 6>&-"""
# A sandbox of the agent's own starts the shell in the shell, where other processes are seen.
_TEST = """\
if [[ -z $RUNNER_AGENT_CLOSED ]] && {{
  [[ ! -d /proc/${{RUNNER_AGENT_PID:-none}} ]] || true < "/proc/$RUNNER_AGENT_PID/environ"
}}; then
  echo 'runner: the agent is not closed to its commands, so no command is run.' >&3
  exit {status}
fi 3>&2 2> /dev/null
export RUNNER_AGENT_CLOSED=1
"""
_WITHOUT_LIBRARY = """\
LD_PRELOAD=${{LD_PRELOAD#*{library}}}
LD_PRELOAD=${{LD_PRELOAD#:}}
if [ -z "$LD_PRELOAD" ]; then unset LD_PRELOAD; fi
"""
_SHELL_SCRIPT = """\
#!/bin/bash -p
{test}{without}for name in RUNNER_AGENT_PID {names} "${{!ANTHROPIC_@}}" "${{!CLAUDE_@}}"; do
  if [[ $name != {kept} ]]; then unset "$name"; fi
done
exec /bin/bash "$@"
"""
_SERVER_SCRIPT = """\
#!/bin/sh
{without}for name in $1; do unset "$name"; done
shift
exec "$@"
"""
_SIGN_IN = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_FOUNDRY_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "CLAUDE_CODE_OAUTH_TOKEN",
)  # fmt: skip
_PROGRAM_SCRIPT = '#!/bin/sh\n{without}exec {program}"$@"\n'


def write_channel(
    folder: Path,
    hidden: Sequence[str],
    *,
    bubblewrap: Path | None = None,
    programs: Mapping[str, Path] | None = None,
) -> None:
    """Write the library and the shell for the agents of one run.

    Args:
        folder: exists; no agent may be able to write it.
        hidden: variables that commands do not inherit, besides ANTHROPIC_* and CLAUDE_*.
        bubblewrap: what contains the agents; the shell then refuses a command from which the agent
            can be reached. None without a sandbox.
        programs: what else the agent's own sandbox starts. An agent may write to folders on the
            PATH: with a program of its own there it would run commands without that sandbox.

    Raises:
        PrerequisiteError: there is no library for this kind of machine.
    """
    names = [name for name in hidden if _NAME.fullmatch(name)]
    test = "" if bubblewrap is None else _TEST.format(status=REACHABLE)
    without = _WITHOUT_LIBRARY.format(library=_LIBRARY)
    text = _SHELL_SCRIPT.format(test=test, without=without, names=" ".join(names), kept=_KEPT)
    _write_script(folder / _SHELL, text)
    _write_script(folder / _SERVER, _SERVER_SCRIPT.format(without=without))
    if bubblewrap is not None:
        # An unreachable process of an ordinary user can't make a user namespace.
        (folder / PROGRAMS).mkdir(exist_ok=True)
        program = f"{shlex.quote(str(bubblewrap))} "
        keys = f"unset {' '.join(_SIGN_IN)}\n"
        text = _PROGRAM_SCRIPT.format(without=without + keys, program=program)
        _write_script(folder / PROGRAMS / "bwrap", text)
        for name, path in (programs or {}).items():
            (folder / PROGRAMS / name).unlink(missing_ok=True)
            (folder / PROGRAMS / name).symlink_to(path)
    _write_library(folder / _LIBRARY)


def _write_script(path: Path, text: str) -> None:
    _write_program(path, text.encode())


def _write_program(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)  # of a bubblewrap that was tried before
    path.write_bytes(content)
    path.chmod(0o555)


def is_loadable(folder: Path) -> bool:
    """Return whether the dynamic linker understands the path of a library in `folder`."""
    return not re.search(r"[\s:]", str(folder))


def start_words(folder: Path) -> tuple[str, ...]:
    """Return the words that start an agent so that what it starts can't reach it.

    The streams of the agent are the descriptors 3, 4 and 6 of what starts these words.

    Args:
        folder: where the words find what `write_channel` wrote.
    """
    script = _START.format(library=_LIBRARY, shell=_SHELL)
    return (_SH, "-c", script, "runner", str(folder))


def start_server(folder: Path, server: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an MCP server so that it is started without the library and keys.

    Args:
        server: as agent.json names it; one that is not started stays as it is.
    """
    if "command" not in server:
        return dict(server)
    given = server.get("env") or {}
    taken = " ".join(name for name in _SIGN_IN if name not in given)
    arguments = [taken, server["command"], *server.get("args", ())]
    return {**server, "command": str(folder / _SERVER), "args": arguments}


def trial_words(folder: Path) -> list[str]:
    """Return a command that succeeds where `start_words` closes a process to its children."""
    # A shell in the agent's place; with something left to do it has to stay the parent.
    agent = f"{folder / _SHELL} -c :; exit $?"
    start = _START.format(library=_LIBRARY, shell=_SHELL)
    script = f"exec 3< /dev/null 4> /dev/null 5< /dev/null 6>&2; {start}"
    return [_SH, "-c", script, "runner", str(folder), _SH, "-c", agent]


def _write_library(path: Path, machine: str | None = None) -> None:
    machine = machine or platform.machine()
    if machine not in MACHINES:
        raise PrerequisiteError(
            f"On {machine} the agent's process can't be closed to its commands.",
            hint="Use x86_64 or aarch64; or accept the risk with --no-sandbox.",
        )
    _write_program(path, _library(*MACHINES[machine]))


def _library(machine: int, code: bytes) -> bytes:
    """Return an ELF shared object that runs `code` when it is loaded, and exports nothing."""
    segments = 4
    text = _HEADER_BYTES + segments * _SEGMENT.size
    names, symbols, hashes = text + 32, text + 40, text + 64
    end = hashes + 16
    dynamic = (
        (_DT_HASH, hashes), (_DT_STRTAB, names), (_DT_SYMTAB, symbols), (_DT_STRSZ, 1),
        (_DT_SYMENT, 24), (_DT_INIT, text), (0, 0),
    )  # fmt: skip
    table = b"".join(struct.pack("<QQ", *entry) for entry in dynamic)
    where = _PAGE + end
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, machine, 1, 0, _HEADER_BYTES, 0, 0,
        _HEADER_BYTES, _SEGMENT.size, segments, 0, 0, 0,
    )  # fmt: skip
    size = len(table)
    heads = (
        _SEGMENT.pack(_PT_LOAD, 5, 0, 0, 0, end, end, _PAGE)
        + _SEGMENT.pack(_PT_LOAD, 6, end, where, where, size, size, _PAGE)
        + _SEGMENT.pack(_PT_DYNAMIC, 6, end, where, where, size, size, 8)
        + _SEGMENT.pack(_PT_GNU_STACK, 6, 0, 0, 0, 0, 0, 16)
    )
    one_bucket = struct.pack("<IIII", 1, 1, 0, 0)
    return header + heads + code.ljust(32, b"\0") + bytes(8 + 24) + one_bucket + table
