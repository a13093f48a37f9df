"""Make a Debian disk to stand in for a cloud's image: debootstrap, no download of an image."""

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.images.bases import CACHE, debian_tree, run

PACKAGES = ("debootstrap", "libguestfs-tools", "qemu-system-x86", "qemu-utils", "genisoimage",
            "linux-image-amd64")  # fmt: skip
"""What has to be installed for `make cloud-image-test`; libguestfs boots this machine's kernel."""

_TOOLS = ("debootstrap", "virt-customize", "qemu-system-x86_64", "qemu-img", "genisoimage")
_IN_IMAGE = ("linux-image-amd64", "cloud-init", "cloud-guest-utils", "systemd-sysv", "dbus", "udev",
             "openssh-server", "ifupdown", "isc-dhcp-client", "iproute2", "netbase", "e2fsprogs",
             "sudo")  # fmt: skip


class Disk(NamedTuple):
    """A raw disk that is one ext4 file system, and what boots it: it has no boot loader."""

    image: Path
    kernel: Path
    initrd: Path


def missing_tools() -> list[str]:
    """Return what is not on PATH; `PACKAGES` is what to install."""
    return [tool for tool in _TOOLS if shutil.which(tool) is None]


def debian_disk() -> Disk:
    """Return a Debian with cloud-init, as a cloud would offer it. Made once and kept."""
    folder = CACHE / "cloud-base"
    if not folder.exists():
        plain = debian_tree()
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            tree, fresh = Path(scratch, "tree"), Path(scratch, "cloud-base")
            fresh.mkdir()
            run("cp", "-a", str(plain), str(tree))
            _fill(tree)
            _pack(tree, fresh)
            fresh.rename(folder)
    return Disk(folder / "disk.raw", folder / "vmlinuz", folder / "initrd.img")


def _fill(tree: Path) -> None:
    apt = ("chroot", str(tree), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get")
    run(*apt, "update")
    run(*apt, "install", "--yes", "--no-install-recommends", *_IN_IMAGE)
    run(*apt, "clean")
    (tree / "etc/fstab").write_text("/dev/vda / ext4 defaults 0 1\n")


def _pack(tree: Path, folder: Path) -> None:
    for name in ("vmlinuz", "initrd.img"):
        (found,) = (tree / "boot").glob(f"{name}-*")
        shutil.copy(found, folder / name)
    run("mke2fs", "-q", "-t", "ext4", "-d", str(tree), str(folder / "disk.raw"), "2G")
