r"""What a machine is called: its folders, its user, its name, in whatever way a text writes them.

A path may be escaped as in JSON (`\/home\/ada`, more backslashes in JSON within JSON), have the
separators of another system, be part of an address (`%2Fhome%2Fada`), or be the name that Claude
Code gives to a project's folder (`-home-ada-app`). Each form has a placeholder of its own, so that
a replay writes the path of its own machine in the same form.
"""

import json
import re
import socket
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import quote

from runner.credentials import lower_escapes

PLACES = ("project", "home_dir", "temp_dir")
FORMS = r"shell|slug|dash|win|slash|(?:(?:win|slash)-)?(?:[js]{1,3}|[JS]{1,3}|url2?|uri|plus)"
"""How a path may be written, as a regular expression: `{{project:url}}` and so on."""

_SLUG_LENGTH = 8
_NESTED = 3  # JSON within JSON within JSON
_A_FORM = re.compile(rf"\{{\{{({'|'.join(PLACES)}):(?:{FORMS})\}}\}}")
_HOMES = r"(?:home|Users|export/home)(?:\\{0,8}/|\\{1,8}|%2[Ff]|%5[Cc]|-)"
_MODES = r"[-dlcbps][-rwxsStT]{9}[.+@]?\s+\d+\s+"
_END = r"(?![\w-]|\.\w)"
_CERTAIN = re.compile(r"(?=.*\d)[\w.-]{6,}")


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of this machine that texts mention, and what it is called.

    Attributes:
        project: absolute; None when there is none.
        temp: the folder for temporary files; None for /tmp, which is the same everywhere.
        user: the name that somebody signs in with.
        host: the name of the machine.
    """

    project: PurePath | None = None
    home: PurePath | None = None
    temp: PurePath | None = None
    user: str | None = None
    host: str | None = None

    @classmethod
    def here(cls, project: Path | None, environ: Mapping[str, str]) -> "Places":
        """Return those of this process."""
        temp = Path(tempfile.gettempdir())
        home = environ.get("HOME") or environ.get("USERPROFILE")
        names = (environ.get(name) for name in ("USER", "LOGNAME", "USERNAME"))
        user = next(filter(None, names), PurePath(home).name if home else None)
        return cls(
            project=project,
            home=Path(home) if home and len(home) > 1 else None,
            temp=None if temp == Path("/tmp") else temp,  # noqa: S108
            user=user or None,
            host=socket.gethostname() or None,
        )

    def values(self) -> dict[str, str]:
        """Return what the placeholders of a script stand for."""
        paths = {"project": self.project, "home_dir": self.home, "temp_dir": self.temp}
        values = {"user": self.user or "user", "host": self.host or "localhost"}
        paths["temp_dir"] = paths["temp_dir"] or PurePath(tempfile.gettempdir())
        for name, path in paths.items():
            if path is not None:
                values |= {_placeholder(name, form): text for form, text in _forms(path)}
        return values

    def names(self) -> dict[str, str]:
        """Return all ways in which the folders may be written, each with its placeholder."""
        names: dict[str, str] = {}
        for name, path in zip(PLACES, (self.project, self.home, self.temp), strict=True):
            if path is None or len(str(path)) < 2:
                continue
            for way in (path, path.resolve() if isinstance(path, Path) else path):
                for form, text in _forms(way):
                    names.setdefault(text, _placeholder(name, form))
                    names.setdefault(lower_escapes(text), _placeholder(name, form))
        return names


class Placer:
    """Puts placeholders where a text says what this machine is called."""

    def __init__(self, places: Places) -> None:
        ignore = re.IGNORECASE if _is_windows(places) else 0
        self._fold = str.casefold if ignore else str
        self._names = {self._fold(text): name for text, name in places.names().items()}
        self._paths = tuple(_patterns(places.names(), ignore))
        self._people = tuple(_contexts(places))

    def __call__(self, text: str) -> str:
        """Return the text with placeholders; what is no name of this machine is unchanged."""
        for paths in self._paths:
            text = paths.sub(lambda m: f"{{{{{self._names[self._fold(m[0])]}}}}}", text)
        for pattern, name in self._people:
            text = pattern.sub(rf"\1{{{{{name}}}}}", text)
        return text


def without_forms(text: str) -> str:
    """Return the text with the same placeholder for a folder, however it was written.

    How a path is written depends on what is in it: one without a space needs no escape.
    """
    return _A_FORM.sub(r"{{\1}}", text)


def _forms(path: PurePath) -> Iterator[tuple[str, str]]:
    """Yield the forms of a path, and what it is in each; the first is the path itself."""
    native = str(path)
    yield "", native
    bases = [("", native)]
    if "\\" in native:
        bases.append(("slash", native.replace("\\", "/")))
    elif native.count("/") > 1:  # `\root` is no path to anybody; `\home\ada` is
        bases.append(("win", native.replace("/", "\\")))
    for base, text in bases:
        for form, written in _written(text):
            yield "-".join(filter(None, (base, form))), written
    yield "shell", re.sub(r"([^\w@%+=:,./\\-])", r"\\\1", native)
    slug = re.sub(r"[^A-Za-z0-9]", "-", native)
    if len(slug) >= _SLUG_LENGTH:
        yield "slug", slug
        yield "dash", re.sub(r"[\\/]", "-", native)  # as simpler programs do it


def _written(text: str) -> Iterator[tuple[str, str]]:
    """Yield how a path stands in JSON and in addresses.

    In JSON each level has a letter: `s` where slashes are escaped, `j` where they are not, capitals
    where letters outside of ASCII stay as they are.
    """
    yield "", text
    for ascii_only, letters in ((True, "js"), (False, "JS")):
        level = [("", text)]
        for _ in range(_NESTED):
            escaped = [(n, json.dumps(t, ensure_ascii=ascii_only)[1:-1]) for n, t in level]
            level = [
                pair
                for n, t in escaped
                for pair in ((n + letters[0], t), (n + letters[1], t.replace("/", "\\/")))
            ]
            yield from level
    yield "url", quote(text, safe="")
    yield "url2", quote(quote(text, safe=""))
    yield "uri", quote(text)
    yield "plus", quote(text, safe="").replace("%20", "+")


def _placeholder(name: str, form: str) -> str:
    return f"{name}:{form}" if form else name


def _is_windows(places: Places) -> bool:
    return any("\\" in str(path) for path in (places.project, places.home, places.temp))


def _patterns(names: Mapping[str, str], flags: int) -> Iterator[re.Pattern[str]]:
    """Yield what finds a path, the longest first, but not a longer name that begins like it."""
    long, short = [], []
    for text in sorted(names, key=lambda text: (-len(text), text)):
        if names[text].endswith((":slug", ":dash")):
            long.append(re.escape(text) + r"(?![A-Za-z0-9])")
        elif len(re.findall(r"/|\\+|%2[Ff]", text)) > 1:
            long.append(re.escape(text) + _END)
        else:
            # /root may well be the end of another path; /home/me is not.
            short.append(re.escape(text) + _END)
    # Apart, since looking back makes it slow to find the others.
    if long:
        yield re.compile("|".join(long), flags)
    if short:
        start = r"(?:(?<![\w.}])|(?<=\\[nrt])|(?<=%[0-9A-F][0-9A-F]))"
        yield re.compile(f"{start}(?:{'|'.join(short)})", flags)


def _contexts(places: Places) -> Iterator[tuple[re.Pattern[str], str]]:
    """Yield what finds the names of the user and the machine where nothing else is meant."""
    if places.host:
        host = rf"{re.escape(places.host)}(?![\w-])"
        anywhere = r"|(?<![\w.-])" if _CERTAIN.fullmatch(places.host) else ""
        lead = rf"(@|%40|\bHOSTNAME=|\bLinux {anywhere})"
        yield re.compile(lead + host), "host"
    if places.user:
        user = re.escape(places.user)
        yield re.compile(rf"({_HOMES}){user}(?![\w]|\.\w)"), "user"
        yield re.compile(rf"(\b(?:USER|LOGNAME|USERNAME)=[\"']?){user}{_END}"), "user"
        yield re.compile(rf"((?:\b[ug]id=|\bgroups=|,)\d+\(){user}(?=\))"), "user"
        yield re.compile(rf"((?<![\w-])){user}(?=(?:@|%40)\{{\{{host\}}\}})"), "user"
        yield re.compile(rf"({_MODES}){user}(?=\s)"), "user"
        yield re.compile(rf"({_MODES}\S+\s+){user}(?=\s)"), "user"
        yield re.compile(rf"((?<![\w~/])~){user}(?=/|\s|$)"), "user"
