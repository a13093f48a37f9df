"""Make base images without a registry: Debian by debootstrap, under the names in the Dockerfile.

They stand in for the official images, so that the Dockerfile is built as it is. Certificates
that this machine trusts beside Debian's own go along, or nothing could be downloaded behind a
proxy that re-signs.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "runner-images"
_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_LABEL = "runner.test.recipe"
# What makes an official "slim" image slim: no documentation, and none of what comes later.
_SLIM = """
printf 'path-exclude /usr/share/%s/*\\n' doc man info locale groff linda lintian \\
  >/etc/dpkg/dpkg.cfg.d/docker
cd /usr/share && rm -rf doc/* man/* info/* locale/* groff/* /var/cache/apt/* /var/lib/apt/lists/*
"""
_TOOLS = ("buildah", "podman", "runc", "debootstrap")
# Without it debootstrap would take packages that nobody signed, over plain HTTP.
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class Base(NamedTuple):
    """What is done to a plain Debian to stand in for an official image.

    Attributes:
        packages: Debian's own, whatever version of the language that is.
        command: run after they are installed.
        settings: environment variables that the official image sets, which the Dockerfile keeps.
    """

    packages: str = ""
    command: str = "true"
    settings: tuple[str, ...] = ()


# Debian's composer is spread over many packages; the official image has it in one file.
_COMPOSER = """cat >/tmp/pack.php <<'PHP'
<?php
$files = new RecursiveDirectoryIterator('/usr/share/php', FilesystemIterator::SKIP_DOTS);
$archive = new Phar('/tmp/composer.phar');
foreach (new RecursiveIteratorIterator($files) as $file) {
    $archive->addFile($file->getPathname(), 'share/php' . substr($file->getPathname(), 14));
}
$archive->addFile('/usr/bin/composer', 'bin/composer');
$archive->setStub("#!/usr/bin/env php\n<?php Phar::mapPhar('composer.phar');"
    . "require 'phar://composer.phar/bin/composer'; __HALT_COMPILER();");
PHP
php -d phar.readonly=0 /tmp/pack.php
install -m 755 /tmp/composer.phar /usr/bin/composer
"""

BASES = {
    "debian:bookworm-slim": Base(),
    "python:3.12-slim-bookworm": Base(
        "python3 python3-venv python3-pip", "ln -s /usr/bin/python3 /usr/local/bin/python"
    ),
    "node:22-bookworm-slim": Base("nodejs npm", "useradd --uid 1000 --create-home node"),
    "oven/bun:1.2": Base(
        "npm",
        "npm install --prefix /opt/bun @oven/bun-linux-x64@1.2 && "
        "install /opt/bun/node_modules/@oven/bun-linux-x64/bin/bun /usr/local/bin/bun",
    ),
    "golang:1.24-bookworm": Base("golang-go", settings=("GOPATH=/go", "GOTOOLCHAIN=local")),
    "ruby:3.4-slim-bookworm": Base(
        "ruby bundler", settings=("GEM_HOME=/usr/local/bundle", "BUNDLE_SILENCE_ROOT_WARNING=1")
    ),
    "rust:1.86-slim-bookworm": Base(
        "cargo rustc gcc libc6-dev",
        settings=("CARGO_HOME=/usr/local/cargo", "RUSTUP_HOME=/usr/local/rustup"),
    ),
    "php:8.4-cli-bookworm": Base("php-cli php-mbstring php-curl php-xml php-zip"),
    "composer:2": Base("composer", _COMPOSER),
}
"""Image name → its stand-in. Which version of a language it has is Debian's affair."""


def missing_tools() -> list[str]:
    """Return what has to be installed first (Debian packages of the same names)."""
    tools = [tool for tool in _TOOLS if shutil.which(tool) is None]
    return tools if _KEYRING.exists() else [*tools, "debian-archive-keyring"]


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
    for name, base in BASES.items():
        image = f"docker.io/{name if '/' in name else f'library/{name}'}"
        recipe = hashlib.sha256(repr((base, _SLIM)).encode()).hexdigest()[:16]
        if _recipe_of(image) != recipe:
            _make(image, root, base, recipe)


def _recipe_of(image: str) -> str:
    """Return what an image here was made by, "" when there is none."""
    query = ("podman", "image", "inspect", "--format", f'{{{{index .Labels "{_LABEL}"}}}}', image)
    return subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()


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
            f"--keyring={_KEYRING}",
            "--force-check-gpg",
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


def _make(image: str, root: Path, base: Base, recipe: str) -> None:
    container = run("buildah", "from", "scratch").strip()
    try:
        run("buildah", "add", "--quiet", container, str(root), "/")
        _in_container(container, _SLIM)
        if base.packages:
            install = "apt-get install --yes --no-install-recommends"
            clean = "apt-get clean && rm -rf /var/lib/apt/lists/*"
            _in_container(container, f"apt-get update && {install} {base.packages} && {clean}")
        _in_container(container, base.command)
        settings = (f"--env={setting}" for setting in base.settings)
        run("buildah", "config", "--cmd", "/bin/bash", *settings,
            f"--label={_LABEL}={recipe}", container)  # fmt: skip
        run("buildah", "commit", "--quiet", "--format", "docker", container, image)
    finally:
        run("buildah", "rm", container)


def _in_container(container: str, command: str) -> None:
    run("buildah", "run", "--isolation", "chroot", "--network", "host", container, "--",
        "sh", "-euc", command)  # fmt: skip
