"""Processes: only those that the session started may be ended, and lists show no environment."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.shell.facts import ShellWord

_SIGNAL = re.compile(r"-(?:SIG)?(?:TERM|INT|HUP|KILL|QUIT|USR1|USR2|STOP|CONT|0|1|2|3|9|10|12|15)")
_PID_SOURCE = re.compile(
    r"\"?(?:\$\((?:lsof|pgrep|jobs|fuser -n|pidof|cat [\w./-]+\.pid|cat [\w./-]*pid[\w./-]*|ss|ps)\b[^;&`]*\)"
    r"|`(?:lsof|pgrep|jobs|cat [\w./-]+\.pid)\b[^;&`]*`|\$!|\$\{!\})\"?"
)
_PIDS_VARIABLE = re.compile(r"\"?\$\{?\w*(?:PID|pid)\w*\}?\"?")
_PS = re.compile(r"-?(?:[aufxlHjLTcAdefFwC]|ux)+|-?[afuxlwejH]+")
# What development servers and test runners are called (seed 001: pkill targets).
_TARGETS = frozenset(
    [
        "node",
        "npm",
        "npx",
        "yarn",
        "pnpm",
        "bun",
        "bunx",
        "deno",
        "vite",
        "next",
        "nuxt",
        "webpack",
        "webpack-dev-server",
        "esbuild",
        "tsc",
        "tsx",
        "ts-node",
        "nodemon",
        "vitest",
        "jest",
        "playwright",
        "chromium",
        "chrome",
        "firefox",
        "http-server",
        "serve",
        "live-server",
        "storybook",
        "parcel",
        "rollup",
        "turbo",
        "astro",
        "remix",
        "python",
        "python3",
        "flask",
        "django",
        "uvicorn",
        "gunicorn",
        "hypercorn",
        "celery",
        "pytest",
        "streamlit",
        "jupyter",
        "manage.py",
        "ruby",
        "rails",
        "puma",
        "rackup",
        "sidekiq",
        "rake",
        "unicorn",
        "webrick",
        "foreman",
        "go",
        "air",
        "dlv",
        "cargo",
        "rustc",
        "php",
        "artisan",
        "java",
        "gradle",
        "mvn",
        "dotnet",
        "make",
        "redis-server",
        "postgres",
        "esbuild",
        "server",
        "dev.sh",
        "main",
        "app",
    ]
)
_ALWAYS = frozenset(
    [
        "claude",
        "codex",
        "runner",
        "autonoe",
        "bash",
        "sh",
        "zsh",
        "init",
        "systemd",
        "sshd",
        "bwrap",
        "login",
        "tmux",
        "screen",
    ]
)


# What runs the agent and its guard may have such a name.
_OUR_OWN = frozenset({"python", "python3"})
_MAX_PROCESSES = 8
_SHELL_GAVE = re.compile(r"\$!|\$\{!\}|\$\(jobs -p\)|\$\{?COPROC_PID\}?")
_FROM_FILE = re.compile(r"\$\((?:cat |<)\s*([\w./-]+)\)")
_ONE_VARIABLE = re.compile(r"\"?\$\{?(\w+)\}?\"?")
_LOOKED_UP = re.compile(
    r"\$!|\b(?:pgrep|pidof|lsof|jobs|ps|cat|fuser|head|tail)\b|\$\(<|COPROC|\bpid\b", re.IGNORECASE
)
_LOOKS_UP = frozenset(
    {"pgrep", "pidof", "lsof", "jobs", "ps", "cat", "read", "mapfile", "readarray"}
)
_LISTS_ALL = re.compile(r"(?:\$\(|[`|;&]|^)\s*ps\s")
_SELECTS = re.compile(r"grep|awk[^|]*[/~=]|\s-C|\s-p|--ppid")
_PORT = re.compile(r"(?::|tcp:|TCP:)(?:\d+(?:,\d+)*$|\$|\"?\$)")


def _kill(call: CommandCall) -> None:
    words = list(call.args)
    if words and words[0].text in ("-l", "-L") and len(words) <= 2:
        return
    while words and (words[0].text or "").startswith("-"):
        text = words.pop(0).text or ""
        if text in ("-s", "-n") and words:
            if not _SIGNAL.fullmatch("-" + call.literal(words.pop(0), "the signal")):
                raise call.refuse("this signal is not allowed. Use TERM, INT or KILL.")
        elif text == "--":
            break
        elif not _SIGNAL.fullmatch(text):
            raise call.refuse(
                f"{text} is not an allowed signal or process. Use kill PID, kill %1 or kill -9 PID."
            )
    if not words:
        raise call.refuse("needs a process id. Use kill %1, kill $! or kill PID.")
    if len(words) > _MAX_PROCESSES or any(len(w.choices or ()) > _MAX_PROCESSES for w in words):
        raise call.refuse("these are too many processes. End what you started: kill %1, kill $!.")
    for word in words:
        _process(call, word)
    if call.context.settings.shares_processes and not _sends_nothing(call):
        _only_own(call, words)


def _sends_nothing(call: CommandCall) -> bool:
    texts = [word.text for word in call.args]
    return texts[0] == "-0" or texts[:2] in (["-s", "0"], ["-n", "0"])


def _only_own(call: CommandCall, words: list[ShellWord]) -> None:
    """Without a process namespace a number may be any process of the user."""
    for word in words:
        if not (word.text or "").startswith("%") and not _is_own(call, word.source):
            raise call.refuse(
                f"{word.source or 'a number'} may be a process of somebody else, as there is no "
                "sandbox. Use kill %1 or kill $! in the command that starts it, or pkill -f NAME."
            )


def _is_own(call: CommandCall, source: str) -> bool:
    """Whether a process id is one that the shell gave to this very script."""
    text = source.strip('"')
    if _SHELL_GAVE.fullmatch(text):
        return True
    script = call.context.script
    file = _FROM_FILE.fullmatch(text)
    if file is not None:
        writers = [
            command
            for command in script
            if any(
                file[1] in (one.target.choices or (file[1],))
                for one in command.redirections
                if ">" in one.operator
            )
        ]
        return bool(writers) and all(
            [word.source.strip('"') for word in command.words] == ["echo", "$!"]
            for command in writers
        )
    variable = _ONE_VARIABLE.fullmatch(source)
    given = [
        one.value.source.removeprefix(f"{one.name}=")
        for command in script
        for one in command.assignments
        if variable is not None and one.name == variable[1]
    ]
    return bool(given) and all(_SHELL_GAVE.fullmatch(one.strip('"')) for one in given)


def _process(call: CommandCall, word: ShellWord) -> None:
    if word.text is not None:
        text = word.text
        if re.fullmatch(r"%[\w%+-]*", text) or (text.isdecimal() and int(text) > 1):
            return
        raise call.refuse(
            f"{text} is not a process that this session started. "
            "End what you started: kill %1, kill $!, or pkill -f of its name."
        )
    _sources(call)
    _origin(call, word)
    if "PPID" in word.source or re.search(r"\$\$(?!\w)", word.source):
        raise call.refuse(
            f"{word.source} is not a process that this session started. "
            "End what you started: kill %1, kill $!, or pkill -f of its name."
        )
    signed = getattr(word, "signed", False)
    if word.choices:
        for choice in word.choices:
            _process(call, ShellWord.literal(choice))
    elif not (
        (word.numeric and not signed)
        or _PID_SOURCE.fullmatch(word.source)
        or (_PIDS_VARIABLE.fullmatch(word.source) and "PPID" not in word.source)
    ):
        raise call.refuse(f"{word.source} is not known to be a process id. Use %1, $! or a number.")


def _origin(call: CommandCall, word: ShellWord) -> None:
    """Refuse numbers that were counted or calculated, not looked up as processes."""
    text = word.source
    variable = _ONE_VARIABLE.fullmatch(text)
    if variable is not None:
        given = [
            assignment.value.source
            for command in call.context.script
            for assignment in command.assignments
            if assignment.name == variable[1]
        ]
        names = {command.words[0].text for command in call.context.script if command.words}
        known = all(map(_LOOKED_UP.search, given)) if given else bool(names & _LOOKS_UP)
        if variable[1] not in call.context.assigned and not word.numeric and not word.choices:
            known = True  # what it is called must do: _PIDS_VARIABLE
    else:
        known = not re.search(r"\$\(|`", text) or _LOOKED_UP.search(text) is not None
        known = known and (not _LISTS_ALL.search(text) or _SELECTS.search(text) is not None)
    if not known and not word.choices:
        raise call.refuse(
            f"{text} is not looked up as a process. Use kill %1, kill $!, pgrep -f NAME or "
            "lsof -ti:PORT."
        )


def _sources(call: CommandCall) -> None:
    """Process ids that the script looks up must be those of development servers."""
    chosen = False
    lists = False
    for command in call.context.script:
        name = command.words[0].text if command.words else None
        rest = command.words[1:]
        if name in ("pgrep", "pidof"):
            for word in rest:
                if word.text is not None and not re.fullmatch(r"-.*|\d+", word.text):
                    _target(call, word.text)
        elif name == "lsof":
            _ports(call, rest)
        elif name == "ps":
            lists = True
            chosen = chosen or any(word.text in ("-p", "-C", "--ppid") for word in rest)
        elif name in ("grep", "egrep", "rg", "awk"):
            chosen = _selects(call, name, rest) or chosen
    if lists and not chosen:
        raise call.refuse("ending whatever ps lists is not allowed. Select with pgrep -f NAME.")


def _ports(call: CommandCall, words: tuple[ShellWord, ...]) -> None:
    """`lsof -t` is asked for the ports that it is about: without one it lists every process."""
    if any("t" in (w.text or "") and (w.text or "").startswith("-") for w in words) and not any(
        _PORT.search(word.text or word.source) for word in words
    ):
        raise call.refuse("lsof -t lists every process. Name the port: lsof -ti:3000.")


def _selects(call: CommandCall, name: str, words: tuple[ShellWord, ...]) -> bool:
    """Whether a filter behind `ps` picks the processes of one program."""
    if not any(command.words and command.words[0].text == "ps" for command in call.context.script):
        return False
    texts = [word.text or "" for word in words]
    if name == "awk":
        found = re.findall(r"/([^/]+)/", " ".join(texts))
        compared = any(re.search(r"[~=]=?\s*\S", text) for text in texts)
    else:
        if any(re.fullmatch(r"-\w*v\w*", text) for text in texts):
            return False
        found = [text for text in texts if not text.startswith("-")][:1]
        compared = False
    for pattern in found:
        _target(call, re.sub(r"\[(\w)\]", r"\1", pattern))
    return bool(found) or compared


def _pkill(call: CommandCall) -> None:
    if not call.parsed.operands:
        raise call.refuse("needs the name of a process, such as pkill -f vite.")
    call.run_only("ending processes") if call.context.mode == "sync" else None
    for word in call.parsed.operands:
        _target(call, call.literal(word, "the name"))


def _target(call: CommandCall, pattern: str) -> None:
    """Refuse what is not known as a development server or a script."""
    first = pattern.strip("^$").split()
    name = first[0].rpartition("/")[2] if first else ""
    allowed = _TARGETS | call.context.settings.pkill_targets
    words = {part.rpartition("/")[2] for part in first}
    if words & _ALWAYS or not re.fullmatch(r"\^?[\w./:@ =-]+\$?", pattern):
        raise call.refuse(
            f"{pattern} is not an allowed target. Name the server that you "
            "started, such as pkill -f vite, or use kill %1."
        )
    if (
        pattern.strip("^$").rpartition("/")[2] in _OUR_OWN
        and pattern not in call.context.settings.pkill_targets
    ):
        raise call.refuse(
            f"{pattern} would end this program as well. Name the script: pkill -f 'python app.py'."
        )
    if name not in allowed and not re.fullmatch(r"[\w./-]+\.(?:js|ts|mjs|cjs|py|rb|php|sh)", name):
        raise call.refuse(
            f"{name} is not an allowed target. Allowed are development servers such as node, "
            "vite or uvicorn; others come from allowPkillTargets in agent.json."
        )


def _ps(call: CommandCall) -> None:
    """Ps without the `e` that shows environments (BSD style, and after -)."""
    words = list(call.args)
    while words:
        text = words.pop(0).text
        if text in (
            "-o",
            "-O",
            "-p",
            "-C",
            "-u",
            "-U",
            "-t",
            "-g",
            "--ppid",
            "--pid",
            "--format",
            "-q",
        ):
            if not words:
                raise call.refuse(f"{text} needs a value.")
            value = words.pop(0)
            if value.splits and not value.numeric:
                raise call.refuse("quote the value.")
            if text in ("-o", "-O", "--format") and "environ" in (value.text or value.source):
                raise call.refuse("environments hold credentials.")
        elif text is None:
            if words or call.args[-1].text is not None:
                raise call.refuse("write the options out.")
        elif text.startswith("-"):
            if not re.fullmatch(
                r"-[efFlaAxdHjwT]+[pouU]?|--(?:no-headers?|forest|sort=[\w%,+-]+|pid=\d+|ppid=\d+|headers)|-[aux]{2,4}w*|-o[\w,=%]+|-p\d+",
                text,
            ):
                raise call.refuse(f"the option {text} is not allowed.")
            if text.endswith(("p", "o", "U")) and words and not text.startswith("--"):
                value = words.pop(0)
                if "environ" in (value.text or value.source):
                    raise call.refuse("environments hold credentials.")
        elif text.isdecimal():
            continue
        elif not re.fullmatch(r"[auxwfjlhHT]+", text):
            raise call.refuse(f"{text}: e would show environments. Use ps aux or ps -ef.")


def _top(call: CommandCall) -> None:
    if not call.parsed.has("-b", "-l"):
        raise call.refuse("without -b -n 1 it never ends.")
    if call.parsed.has("-b") and not call.parsed.has("-n"):
        raise call.refuse("add -n 1.")


VALIDATORS = {"kill": _kill, "pkill": _pkill, "ps": _ps, "top": _top}
