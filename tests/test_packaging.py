"""The distributions: built, installed and run from another folder, without a network."""

import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from runner import __version__
from runner.cli.help_cache import rendered_help

ROOT = Path(__file__).parents[1]
TEXTS = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "SPEC.example.md", *ROOT.glob("instructions/*"), *ROOT.glob("profiles/*"))
)

# Prints where the data is found, one path a line, and stops when the demo is not complete.
FIND = """
import sys
from runner.replay.demo import demo_script, demo_spec_text
from runner.resources import data_path
assert demo_script().session and demo_spec_text()
for name in sys.argv[1:]:
    print(data_path(name))
"""


def _run(*command: object, cwd: Path, path: Path | None = None) -> str:
    """Return what a command printed, in surroundings that know nothing of this source tree."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "LC_ALL": "C.UTF-8"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist from the tree, and the wheel from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    _run(*build, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def unpacked(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the unpacked sdist."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"autonomous_runner-{__version__}"


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the binaries of a new environment with the wheel.

    Its dependencies are those of this interpreter, so that nothing has to be downloaded.
    """
    folder = tmp_path_factory.mktemp("installed") / "an environment"
    _install(folder, "--no-index", next(dist.glob("*.whl")))
    return folder / "bin"


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the binaries of a new environment with an editable install of the tree."""
    folder = tmp_path_factory.mktemp("editable") / "environment"
    _install(folder, "--no-build-isolation", "--editable", ROOT)
    return folder / "bin"


def _install(folder: Path, *what: object) -> None:
    venv.create(folder, with_pip=False, symlinks=True)
    paths = sysconfig.get_paths("posix_prefix", {"base": str(folder), "platbase": str(folder)})
    ours = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(paths["purelib"], "dependencies.pth").write_text("\n".join(sorted(ours)) + "\n")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder)
    options = ("--quiet", "--no-deps", "--ignore-installed")
    _run(*pip, "install", *options, *what, cwd=folder)


@pytest.fixture(params=["wheel", "sdist", "editable", "tree"])
def find(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., list[Path]]:
    """Return what finds data with one kind of installation, from an empty folder."""

    def from_environment(*names: str) -> list[Path]:
        kind = "installed" if request.param == "wheel" else request.param
        python = request.getfixturevalue(kind) / "python"
        return _lines(_run(python, "-c", FIND, *names, cwd=tmp_path))

    def from_source(*names: str) -> list[Path]:
        tree = ROOT if request.param == "tree" else request.getfixturevalue("unpacked")
        return _lines(_run(sys.executable, "-c", FIND, *names, cwd=tmp_path, path=tree / "src"))

    return from_environment if request.param in ("wheel", "editable") else from_source


def _lines(text: str) -> list[Path]:
    return [Path(line) for line in text.splitlines()]


@pytest.mark.process
def test_the_data_of_every_installation_is_that_of_the_tree(
    find: Callable[..., list[Path]],
) -> None:
    found = find(*TEXTS)
    assert [path.read_text() for path in found] == [(ROOT / name).read_text() for name in TEXTS]


@pytest.mark.process
def test_the_tree_is_read_in_place(tmp_path: Path) -> None:
    python = (sys.executable, "-c", FIND)
    assert _lines(_run(*python, *TEXTS, cwd=tmp_path, path=ROOT / "src")) == [
        ROOT / name for name in TEXTS
    ]


@pytest.mark.process
def test_an_installed_wheel_needs_nothing_of_the_tree(installed: Path, tmp_path: Path) -> None:
    found = _lines(_run(installed / "python", "-c", FIND, *TEXTS, cwd=tmp_path))
    assert [path for path in found if not path.is_relative_to(installed.parent)] == []


@pytest.mark.process
def test_the_installed_command_answers(installed: Path, tmp_path: Path) -> None:
    command = installed / "runner"
    assert _run(command, "--version", cwd=tmp_path) == f"runner {__version__}\n"
    assert _run(command, "--help", cwd=tmp_path) == rendered_help()


@pytest.mark.process
def test_the_sdist_builds_the_same_wheel_as_the_tree(dist: Path, tmp_path: Path) -> None:
    build = (sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path)
    _run(*build, ROOT, cwd=tmp_path)
    (one,), (other,) = dist.glob("*.whl"), tmp_path.glob("*.whl")
    with zipfile.ZipFile(one) as from_sdist, zipfile.ZipFile(other) as from_tree:
        assert sorted(from_sdist.namelist()) == sorted(from_tree.namelist())


def test_the_wheel_carries_the_package_and_nothing_beside_it(dist: Path) -> None:
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    assert {name.partition("/")[0] for name in names} == {
        "runner",
        f"autonomous_runner-{__version__}.dist-info",
    }
    assert {"runner/py.typed", "runner/cli/help.txt", "runner/sandbox/guard.py"} <= set(names)
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert not [name for name in names if "__pycache__" in name]


def test_the_sdist_carries_what_working_on_it_takes(unpacked: Path) -> None:
    wanted = {"Makefile", "constraints.txt", "docs", "src", "tests", "benchmarks", "pyproject.toml"}
    assert wanted <= {path.name for path in unpacked.iterdir()}
