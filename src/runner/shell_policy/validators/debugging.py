"""Debuggers and tracers: they run the project's program, and none of their commands runs others."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.scripts import require_script
from runner.shell_policy.shell.facts import ShellWord
from runner.shell_policy.validators.inline import check_inline

_EXPRESSION = r"[\w\s.*&>\[\]$+/:<=!%|,-]*"
_LOCATION = r"[\w:./~<>, *-]+"
# No parenthesis: an expression could call any function of the program (`print system("…")`).
_GDB = re.compile(
    rf"(?:run|r|start|starti|c|continue|n|next|s|step|si|ni|finish|fin|until|up|down|quit|q|bt|backtrace|where|disassemble|disas|list|l"
    rf"|(?:bt|backtrace|where)\s+(?:full|-?\d+)|thread\s+apply\s+all\s+(?:bt|backtrace)(?:\s+full)?"
    rf"|(?:thread|frame|f|up|down|c|continue|n|next|s|step)\s+\d+|info\s+[a-z]+(?:\s+[\w.*:]+)?|i\s+[a-z]+"
    rf"|(?:b|break|tbreak|tb|rbreak|disassemble|disas|list|l|until|delete|d|enable|disable)\s+{_LOCATION}"
    rf"|(?:b|break|tbreak)\s+{_LOCATION}\s+if\s+{_EXPRESSION}|(?:watch|rwatch|display|ptype|whatis|p|print|inspect)(?:/[a-z])?\s+{_EXPRESSION}"
    rf"|x(?:/\d*[a-z]*)?\s+{_EXPRESSION}|set\s+(?:pagination|confirm|print\s+[\w-]+|disassembly-flavor|width|height|args)\s+[\w./ =-]+"
    rf"|set\s+args(?:\s+[\w./=:,-]+)*|catch\s+(?:throw|catch|syscall\s+\w+)|handle\s+\w+(?:\s+\w+)*|run(?:\s+[\w./=:,-]+)+"
    rf"|thread\s+backtrace(?:\s+all)?|frame\s+(?:info|variable)|breakpoint\s+(?:list|set\s+(?:--name|--file|--line|-n|-f|-l)\s+{_LOCATION})"
    rf"|process\s+(?:launch|continue|status)|image\s+list|register\s+read)"
)
# What the program gets, in place of what --args names: `run A B`, `set args A B`.
_ARGUMENTS = re.compile(r"(?:run|r|start|starti|set\s+args)\s+(.+)")
_PDB = re.compile(
    r"(?:c|cont|continue|n|next|s|step|r|return|q|quit|exit|w|where|bt|u|up|d|down|l|ll|list|longlist|a|args|until|unt|b|break"
    r"|(?:u|up|d|down|l|list|until|unt)\s+[\d, ]+|(?:b|break|tbreak)\s+[\w./:]+|(?:cl|clear|disable|enable)(?:\s+\d+)*)"
)


def _debugger(call: CommandCall) -> None:
    """Judge gdb and lldb in batch mode."""
    if not call.parsed.has("-batch", "--batch", "-b"):
        raise call.refuse(
            "only batch mode is allowed: gdb -batch -ex run -ex bt --args ./build/app."
        )
    for word in call.parsed.values("-ex", "--ex", "-o", "--one-line"):
        text = call.literal(word, "the command").strip(" ")
        # lldb takes each line for a command.
        if not _GDB.fullmatch(text) or not text.isprintable():
            raise call.refuse(
                f"{text} is not allowed. Use run, break, continue, next, bt, info, print without calls."
            )
        given = _ARGUMENTS.fullmatch(text)
        if given and call.parsed.operands:
            program = call.parsed.operands[0]
            call.judge_inner((program, *map(ShellWord.literal, given[1].split())))
    if call.parsed.operands:
        _program(call, call.parsed.operands)


def _program(call: CommandCall, words: tuple[ShellWord, ...]) -> None:
    """The program, and with --args what it gets; else a core file may follow."""
    if call.parsed.has("--args", "-args") or words[0].text == "--":
        call.judge_inner(words)
        return
    call.judge_inner(words[:1])
    for word in words[1:]:
        call.context.paths.project_file(call.literal(word, "the core file"), call.cwd)


def _tracer(call: CommandCall) -> None:
    """Refuse `strace -o '|program'`, which runs it."""
    for word in call.parsed.values("-o", "--output"):
        if (word.text or "|")[:1] in "|!":
            raise call.refuse("-o must name a file.")


def _script(call: CommandCall) -> None:
    """Judge `script -c COMMAND FILE`: without a command it opens a shell."""
    commands = call.parsed.values("-c", "--command")
    if not commands:
        raise call.refuse("needs -c COMMAND.")
    for word in commands:
        require_script(call.literal(word, "the command"), call.context, call.command)


def check_pdb(call: CommandCall, commands: list[str]) -> None:
    """Refuse commands of the Python debugger that are not known; expressions are inline code."""
    for text in commands:
        shown = re.fullmatch(r"(?:p|pp|whatis)\s+(.+)", text.strip())
        if shown:
            check_inline(call, "python", [shown[1]])
        elif not _PDB.fullmatch(text.strip()):
            raise call.refuse(f"{text} is not allowed. Use b, c, n, s, w, p EXPRESSION and q.")


VALIDATORS = {"debugger": _debugger, "tracer": _tracer, "script": _script}
