"""As whom a container's program runs, in containers started the ways people do: `make images-test`."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.images.bases import run
from tests.images.containers import (
    PODMAN_RUN,
    SANDBOX_OPTIONS,
    STATE,
    build,
    inside,
    start,
)

ANYBODY = "--user=54321:54321"
# podman gives such a user a name, with the working directory as home; Docker gives none.
AS_DOCKER = "--passwd=false"
MAPPED = ("--uidmap=0:100000:65536", "--gidmap=0:100000:65536")
PLAN = (
    '{"deliverables": [{"id": "A-001", "description": "It works", "acceptanceCriteria": ["yes"], '
    '"passed": false, "blocked": false}]}'
)

pytestmark = [
    pytest.mark.images,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        os.environ.get("RUNNER_IMAGES") != "1", reason="builds images: make images-test"
    ),
]


@pytest.fixture(scope="session")
def base(bases: None) -> str:
    del bases
    return build("localhost/runner-test:base", "--target=base")


@pytest.fixture(scope="session")
def node(bases: None) -> str:
    """Build an image whose uid 1000 has another name, and by itself another home."""
    del bases
    return build("localhost/runner-test:node", "--target=node")


@pytest.fixture
def roots(tmp_path: Path) -> Path:
    """Return a repository that root owns, as a CI system that runs as root checks it out."""
    tmp_path.chmod(0o755)
    folder = tmp_path / "workspace"
    run("git", "init", "--quiet", str(folder))
    return folder


@pytest.fixture
def project(workspace: Path) -> Path:
    """Return a workspace that anybody may write, with a plan that a session can start on."""
    workspace.chmod(0o777)
    (workspace / "SPEC.md").write_text("# Spec\n\nIt works.\n")
    (workspace / ".runner").mkdir()
    (workspace / ".runner/status.json").write_text(PLAN)
    for path in (workspace / ".runner", workspace / ".runner/status.json"):
        os.chown(path, 54321, 54321)
    return workspace


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """Return a folder of the caller's, to be mounted in the home."""
    folder = tmp_path / "settings"
    folder.mkdir()
    (folder / "config").write_text("[user]\nname = Ada\n")
    for path in (folder, folder / "config"):
        os.chown(path, 7777, 7777)
    return folder


def test_the_machines_root_runs_nothing_in_a_workspace_of_roots(base: str, roots: Path) -> None:
    done = inside(base, roots, "touch", "made-here")
    assert (done.returncode, (roots / "made-here").exists()) == (2, False)


def test_a_refusal_of_root_names_the_ways_out(base: str, roots: Path) -> None:
    said = inside(base, roots, "true").stderr
    assert [way in said for way in ("chown -R 1000", "rootless", "RUNNER_ALLOW_ROOT=1")] == [
        True
    ] * 3


def test_root_can_be_allowed_with_a_warning(base: str, roots: Path) -> None:
    done = inside(base, roots, "id", "-u", options=("--env=RUNNER_ALLOW_ROOT=1",))
    assert (done.stdout, "real root" in done.stderr) == ("0\n", True)


def test_a_folder_of_roots_that_all_may_write_is_worked_in_by_the_images_user(
    base: str, roots: Path
) -> None:
    roots.chmod(0o777)
    done = inside(base, roots, "sh", "-c", "id -u && git status --short && touch made-here")
    assert (done.stdout, (roots / "made-here").stat().st_uid) == ("1000\n", 1000)


def test_what_is_mounted_read_only_is_read_by_the_images_user(base: str, roots: Path) -> None:
    done = start(base, "id", "-u", options=(f"--volume={roots}:/workspace:ro",))
    assert done.stdout == "1000\n"


