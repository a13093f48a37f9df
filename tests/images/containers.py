"""Build images with buildah and run them with podman, as `make images-test` does."""

import subprocess
from pathlib import Path

from tests.images.bases import run

ROOT = Path(__file__).parents[2]
STATE = "/home/runner/.local/state/runner"
SANDBOX_OPTIONS = (
    "--security-opt=seccomp=unconfined",
    "--security-opt=apparmor=unconfined",
    "--security-opt=unmask=ALL",  # podman's word for Docker's systempaths=unconfined
)
PODMAN_RUN = (
    "podman",
    "run",
    "--rm",
    "--runtime=runc",
    "--ulimit=nofile=1024:1024",
    "--ulimit=nproc=4000:4000",
    "--network=host",
)


def build(tag: str, *options: str, file: Path = ROOT / "docker/Dockerfile") -> str:
    """Build an image; return its tag."""
    run(
        "buildah",
        "build",
        "--isolation=chroot",
        "--pull=never",
        "--network=host",
        "--format=docker",
        "--layers",
        f"--tag={tag}",
        f"--file={file}",
        *options,
        str(ROOT),
    )
    return tag


def start(
    image: str, *command: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a command in a fresh container that has no workspace but the image's own."""
    return subprocess.run(
        [*PODMAN_RUN, *options, image, *command], capture_output=True, text=True, check=False
    )


def inside(
    image: str, workspace: Path, *command: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a command in a fresh container on a workspace."""
    return start(image, *command, options=(f"--volume={workspace}:/workspace", *options))
