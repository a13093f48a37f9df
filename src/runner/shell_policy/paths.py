"""Which paths a command may read, write, run or remove.

Decided on the real path: symbolic links are resolved at decision time, parents included,
also for names that do not exist yet. Protected names are compared without regard to case,
because some file systems do.
"""

import fnmatch
import posixpath
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.shell_policy.decision import Mode, PolicyRefusalError
from runner.shell_policy.private_files import ALSO_IN_PROJECTS, IN_HOME, NAMES_IN_PATTERNS
from runner.shell_policy.shell.values import FRESH

if TYPE_CHECKING:
    from runner.shell_policy.project_facts import ProjectFacts

NOTE = ".runner-note.md"
GUARDED = (".git", ".runner", ".autonoe", ".claude")
_GUARDED_FILES = frozenset({".mcp.json", ".gitmodules", ".gitconfig", ".bashrc", ".profile"})
_OPEN_DEVICES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"})
_DEVICE_FD = re.compile(r"/dev/fd/\d+")
_KERNEL = ("/proc/", "/sys/", "/dev/fd/")
_ENDLESS = frozenset({"/dev/zero", "/dev/random", "/dev/urandom", "/dev/full"})

_ONLY_IN_HOME = "|".join(re.escape(name) for name in IN_HOME if name not in ALSO_IN_PROJECTS)
# Files and folders that hold credentials or other people's data, wherever they stand.
_SECRET_ANYWHERE = re.compile(
    rf"(?:^|/)(?:{_ONLY_IN_HOME}"
    r"|\.docker/config\.json|\.local/state/runner|library/application support/runner"
    r"|\.claude\.json|\.claude/\.credentials\.json"
    r"|\.(?:bash|zsh|sh|python|node_repl|psql|mysql|sqlite|rediscli|irb)_?history"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)[\w.-]*|_runner_file_commands|git-credentials-[\w-]+\.config)(?:/|$)",
    re.IGNORECASE,
)
_SECRET_SYSTEM = re.compile(
    r"^/(?:etc/(?:g?shadow-?|sudoers(?:\.d)?|ssh|ssl/private|master\.passwd|krb5\.keytab|security)"
    r"|proc/(?:[^/]+/)+(?:environ|mem|maps|fd|cmdline|root|cwd|task|auxv|stack|syscall|map_files)"
    r"|proc/(?:kcore|kmem|kallsyms|sys/kernel)|sys/|root/\.|var/(?:log|spool|mail|run/(?:docker|secrets))"
    r"|run/(?:docker|secrets|user)|boot/)(?:/|$|[^/]*$)",
    re.IGNORECASE,
)
# Outside the project only: inside it such files are the project's own.
_SECRET_OUTSIDE = re.compile(
    rf"(?:^|/)(?:{'|'.join(map(re.escape, sorted(ALSO_IN_PROJECTS)))}"
    r"|\.env(?:\.[\w.-]+)?|\.envrc|\.claude|\.gitconfig|\.?credentials"
    r"|\.credentials_(?:rsaparams|migrated)|credentials\.json|secrets?\.(?:ya?ml|json|toml|txt)|[^/]+\.(?:pem|key|p12|pfx|jks|kdbx|keytab))(?:/|$)",
    re.IGNORECASE,
)
_PRIVATE_PLACE = re.compile(
    r"/etc/(?!os-release|hosts?\b|hostname|alternatives|apt/|issue)|/proc/(?!cpuinfo|meminfo|version|loadavg|uptime)"
    r"|/root(?:/|\b)|(?:~|\$\{?HOME\}?|/(?:home|Users)/[\w.-]+)/+\.(?!local/bin|cargo/bin|nvm|pyenv|venv|cache)"
)
# Names that a pattern in a path may not be made to match (`~/.ss[h]/…`).
_SECRET_NAMES = (
    *(name.casefold() for name in NAMES_IN_PATTERNS),
    ".ssh", ".aws", ".gnupg", ".azure", ".kube", ".netrc", ".git-credentials", ".pgpass",
    ".config/gh", ".config/gcloud", ".config/hub", ".config/op", ".config/rclone", ".docker/config.json",
    ".my.cnf", ".npmrc", ".pypirc", ".local/share/keyrings", ".local/state/runner", ".mozilla",
    ".claude/.credentials.json", ".cargo/credentials.toml",
    ".password-store", ".vault-token", ".claude.json", ".bash_history", ".zsh_history",
    "_runner_file_commands", "id_rsa", "id_ed25519", "id_ecdsa", "etc/shadow", "etc/gshadow", "etc/sudoers",
    "proc/1/environ", "proc/self/environ", "proc/self/mem", "proc/self/fd", "proc/self/cwd", "proc/self/root",
    ".env", ".envrc", ".env.production", ".yarnrc.yml", ".claude", ".codex", ".gitconfig", ".gem/credentials",
    ".cargo/credentials", ".m2/settings.xml", ".composer/auth.json", ".credentials", "credentials",
    "server.pem", "server.key", "cert.p12", ".python_history", ".psql_history",
    ".lesshst", ".viminfo", "etc/ssh", "etc/ssl/private", "etc/security", "var/log", "run/secrets",
)  # fmt: skip
_GLOB = re.compile(r"[*?\[]")
_INSTEAD = "Write inside the project directory or under /tmp."