@pytest.mark.parametrize("command", [("runner", "--version"), ("runner", "demo")])
def test_without_a_mount_the_images_user_runs_things(base: str, command: tuple[str, ...]) -> None:
    done = start(base, *command, options=SANDBOX_OPTIONS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_root_of_a_rootless_engine_stays_who_called_it(base: str, roots: Path) -> None:
    os.chown(roots, 100000, 100000)
    done = inside(base, roots, "sh", "-c", "id -u && touch made-here", options=MAPPED)
    assert (done.stdout, (roots / "made-here").stat().st_uid) == ("0\n", 100000), done.stderr


def test_a_start_without_the_capabilities_to_change_the_user_is_refused(
    base: str, workspace: Path
) -> None:
    done = inside(base, workspace, "true", options=("--cap-drop=ALL",))
    assert (done.returncode, "--user 4242:4242" in done.stderr) == (2, True)


@pytest.mark.parametrize("engine", ["--passwd=true", AS_DOCKER])
def test_a_chosen_user_lives_in_the_home_where_mounts_are_expected(
    base: str, workspace: Path, engine: str
) -> None:
    look = "echo $HOME && getent passwd $(id -u) | cut -d: -f6"
    done = inside(base, workspace, "sh", "-c", look, options=(ANYBODY, engine))
    assert done.stdout == "/home/runner\n/home/runner\n"


def test_a_home_that_the_caller_chose_is_kept(base: str, workspace: Path) -> None:
    options = (ANYBODY, "--env=HOME=/tmp")
    assert inside(base, workspace, "sh", "-c", "echo $HOME", options=options).stdout == "/tmp\n"


def test_the_images_user_has_the_same_home_under_another_name(node: str, workspace: Path) -> None:
    done = inside(node, workspace, "sh", "-c", "echo $HOME", options=("--user=node",))
    assert done.stdout == "/home/runner\n"


def test_a_chosen_user_can_gain_no_privilege(base: str, workspace: Path) -> None:
    done = inside(base, workspace, "grep", "NoNewPrivs", "/proc/self/status", options=(ANYBODY,))
    assert done.stdout.split()[-1] == "1"


@pytest.mark.parametrize("engine", ["--passwd=true", AS_DOCKER])
def test_a_chosen_users_session_goes_on_in_the_next_container(
    base: str, project: Path, volume: str, engine: str
) -> None:
    options = (ANYBODY, engine, f"--volume={volume}:{STATE}")
    first = inside(base, project, "runner", "session", "start", options=options)
    second = inside(base, project, "runner", "session", "status", options=options)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert ", running" in second.stdout
    assert "Warning" not in first.stderr + second.stderr


@pytest.mark.parametrize("options", [(), (ANYBODY,)])
def test_a_session_whose_secret_is_not_mounted_is_told_in_a_line(
    base: str, project: Path, options: tuple[str, ...]
) -> None:
    inside(base, project, "runner", "session", "start", options=(ANYBODY,))
    said = inside(base, project, "true", options=options).stderr
    assert (len(said.splitlines()), f"-v runner-state:{STATE}" in said) == (1, True)


def test_a_state_of_another_user_is_told(base: str, workspace: Path, volume: str) -> None:
    options = (f"--volume={volume}:{STATE}",)
    inside(base, workspace, "true", options=options)
    said = inside(base, workspace, "true", options=(ANYBODY, *options)).stderr
    assert f"uid 54321 can't write to {STATE}" in said


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_what_is_mounted_in_the_home_is_used_and_left_alone(
    base: str, workspace: Path, settings: Path, mode: str
) -> None:
    options = (
        f"--volume={settings}:/home/runner/.config/a b[1]*:{mode}",
        f"--volume={settings / 'config'}:/home/runner/.gitconfig:{mode}",
    )
    done = inside(base, workspace, "git", "config", "user.name", options=options)
    owners = {path.stat().st_uid for path in (settings, settings / "config")}
    assert (done.stdout, done.stderr, owners) == ("Ada\n", "", {7777})


def test_no_link_in_the_home_is_followed(base: str, workspace: Path, tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(f"FROM {base}\nRUN ln -s /etc /home/runner/link\n")
    image = build("localhost/runner-test:link", file=file)
    done = inside(image, workspace, "stat", "-c", "%u", "/etc", "/etc/shadow")
    assert done.stdout == "0\n0\n"


def test_a_container_that_can_not_be_written_has_a_home_with_what_was_mounted(
    base: str, workspace: Path, settings: Path, volume: str
) -> None:
    options = (
        "--read-only",
        f"--volume={settings / 'config'}:/home/runner/.gitconfig:ro",
        f"--volume={volume}:{STATE}",
    )
    look = "git config user.name && touch ~/.local/state/runner/kept"
    done = inside(base, workspace, "sh", "-c", look, options=options)
    kept = inside(base, workspace, "test", "-e", f"{STATE}/kept", options=options[2:])
    assert (done.stdout, kept.returncode) == ("Ada\n", 0), done.stderr


@pytest.fixture
def running(base: str, workspace: Path) -> Iterator[str]:
    """Start a container that goes on, and return its name."""
    name = f"runner-test-{os.getpid()}"
    run(*PODMAN_RUN, "--detach", f"--name={name}", f"--volume={workspace}:/workspace", base,
        "sleep", "600")  # fmt: skip
    yield name
    subprocess.run(["podman", "rm", "--force", "--time=0", name], capture_output=True, check=False)


def test_a_command_in_a_running_container_can_become_the_same_user(running: str) -> None:
    assert run("podman", "exec", running, "runner-entrypoint", "id", "-u") == "4242\n"
