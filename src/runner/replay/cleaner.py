"""What a recording keeps of a text: no secrets, no paths of this machine.

Two forms: *portable* text can be played again, with placeholders where paths were; a
*comparable* one is only compared, and has neither times nor ids.
"""

import hashlib
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.replay.script import escape
from runner.replay.secrets import Scrubber, secret_values
from runner.replay.volatile import without_volatile
from runner.replay.wire import without_reminders

# Characters of a compared text that are kept: more than the agent leaves of an output it cuts.
_LIMIT = 40_000
_SLUG_LENGTH = 8
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of this machine that texts mention.

    Attributes:
        project: absolute; None when there is none.
        temp: the folder for temporary files; None for /tmp, which is the same everywhere.
    """

    project: Path | None = None
    home: Path | None = None
    temp: Path | None = None

    @classmethod
    def here(cls, project: Path | None, environ: Mapping[str, str]) -> "Places":
        """Return those of this process."""
        temp = Path(tempfile.gettempdir())
        home = environ.get("HOME")
        return cls(
            project=project,
            home=Path(home) if home and len(home) > 1 else None,
            temp=None if temp == Path("/tmp") else temp,  # noqa: S108
        )

    def values(self) -> dict[str, str]:
        """Return what the placeholders of a script stand for."""
        known = {"project": self.project, "home_dir": self.home, "temp_dir": self.temp}
        values = {name: str(path) for name, path in known.items() if path is not None}
        return {"temp_dir": tempfile.gettempdir(), **values}


class Cleaner:
    """Cleans texts. Safe to use from many threads.

    Args:
        scrub: takes out the secrets.
    """

    def __init__(self, places: Places, scrub: Scrubber) -> None:
        self._scrub = scrub
        self._names = _names(places)
        self._paths = _paths(self._names)
        self._slug = _slug(places.project)

    @classmethod
    def here(cls, project: Path | None, environ: Mapping[str, str]) -> "Cleaner":
        """Return one for this machine, with the secrets that its environment names."""
        return cls(Places.here(project, environ), Scrubber(secret_values(environ)))

    def learn_secrets(self, *values: str) -> None:
        """Take these as secrets from now on."""
        self._scrub.learn(*values)

    def portable(self, text: str) -> str:
        """Return the text as a script has it; what reads like a placeholder is escaped."""
        return self._placed(escape(self._scrub(_encodable(text))))

    def portable_json(self, value: Any) -> Any:
        """Return a JSON value with every text in it, names included, portable."""
        if isinstance(value, str):
            return self.portable(value)
        if isinstance(value, list):
            return [self.portable_json(item) for item in value]
        if isinstance(value, dict):
            return {
                self._scrub(_encodable(key)): self.portable_json(item)
                for key, item in value.items()
            }
        return value

    def comparable(self, text: str) -> str:
        """Return what of the text has to be the same in every replay."""
        said = without_reminders(_encodable(text)).strip()
        return _cut(without_volatile(self._placed(self._scrub(said))))

    def _placed(self, text: str) -> str:
        if self._slug is not None:
            text = self._slug.sub("-project-", text)
        if self._paths is None:
            return text
        return self._paths.sub(lambda match: f"{{{{{self._names[match[0]]}}}}}", text)


def _names(places: Places) -> dict[str, str]:
    names: dict[str, str] = {}
    for name, path in (
        ("project", places.project),
        ("home_dir", places.home),
        ("temp_dir", places.temp),
    ):
        if path is not None:
            for form in (path, path.resolve()):
                names.setdefault(str(form), name)
    return {path: name for path, name in names.items() if len(path) > 1}


def _paths(names: Mapping[str, str]) -> re.Pattern[str] | None:
    """Return what finds a path, the longest first, but not a longer name that begins like it."""
    if not names:
        return None
    forms = []
    for path in sorted(names, key=lambda path: (-len(path), path)):
        # /root may well be the end of another path; /home/me is not.
        start = r"(?<![\w.}])" if path.count("/") == 1 else ""
        forms.append(start + re.escape(path))
    return re.compile(rf"(?:{'|'.join(forms)})(?![\w-]|\.\w)")


def _slug(project: Path | None) -> re.Pattern[str] | None:
    """Return what finds the name that Claude Code gives its folder for the project."""
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(project)) if project else ""
    return re.compile(rf"{re.escape(slug)}(?![A-Za-z0-9])") if len(slug) >= _SLUG_LENGTH else None


def _encodable(text: str) -> str:
    """JSON can carry half of a character, a file can't."""
    return text.encode(errors="replace").decode()


def _cut(text: str) -> str:
    if len(text) <= _LIMIT:
        return text
    # In letters, so that it never looks like one of the hashes that are taken out.
    digest = hashlib.sha256(text.encode()).hexdigest()[:16].translate(_LETTERS)
    return f"{text[:_LIMIT]}… ({len(text) - _LIMIT} more characters, {digest})"
