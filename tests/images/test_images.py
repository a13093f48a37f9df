"""The container images, built and run for real: `make images-test` (needs root and Debian)."""

import os
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.images.bases import run
from tests.images.containers import ROOT, SANDBOX_OPTIONS, STATE, build, inside
from tests.images.languages import LANGUAGES, script

TOOLS = ("git", "curl", "gpg", "ssh", "bwrap", "socat", "jq", "rg", "make", "tini")

pytestmark = [
    pytest.mark.images,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        os.environ.get("RUNNER_IMAGES") != "1", reason="builds images: make images-test"
    ),
]


def tell_size(request: pytest.FixtureRequest, name: str, tag: str) -> int:
    """Print and return an image's size in MB; `-rA` is not needed to see it."""
    size = int(run("podman", "image", "inspect", "--format", "{{.Size}}", tag)) // 1_000_000
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    assert reporter is not None
    reporter.ensure_newline()
    reporter.write_line(f"{name}: {size} MB")
    return size


@pytest.fixture(scope="session", params=LANGUAGES)
def target(request: pytest.FixtureRequest) -> str:
    """Return each target of the Dockerfile in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def image(request: pytest.FixtureRequest, target: str, bases: None) -> str:
    """Build each target and return its tag."""
    del bases
    tag = build(f"localhost/runner-test:{target}", f"--target={target}")
    tell_size(request, target, tag)
    return tag


@pytest.fixture(scope="session")
def without_agent(request: pytest.FixtureRequest, bases: None) -> str:
    """Build an image as it is published."""
    del bases
    tag = "localhost/runner-test:published"
    build(tag, "--target=base", "--build-arg=RUNNER_AGENT=path")
    tell_size(request, "base as published, without the agent", tag)
    return tag


def test_the_demo_passes_in_the_sandbox(image: str, workspace: Path) -> None:
    done = inside(image, workspace, "runner", "demo", options=SANDBOX_OPTIONS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Sandbox: bubblewrap" in done.stdout


def test_the_agent_writes_as_the_owner_of_the_workspace(image: str, workspace: Path) -> None:
    inside(image, workspace, "touch", "made-here")
    assert (workspace / "made-here").stat().st_uid == 4242


def test_the_program_runs_without_privileges(image: str, workspace: Path) -> None:
    done = inside(image, workspace, "grep", "CapEff", "/proc/self/status")
    assert done.stdout.split()[-1].strip("0") == ""


def test_any_user_id_can_be_chosen(image: str, workspace: Path) -> None:
    options = ("--user=54321:54321", *SANDBOX_OPTIONS)
    done = inside(image, workspace, "runner", "demo", options=options)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_run_is_refused_where_the_container_forbids_the_sandbox(
    image: str, workspace: Path
) -> None:
    (workspace / "SPEC.md").write_text("# Nothing\n")
    done = inside(
        image,
        workspace,
        "runner",
        "run",
        options=("--env=ANTHROPIC_API_KEY=dummy", "--env=ANTHROPIC_BASE_URL=http://127.0.0.1:9"),
    )
    assert done.returncode == 2
    assert "--security-opt seccomp=unconfined" in done.stderr


def test_a_second_container_reads_the_state_that_the_first_one_sealed(
    image: str, workspace: Path, volume: str
) -> None:
    compose = YAML(typ="safe").load(ROOT / "docker/compose.yml")
    service = compose["services"]["runner"]
    options = (
        f"--volume={volume}:{STATE}",
        *(f"--cap-drop={name}" for name in service["cap_drop"]),
        *(f"--cap-add={name}" for name in service["cap_add"]),
    )
    key = "~/.local/state/runner/key"
    write = f"umask 077 && chmod 700 ~/.local/state/runner && echo sealed > {key}"
    first = inside(image, workspace, "sh", "-c", write, options=options)
    second = inside(image, workspace, "sh", "-c", f"cat {key}", options=options)
    assert (first.returncode, second.stdout) == (0, "sealed\n"), first.stderr + second.stderr


def test_a_signal_to_the_container_ends_it(image: str, workspace: Path) -> None:
    done = inside(image, workspace, "timeout", "--signal=TERM", "1", "sleep", "60")
    assert done.returncode == 124


def test_an_agent_builds_a_program_of_the_language_in_its_sandbox(
    image: str, target: str, workspace: Path
) -> None:
    (workspace / "SPEC.md").write_text("# Greet\n\nA program that says hello.\n")
    (workspace.parent / "script.toml").write_text(script(LANGUAGES[target]))
    options = (*SANDBOX_OPTIONS, f"--volume={workspace.parent}:/script:ro")
    command = ("runner", "run", "--replay", "/script/script.toml")
    done = inside(image, workspace, *command, options=options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (workspace / "greeting.txt").read_text() == "hello\n"


def test_a_published_image_holds_no_agent_and_says_how_to_get_it(
    without_agent: str, workspace: Path
) -> None:
    search = ("sh", "-c", "find / -xdev -name claude -type f | wc -l")
    done = inside(without_agent, workspace, *search)
    assert done.stdout == "0\n"
    assert "RUN runner-fetch-agent" in done.stderr


def test_a_run_in_a_published_image_is_refused(without_agent: str, workspace: Path) -> None:
    done = inside(without_agent, workspace, "runner", "demo", options=SANDBOX_OPTIONS)
    assert (done.returncode, "binary was not found" in done.stderr) == (2, True)


def test_an_agent_can_be_put_into_a_published_image(
    without_agent: str, workspace: Path, tmp_path: Path
) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(f"FROM {without_agent}\nRUN runner-fetch-agent\n")
    mine = build("localhost/runner-test:mine", file=file)
    done = inside(mine, workspace, "runner", "demo", options=SANDBOX_OPTIONS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_usual_tools_are_there(image: str, workspace: Path) -> None:
    look = f"for tool in {' '.join(TOOLS)}; do command -v $tool >/dev/null || echo $tool; done"
    assert inside(image, workspace, "sh", "-c", look).stdout == ""
