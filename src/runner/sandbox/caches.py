"""Where package managers and compilers keep their caches when the home folder is read-only."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from runner.reach import reach_of

_FOLDERS = {
    "XDG_CACHE_HOME": "cache",  # pip, uv, go build, pre-commit, playwright, …
    "XDG_STATE_HOME": "state",
    "npm_config_cache": "npm",
    "PNPM_HOME": "pnpm",
    "YARN_CACHE_FOLDER": "yarn",
    "YARN_GLOBAL_FOLDER": "yarn-berry",
    "BUN_INSTALL_CACHE_DIR": "bun",
    "DENO_DIR": "deno",
    "CARGO_HOME": "cargo",
    "GOPATH": "go",
    "GOMODCACHE": "go/pkg/mod",
    "GOCACHE": "cache/go-build",
    "GRADLE_USER_HOME": "gradle",
    "COMPOSER_HOME": "composer",
    "BUNDLE_USER_HOME": "bundle",
    "GEM_SPEC_CACHE": "gem-specs",
    "NUGET_PACKAGES": "nuget",
    "PYLINTHOME": "pylint",
}


def cache_variables(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that send every known cache to `folder`.

    Args:
        environ: the agent's own environment, to add to options that stand there already.
    """
    variables = {name: str(folder / place) for name, place in _FOLDERS.items()}
    maven = f"-Dmaven.repo.local={folder / 'maven'}"
    variables.update(_gems(folder / "gems", environ))
    variables["MAVEN_ARGS"] = f"{environ.get('MAVEN_ARGS', '')} {maven}".strip()
    return variables


def caches_elsewhere(environ: Mapping[str, str], home: Path, project: Path) -> tuple[Path, ...]:
    """Return the existing cache folders that the environment names outside home and project."""
    named = (environ.get(name, "") for name in (*_FOLDERS, "GEM_HOME"))
    # A link in the project would have agents choose what lies over what is hidden.
    reach = reach_of(project)
    absolute = (value for value in named if Path(value).is_absolute())
    folders = {Path(value).resolve() for value in absolute if reach.problem(value) is None}
    return tuple(
        sorted(
            folder
            for folder in folders
            if folder.is_dir()
            and not folder.is_relative_to(home)
            and not folder.is_relative_to(project)
            and not home.is_relative_to(folder)
            and not project.is_relative_to(folder)
        )
    )


def _gems(folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Have gems installed into `folder`, and those found that are installed already."""
    variables = {"GEM_HOME": str(folder)}
    home, path = environ.get("GEM_HOME"), environ.get("GEM_PATH")
    if home:
        # An empty last entry stands for the paths that RubyGems itself knows.
        variables["GEM_PATH"] = f"{path}:{home}" if path else f"{home}:"
    return variables


def link_cargo_settings(folder: Path, environ: Mapping[str, str], home: Path) -> None:
    """Let cargo in its own home find the user's mirrors and linkers (not the credentials)."""
    real = Path(environ.get("CARGO_HOME") or home / ".cargo") / "config.toml"
    ours = folder / "cargo"
    with suppress(OSError):
        ours.mkdir(exist_ok=True)
        if real.is_file() and not ours.is_symlink():
            (ours / "config.toml").symlink_to(real)