@dataclass(frozen=True, slots=True)
class PathPolicy:
    """The path rules for one project and mode.

    Args:
        project: the project directory; need not exist.
        mode: in sync nothing in the project may be written but the note.
        facts: what is known about files; the only thing that looks at the disk.
        home: the user's home folder, as `~` means it.
        scratch: the real paths of the folders outside of the project that may be written.
        note_writable: whether the note may be written in sync (not in a review).
    """

    project: str
    mode: Mode
    facts: "ProjectFacts"
    home: str
    scratch: tuple[str, ...] = ()
    note_writable: bool = True

    @classmethod
    def of(
        cls,
        facts: "ProjectFacts",
        mode: Mode,
        scratch: tuple[str, ...] = (),
        *,
        note: bool = True,
    ) -> "PathPolicy":
        """Return the rules for a project; /tmp and the folders in `scratch` may be written."""
        folders = tuple(dict.fromkeys(facts.real_path(p) for p in ("/tmp", *scratch)))  # noqa: S108
        return cls(facts.project, mode, facts, facts.home, folders, note)

    def absolute(self, text: str, cwd: str | None) -> str | None:
        """Return the real path, or None when it depends on an unknown working directory."""
        if text.startswith("~"):
            text = self.home + text[1:] if text[1:2] in ("", "/") else f"/home/{text[1:]}"
        if not text.startswith("/"):
            if cwd is None:
                return None
            text = posixpath.join(self.project, cwd, text)
        return self.facts.real_path(text)

    def inside(self, real: str) -> bool:
        """Whether a real path is the project directory or below it."""
        return real == self.project or real.startswith(self.project.rstrip("/") + "/")

    def in_scratch(self, real: str) -> bool:
        """Whether a real path is in a scratch folder. A home below such a folder is none."""
        return any(
            _is_below(real, folder) and not self._is_private(real, folder)
            for folder in self.scratch
        )

    def _is_private(self, real: str, folder: str) -> bool:
        """Whether a path in a scratch folder is in the user's home, or a dotfile of it."""
        home = self.facts.real_path(self.home)
        if home == folder:
            return real.removeprefix(home).startswith("/.")
        return _is_below(home, folder) and _is_below(real, home)

    def read(self, text: str, cwd: str | None) -> None:
        """Refuse credentials, other processes' data and devices."""
        self._plain(text)
        if self._is_open_device(text):
            return
        real = self.absolute(text, cwd)
        for form in (text, self._lexical(text, cwd), real or text):
            self._refuse_secret(form, inside=real is not None and self.inside(real))
        if real is None:
            return
        if real.startswith("/dev/") and not self._is_open_device(self._lexical(text, cwd)):
            raise PolicyRefusalError("path:device", f"{text} is a device and can't be read here.")
        lexical = self._lexical(text, cwd)
        if self.inside(lexical) and not self.inside(real) and not self._is_toolchain(real):
            raise PolicyRefusalError(
                "path:link", f"{text} is a link that leaves the project. Read files of the project."
            )

    def read_tree(self, text: str, cwd: str | None) -> None:
        """As `read`, and refuse to walk through whole home or system trees."""
        self.read(text, cwd)
        real = self.absolute(text, cwd)
        if real is None or self.in_scratch(real) or self.inside(real):
            return
        wide = {"/", "/home", "/root", "/etc", "/proc", "/var", "/dev", "/run", "/sys", self.home}
        if real in wide or re.match(r"/(?:home|Users)/[^/]+$|/(?:proc|sys)/", real):
            raise PolicyRefusalError(
                "path:tree",
                f"Searching all of {text} would reach private files. Search in the project.",
            )

    def write(self, text: str, cwd: str | None) -> None:
        """Allow the project, /tmp and scratch folders; refuse what is protected."""
        self._plain(text)
        if self._is_open_device(text):
            return
        real = self._writable(text, cwd)
        if self.mode == "sync" and not self.in_own_scratch(real, text, cwd):
            self._write_in_sync(text, real, cwd)

    def in_own_scratch(self, real: str, text: str, cwd: str | None) -> bool:
        """Whether a path is in a scratch folder and outside the project."""
        return self.in_scratch(real) and not self.inside(real) and self._is_absolute(text, cwd)

    def _write_in_sync(self, text: str, real: str, cwd: str | None) -> None:
        note = posixpath.join(self.project, NOTE)
        if self.note_writable and real == note and self._lexical(text, cwd) == note:
            return
        if self.note_writable:
            hint = f"Only {NOTE} and files under /tmp may be written; record what you found there."
        else:
            hint = "Write temporary files under /tmp."
        raise PolicyRefusalError("path:read-only", f"This session is read-only: {text}. {hint}")

    def _writable(self, text: str, cwd: str | None) -> str:
        real = self.absolute(text, cwd)
        if real is None:
            raise PolicyRefusalError(
                "path:unknown",
                f"It is not known in which directory {text} would be written. "
                "Use a path relative to the project directory.",
            )
        lexical = self._lexical(text, cwd)
        if lexical.startswith(_KERNEL):
            # Links there lead to wherever the process that looks happens to be.
            raise PolicyRefusalError("path:outside", f"{text} is no place for files. {_INSTEAD}")
        self.refuse_guarded(lexical, text)
        self.refuse_guarded(real, text)
        if self.inside(real) and self.inside(lexical):
            if real == self.project and text not in (".", "./"):
                return real
            return real
        if self.in_own_scratch(real, text, cwd):
            return real
        raise PolicyRefusalError("path:outside", f"{text} is outside the project. {_INSTEAD}")

    def project_file(self, text: str, cwd: str | None) -> None:
        """Allow only what stands in the project, for what a tool would run or be ruled by."""
        self.read(text, cwd)
        real = self.absolute(text, cwd)
        if real is None:
            if text.startswith(("/", "~")) or ".." in text.split("/"):
                raise PolicyRefusalError("path:unknown", f"Where {text} leads is not known.")
            return
        if not self.inside(real):
            raise PolicyRefusalError(
                "path:outside-project",
                f"{text} is not in the project. Use the project's own files.",
            )

    def remove(self, text: str, cwd: str | None) -> None:
        """Allow removing or moving away what is inside the project (seed 001, rm/mv)."""
        if any(part == ".." for part in text.split("/")):
            raise PolicyRefusalError(
                "path:remove", f"{text}: name what is removed without '..', below the project."
            )
        _refuse_lost_folder(text, removes=True)
        self.write(text, cwd)
        real = self.absolute(text, cwd)
        if real == self.project or real in self.scratch:
            raise PolicyRefusalError(
                "path:remove", f"{text}: the project directory itself must stay."
            )
        if real is not None and self.project.startswith(real + "/"):
            raise PolicyRefusalError("path:remove", f"{text} contains the project directory.")

    def refuse_guarded(self, path: str, shown: str) -> None:
        """Refuse to change `.git`, `.runner`, `.claude` and files that steer tools."""
        parts = [folded(part) for part in path.split("/")]
        for part in parts:
            if part in GUARDED:
                raise PolicyRefusalError(
                    "path:protected",
                    f"{shown}: {part} is protected. Use git commands, and the tools of runner "
                    "for its state.",
                )
        if any(map(_hides_path, path.split("/"))):
            raise PolicyRefusalError(
                "path:blank",
                f"{shown}: split at its blanks, this name would be another path. Leave them out.",
            )
        if parts[-1] in _GUARDED_FILES:
            raise PolicyRefusalError("path:protected", f"{shown} is protected; leave it as it is.")
        if parts[-1].startswith("-") or re.search(r"\s-", parts[-1]):
            raise PolicyRefusalError(
                "path:dash", f"{shown}: a name that begins with '-' would be taken for an option."
            )

    def _refuse_secret(self, path: str, *, inside: bool) -> None:
        if (
            _SECRET_ANYWHERE.search(path)
            or _SECRET_SYSTEM.match(path)
            or (not inside and _SECRET_OUTSIDE.search(path) and path.startswith(("/", "~", "..")))
        ):
            raise PolicyRefusalError(
                "path:secret",
                f"{path} may hold credentials or private data, and is not needed. Work with the "
                "files of the project.",
            )

    def _lexical(self, text: str, cwd: str | None) -> str:
        if text.startswith("~"):
            text = self.home + text[1:] if text[1:2] in ("", "/") else f"/home/{text[1:]}"
        return posixpath.normpath(posixpath.join(self.project, cwd or ".", text))

    def _is_absolute(self, text: str, cwd: str | None) -> bool:
        """Whether a path was named from the root: `../x` must not count as /tmp by accident."""
        return text.startswith("/") or (cwd is not None and cwd.startswith("/"))

    @staticmethod
    def _is_open_device(text: str) -> bool:
        return text in _OPEN_DEVICES or _DEVICE_FD.fullmatch(text) is not None

    @staticmethod
    def _is_toolchain(real: str) -> bool:
        return real.startswith(("/usr/", "/opt/", "/nix/", "/lib/", "/lib64/", "/bin/"))

    @staticmethod
    def _plain(text: str) -> None:
        if "\x00" in text:
            raise PolicyRefusalError("path:nul", "A path can't contain a NUL character.")
        _refuse_lost_folder(text)


