"""Make base images without a registry: Debian by debootstrap, under the names in the Dockerfile.

They stand in for the official images, so that the Dockerfile is built as it is. Certificates
that this machine trusts beside Debian's own go along, or nothing could be downloaded behind a
proxy that re-signs.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "runner-images"
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_TOOLS = ("buildah", "podman", "runc", "debootstrap")

BASES = {
    "debian:bookworm-slim": "true",
    "python:3.12-slim-bookworm": "apt-get update && apt-get install -y --no-install-recommends "
    "python3 python3-venv python3-pip && ln -s /usr/bin/python3 /usr/local/bin/python",
    "node:22-bookworm-slim": "apt-get update && apt-get install -y --no-install-recommends "
    "nodejs npm",
}
"""Image name → what is done to a plain Debian to stand in for it."""


def missing_tools() -> list[str]:
    """Return what has to be installed first (Debian packages of the same names)."""
    return [tool for tool in _TOOLS if shutil.which(tool) is None]


def run(*command: str) -> str:
    """Run a command and return what it printed; its last lines are the error when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise AssertionError(f"{' '.join(command[:6])} … exited {done.returncode}:\n{tail}")
    return done.stdout


def ensure_bases() -> None:
    """Make the base images that are not there yet."""
    root = debian_tree()
    for name, command in BASES.items():
        image = f"docker.io/library/{name}"
        if not _exists(image):
            _make(image, root, command)


def _exists(image: str) -> bool:
    command = ("buildah", "inspect", "--type", "image", image)
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def debian_tree() -> Path:
    """Return the plain Debian that everything here is made from; made once and kept."""
    tree = CACHE / "bookworm"
    if tree.exists():
        return tree
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        fresh = Path(scratch) / "tree"
        run(
            "debootstrap",
            "--variant=minbase",
            "--include=ca-certificates",
            "bookworm",
            str(fresh),
            "http://deb.debian.org/debian",
        )
        _trust_like_this_machine(fresh)
        fresh.rename(tree)
    return tree


def _trust_like_this_machine(tree: Path) -> None:
    bundle = Path(os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"))
    known = {
        _normal(pem)
        for file in (tree / "usr/share/ca-certificates").rglob("*.crt")
        for pem in _PEM.findall(file.read_text())
    }
    extra = [pem for pem in _PEM.findall(bundle.read_text()) if _normal(pem) not in known]
    folder = tree / "usr/local/share/ca-certificates"
    folder.mkdir(parents=True, exist_ok=True)
    for number, pem in enumerate(extra):
        (folder / f"host-{number}.crt").write_text(pem + "\n")
    run("chroot", str(tree), "update-ca-certificates")


def _normal(pem: str) -> str:
    return "".join(pem.split())


def _make(image: str, root: Path, command: str) -> None:
    container = run("buildah", "from", "scratch").strip()
    try:
        run("buildah", "add", "--quiet", container, str(root), "/")
        if command != "true":
            _in_container(container, ("sh", "-c", command))
        run("buildah", "config", "--cmd", "/bin/bash", container)
        run("buildah", "commit", "--quiet", "--format", "docker", container, image)
    finally:
        run("buildah", "rm", container)


def _in_container(container: str, command: Sequence[str]) -> None:
    run("buildah", "run", "--isolation", "chroot", "--network", "host", container, "--", *command)
