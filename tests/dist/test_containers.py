"""What the container files say, and what the scripts beside them do; no image is built here."""

import hashlib
import os
import platform
import signal
import subprocess
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
PINS = [
    line
    for line in (ROOT / "docker/agent.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
SERVICE = YAML(typ="safe").load(ROOT / "docker/compose.yml")["services"]["runner"]
WHEEL = "claude_agent_sdk-1.2.3-py3-none-any.whl"


def test_the_agents_checksums_are_of_the_version_that_is_installed() -> None:
    (version,) = [
        line
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line.startswith("claude-agent-sdk==")
    ]
    assert {pin.partition(" ;")[0] for pin in PINS} == {version}


def test_each_platform_of_the_published_images_has_one_checksum() -> None:
    machines = [pin.split('"')[1] for pin in PINS]
    sums = {pin.partition("--hash=sha256:")[2] for pin in PINS}
    assert (sorted(machines), {len(text) for text in sums}) == (["aarch64", "x86_64"], {64})


def test_the_build_needs_nothing_that_the_context_leaves_out() -> None:
    kept = (ROOT / ".dockerignore").read_text().splitlines()
    copied = {
        word
        for line in (ROOT / "docker/Dockerfile").read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }
    assert {f"!{name}" for name in copied} <= set(kept)


def test_the_composed_image_is_tagged_by_its_target() -> None:
    assert SERVICE["image"] == f"${{RUNNER_IMAGE:-runner:{SERVICE['build']['target']}}}"


def test_composed_projects_that_share_the_state_have_paths_of_their_own() -> None:
    place = SERVICE["working_dir"]
    assert ("${PWD" in place, SERVICE["volumes"][0].endswith(f":{place}")) == (True, True)


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Return an installation without an agent, as in an image that is published."""
    prefix = tmp_path / "prefix"
    venv.create(prefix)
    (packages,) = prefix.glob("lib/python3*/site-packages")
    info = packages / "claude_agent_sdk-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: claude-agent-sdk\nVersion: 1.2.3\n"
    )
    return prefix


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Return a folder that pip looks into for the agent's wheel."""
    folder = tmp_path / "index"
    folder.mkdir()
    with ZipFile(folder / WHEEL, "w") as wheel:
        wheel.writestr("claude_agent_sdk/_bundled/claude", "#!/bin/sh\necho 9.9.9\n")
        wheel.writestr("claude_agent_sdk/other.py", "")
        info = "claude_agent_sdk-1.2.3.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: claude-agent-sdk\n"
                                           "Version: 1.2.3\n")  # fmt: skip
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return folder


def fetch(prefix: Path, index: Path, pin: str) -> subprocess.CompletedProcess[str]:
    """Run runner-fetch-agent on an installation, with the folder as pip's only index."""
    (prefix / "agent.txt").write_text(f"# checked\n{pin}\n")
    settings = {"RUNNER_PREFIX": str(prefix), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index),
                "PIP_CONFIG_FILE": os.devnull, "PATH": os.environ["PATH"]}  # fmt: skip
    return subprocess.run(
        [ROOT / "docker/fetch-agent.sh"], env=settings, capture_output=True, text=True, check=False
    )


def pin_of(wheel: Path, version: str = "1.2.3", machine: str = platform.machine()) -> str:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f'claude-agent-sdk=={version} ; platform_machine == "{machine}" --hash=sha256:{digest}'


def agents(prefix: Path) -> list[Path]:
    return [path for path in prefix.rglob("claude") if path.is_file()]


def test_the_agent_of_the_written_checksum_is_put_in_alone(prefix: Path, index: Path) -> None:
    done = fetch(prefix, index, pin_of(index / WHEEL))
    assert (done.returncode, done.stdout) == (0, "9.9.9\n"), done.stderr
    assert (len(agents(prefix)), list(prefix.rglob("other.py"))) == (1, [])


def test_an_agent_of_another_checksum_is_refused(prefix: Path, index: Path) -> None:
    pin = pin_of(index / WHEEL)
    with ZipFile(index / WHEEL, "a") as wheel:
        wheel.writestr("claude_agent_sdk/more.py", "")
    done = fetch(prefix, index, pin)
    assert (done.returncode, agents(prefix)) == (1, []), done.stderr
    assert "DO NOT MATCH THE HASHES" in done.stderr


def test_a_version_without_a_checksum_is_refused(prefix: Path, index: Path) -> None:
    done = fetch(prefix, index, pin_of(index / WHEEL, version="1.2.30"))
    assert (done.returncode, "no checksum for version 1.2.3," in done.stderr) == (2, True)


def test_a_machine_without_an_agent_is_told(prefix: Path, index: Path) -> None:
    done = fetch(prefix, index, pin_of(index / WHEEL, machine="pdp11"))
    assert (done.returncode, f"this machine ({platform.machine()})" in done.stderr) == (2, True)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """Return a folder with stand-ins for the programs that build a cloud image."""
    folder = tmp_path / "tools"
    folder.mkdir()
    programs = {
        "qemu-img": '[ "$1" = resize ] || : >"$5"',
        "virt-customize": f'echo $$ >"{tmp_path}/started"; exec sleep 60',
        "curl": "exit 9",
    }
    for name, script in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "output"


@pytest.fixture
def customising(tools: Path, output: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Start to build a cloud image, and return when it is at what takes minutes."""
    settings = {"PATH": f"{tools}:{os.environ['PATH']}", "OUTPUT_DIR": str(output),
                "BASE_IMAGE": os.devnull, "OS": "debian-12"}  # fmt: skip
    build = ROOT / "docker/cloud-image/build.sh"
    with subprocess.Popen([build], env=settings, stderr=subprocess.PIPE, text=True) as process:
        started = tmp_path / "started"
        while not (started.exists() and started.read_text()):
            assert process.poll() is None, process.stderr and process.stderr.read()
            time.sleep(0.02)
        yield process
        process.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_build_of_a_cloud_image_leaves_nothing(
    customising: subprocess.Popen[str], output: Path, number: signal.Signals, code: int
) -> None:
    customising.send_signal(number)
    assert (customising.wait(30), list(output.iterdir())) == (code, [])


def test_a_stopped_build_of_a_cloud_image_ends_what_it_started(
    customising: subprocess.Popen[str], tmp_path: Path
) -> None:
    customising.terminate()
    customising.wait(30)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "started").read_text()), 0)


def test_ubuntus_image_is_not_taken_without_the_key_that_vouches_for_it(
    tools: Path, output: Path, tmp_path: Path
) -> None:
    settings = {"PATH": f"{tools}:{os.environ['PATH']}", "OUTPUT_DIR": str(output),
                "KEYRING": str(tmp_path / "none.gpg")}  # fmt: skip
    (tools / "gpgv").symlink_to("/bin/true")
    build = ROOT / "docker/cloud-image/build.sh"
    done = subprocess.run([build], env=settings, capture_output=True, text=True, check=False)
    assert (done.returncode, "none.gpg is missing" in done.stderr) == (2, True), done.stderr