def _hides_path(part: str) -> bool:
    """Whether an unquoted variable with this name would become a protected or absolute path."""
    pieces = [folded(piece) for piece in part.split()]
    hidden = any(piece in GUARDED or piece in _GUARDED_FILES for piece in pieces)
    return (hidden and len(pieces) > 1) or part != part.rstrip()


def _refuse_lost_folder(text: str, *, removes: bool = False) -> None:
    """Refuse what would reach the system if `mktemp` failed and its name were empty."""
    if FRESH not in text:
        return
    rest = text.rpartition(FRESH)[2]
    top = rest.lstrip("/").partition("/")[0]
    if rest.startswith("/"):
        reaches = (
            removes
            or not top
            or _PATTERN.search(top) is not None
            or _TOP_FOLDERS.fullmatch(top) is not None
        )
    else:
        reaches = rest.startswith(".") and not rest.startswith("./")
    if reaches:
        raise PolicyRefusalError(
            "path:mktemp",
            f"If mktemp failed, this would be {rest}. Write the folder without a slash behind it, "
            "or name one yourself, such as /tmp/scratch.",
        )


_PATTERN = re.compile(r"[*?\[]")
# What a system has at its root, on Linux or macOS; nothing looks which of them this one has.
_TOP_FOLDERS = re.compile(
    r"bin|boot|cores|data|dev|efi|etc|home|init|lib|lib32|lib64|libx32|lost\+found|media|mnt|net|nix|opt|private|proc"
    r"|root|run|sbin|snap|srv|sys|tmp|usr|var|Applications|Library|Network|System|Users|Volumes|\.\."
)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def folded(name: str) -> str:
    """Return a name as a file system may compare names: no case, no invisible characters, one form."""
    visible = "".join(c for c in name if unicodedata.category(c) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().rstrip(". ") or name


def protected_in(text: str) -> str | None:
    """Return the protected path inside an option's value (`xml:PATH`, `k=v,file=PATH`), if any."""
    for piece in _SEPARATORS.split(text):
        names = [folded(part) for part in piece.split("/")]
        if any(name in GUARDED for name in names) or names[-1] in _GUARDED_FILES:
            return piece
    return None


def outside_in(text: str, paths: PathPolicy) -> str | None:
    """Return the path in a value that leads to a place of the system that may not be written."""
    for piece in _SEPARATORS.split(text):
        if "/.." in piece and not piece.startswith(("/", "~", "$")):
            piece = posixpath.normpath(piece)  # noqa: PLW2901 - `src/../../x` leads out like `../x`
        top = piece.lstrip("/").partition("/")[0]
        is_system = piece.startswith("/") and (
            _TOP_FOLDERS.fullmatch(top) is not None or top == paths.project.split("/")[1]
        )
        if piece.startswith("//") or not (is_system or piece.startswith(("~", "../"))):
            continue
        real = paths.absolute(piece, ".") or piece
        if not paths.inside(real) and not paths.in_scratch(real) and piece != "/dev/null":
            return piece
    return None


_SEPARATORS = re.compile(r"[=:;,|\s'\"()\[\]{}<>@]+")


def mentions_secret(text: str) -> bool:
    """Whether any text (source of an unknown word, inline code) names a credential file."""
    return bool(
        _SECRET_ANYWHERE.search(text) or re.search(r"/etc/g?shadow|/proc/\S+/environ", text)
    )


def mentions_private(text: str) -> bool:
    """Whether a text names a place with credentials, from which a computed path could be made."""
    return mentions_secret(text) or _PRIVATE_PLACE.search(text) is not None


def pattern_reaches_secret(pattern: str) -> bool:
    """Whether a glob pattern could match a credential file, be it there or not."""
    parts = [part for part in pattern.casefold().split("/") if part not in ("", ".")]
    return any(_reaches(parts, secret.split("/")) for secret in _SECRET_NAMES)


def _reaches(parts: list[str], names: list[str]) -> bool:
    """Whether the pattern's parts match the names in a row, one of them by a pattern."""
    for start in range(len(parts)):
        row = list(zip(parts[start:], names, strict=False))
        patterns = len(row) == len(names) and any(_GLOB.search(part) for part, _ in row)
        if patterns and all(_part_matches(part, name) for part, name in row):
            return True
    return False


def _part_matches(part: str, name: str) -> bool:
    """As bash does: a leading dot is matched by a dot only."""
    return not (name.startswith(".") and not part.startswith(".")) and fnmatch.fnmatchcase(
        name, part
    )


def is_endless(text: str) -> bool:
    """Whether reading this device never ends."""
    return text in _ENDLESS
