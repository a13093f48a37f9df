"""Real git repositories for tests, kept apart from this machine's own configuration."""

import os
import subprocess
from pathlib import Path

import pytest


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    """Run git as a user would."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def in_store(folder: Path, *arguments: str, check: bool = True) -> str:
    """Run git as a user would who looks into the runner's own objects."""
    store = folder / ".runner" / "autonomy" / "checkpoints" / "store.git"
    return git(folder, f"--git-dir={store}", *arguments, check=check)


def isolate(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Give git a home of its own, with an identity."""
    home.mkdir()
    for name in [n for n in os.environ if n.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    config = home / ".gitconfig"
    config.write_text(
        "[user]\n\tname = U\n\temail = u@localhost\n[init]\n\tdefaultBranch = main\n"
        '[protocol "file"]\n\tallow = always\n'
    )


def write(folder: Path, **files: str | bytes) -> None:
    """Write files; `__` in a name stands for a slash, `_dot_` for a dot."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below `folder` but git's and the runner's own."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not path.is_symlink()
        and not {".git", "autonomy"} & set(path.relative_to(folder).parts)
    }
