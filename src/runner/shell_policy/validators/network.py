"""curl and its like: this machine only, and no hidden reading of files."""

import re

from runner.shell_policy.context import CommandCall
from runner.shell_policy.kinds import check, check_url
from runner.shell_policy.shell.facts import ShellWord

_SENDS = ("-d", "--data", "--data-binary", "--data-ascii", "--json")
_SENDS_TOO = ("--data-raw", "--data-urlencode")


_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def _only_asks(call: CommandCall, methods: list[ShellWord], *, sends: bool) -> None:
    """Refuse, in a read-only session, a request that could change something on the server."""
    if call.context.mode != "sync":
        return
    if sends or any((word.text or "").upper() not in _READING_METHODS for word in methods):
        raise call.refuse("this session is read-only: only GET, HEAD and OPTIONS, without data.")


def _curl(call: CommandCall) -> None:
    body = call.parsed.has(*_SENDS, *_SENDS_TOO) and not call.parsed.has("-G", "--get")
    form = call.parsed.has("-F", "--form", "--form-string")
    _only_asks(call, call.parsed.values("-X", "--request"), sends=body or form)
    if call.parsed.has("-L", "--location") and not call.parsed.has("--max-redirs"):
        raise call.refuse(
            "following redirects could leave this machine. Leave out -L, and ask for the address it names."
        )
    urls = [*call.parsed.operands, *call.parsed.values("--url")]
    if not urls:
        raise call.refuse("needs an address on localhost, such as http://localhost:3000/.")
    for word in urls:
        for text in word.choices or ():
            if re.search(r"[{}]|\[(?!::1\])", text) and not call.parsed.has("-g", "--globoff"):
                raise call.refuse(f"{text}: patterns in addresses are not allowed.")
    for value in call.parsed.values(*_SENDS):
        for text in value.choices or (value.prefix,):
            if text.startswith("@"):
                _file_sent(call, text[1:], value)
    for value in call.parsed.values("--data-urlencode", "--variable"):
        for text in value.choices or (value.prefix,):
            name, _, path = text.partition("@")
            if "@" in text and "=" not in name:
                _file_sent(call, path, value)
            if text.startswith("%"):
                raise call.refuse("variables of the environment are not sent. Write test data out.")
    for value in call.parsed.values("-F", "--form"):
        _form(call, value)
    for value in call.parsed.values("-b", "--cookie"):
        for text in value.choices or (value.prefix,):
            if text and "=" not in text:
                _file_sent(call, text, value)
    for value in call.parsed.values("-H", "--header", "-b", "--cookie", "-w", "--write-out"):
        _plain(call, value)


def _form(call: CommandCall, value: ShellWord) -> None:
    """`-F name=@file,file;type=…;headers=@file`."""
    for text in value.choices or (value.prefix,):
        content = text.partition("=")[2]
        parts = content.split(";")
        if any(re.match(r"\s*(?:headers|encoder)\s*=\s*\W*[@<]", part) for part in parts):
            raise call.refuse("headers from a file are not allowed. Write them out with -H.")
        if content.startswith(("@", "<")):
            for path in parts[0][1:].split(","):
                _file_sent(call, path.strip().strip('"').lstrip("@<"), value)


def _file_sent(call: CommandCall, path: str, value: ShellWord) -> None:
    """`-d @file` sends a file: only files of the project and /tmp, and known ones."""
    if value.choices is None and not re.match(r"(?:\./)?\w[\w.-]*/", path):
        raise call.refuse(f"{value.source}: write the file that is sent out.")
    if path and path != "-":
        call.context.paths.read(path, call.cwd)
        _in_reach(call, path)


def _in_reach(call: CommandCall, path: str) -> None:
    real = call.context.paths.absolute(path, call.cwd)
    paths = call.context.paths
    if real is None or not (paths.inside(real) or paths.in_scratch(real)):
        raise call.refuse(f"{path} is not in the project or under /tmp.")


def _plain(call: CommandCall, value: ShellWord) -> None:
    for text in value.choices or (value.prefix,):
        if text.startswith("@") or "%output{" in text:
            raise call.refuse(f"{text}: reading or writing files this way is not allowed.")
    if value.choices is None and not value.prefix and not value.numeric:
        raise call.refuse(f"write the beginning of {value.source} out.")


def _wget(call: CommandCall) -> None:
    sends = call.parsed.has("--post-data", "--body-data")
    _only_asks(call, call.parsed.values("--method"), sends=sends)
    if not (call.parsed.has("--spider", "-O", "--output-document")):
        raise call.refuse("name the file with -O, or use curl.")
    if not call.parsed.operands:
        raise call.refuse("needs an address on localhost, such as http://localhost:3000/.")


def _httpie(call: CommandCall) -> None:
    words = list(call.parsed.operands)
    if words and re.fullmatch(r"GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS", words[0].text or ""):
        _only_asks(call, words[:1], sends=False)
        words.pop(0)
    if not words:
        raise call.refuse("needs an address on localhost, such as http://localhost:3000/.")
    if call.context.mode == "sync" and any(map(_is_field, words[1:])):
        _only_asks(call, [], sends=True)
    text = words[0].text or words[0].prefix
    check_url(call, ShellWord.literal("localhost" + text) if text.startswith(":") else words[0])
    for word in words[1:]:
        if "@" in (word.text or "@"):
            raise call.refuse("sending files is not allowed.")


def _is_field(word: ShellWord) -> bool:
    """Whether an argument of httpie is sent in the body: `name=text`, `name:=json`."""
    return re.search(r"(?<!=)=(?!=)", word.text or "=") is not None


def _load(call: CommandCall) -> None:
    """Tools that send one request many times."""
    _only_asks(call, call.parsed.values("-m"), sends=call.parsed.has("-d"))


def _grpcurl(call: CommandCall) -> None:
    """Calling a method may change something; listing them does not."""
    asks = len(call.parsed.operands) > 1 and call.parsed.operands[1].text in ("list", "describe")
    _only_asks(call, [], sends=not asks)


def _nc(call: CommandCall) -> None:
    if not call.parsed.has("-z"):
        raise call.refuse("only nc -z, which asks whether a port is open, is allowed.")
    for word in call.parsed.operands[1:]:
        check(call, "number", word, "the port")


VALIDATORS = {
    "curl": _curl,
    "wget": _wget,
    "httpie": _httpie,
    "nc": _nc,
    "load": _load,
    "grpcurl": _grpcurl,
}
