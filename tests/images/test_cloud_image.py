"""The cloud image, built by its script and booted: `make cloud-image-test` (root, Debian, minutes).

qemu emulates the machine; RUNNER_KVM=1 uses KVM, which nested machines often offer in vain.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.images.bases import CACHE
from tests.images.disks import PACKAGES, Disk, debian_disk, missing_tools

from runner import __version__

ROOT = Path(__file__).parents[2]
KVM = os.environ.get("RUNNER_KVM") == "1"
NAME = f"runner-{__version__}-debian-12.img"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1ZzUVQ0Yl0Jm0p0z1v3u4mC1bq2Xo7n5sT8wYkPq9R test"

# What cloud-init is asked to do (seed 001 §6.3), and then to tell on the serial console.
USER_DATA = f"""#cloud-config
hostname: builder
users:
  - name: dev
    shell: /bin/bash
    ssh_authorized_keys: ["{KEY}"]
runcmd:
  - - sh
    - -c
    - |
      exec >/dev/ttyS0 2>&1
      echo "TOLD version=$(runner --version)"
      echo "TOLD host=$(hostname)"
      echo "TOLD user=$(id -un dev)"
      echo "TOLD key=$(cat /home/dev/.ssh/authorized_keys)"
      echo "TOLD address=$(ip -4 -o addr show scope global | tr -s ' ' | cut -d' ' -f4)"
      echo "TOLD sshd=$(systemctl is-enabled ssh)"
      echo "TOLD agents=$(find / -xdev -name claude -type f | wc -l)"
      tools=$(for name in git curl sshd runner runner-fetch-agent; do command -v $name; done)
      echo "TOLD tools="$tools
      echo "TOLD end=reached"
  - [systemctl, poweroff, --force, --force]
"""

pytestmark = [
    pytest.mark.images,
    pytest.mark.timeout(5400),
    pytest.mark.skipif(
        os.environ.get("RUNNER_CLOUD_IMAGE") != "1", reason="boots machines: make cloud-image-test"
    ),
]


@pytest.fixture(scope="module")
def disk() -> Disk:
    missing = missing_tools()
    assert not missing, f"{missing} missing: apt-get install {' '.join(PACKAGES)}"
    return debian_disk()


@pytest.fixture(scope="module")
def image(disk: Disk) -> Path:
    """Return the image that the script makes of the Debian disk."""
    output = CACHE / "cloud-image"
    settings = {"LIBGUESTFS_BACKEND": "direct", "OS": "debian-12", "VERSION": __version__,
                "BASE_IMAGE": str(disk.image), "OUTPUT_DIR": str(output), "GROW": "2G",
                "RUNNER_AGENT": "path"}  # fmt: skip
    if not KVM:
        settings["LIBGUESTFS_BACKEND_SETTINGS"] = "force_tcg"
    shutil.rmtree(output, ignore_errors=True)
    done = subprocess.run(
        [ROOT / "docker/cloud-image/build.sh"],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return output / NAME


@pytest.fixture(scope="module")
def told(image: Path, disk: Disk, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Boot the image with a seed, and return what it told on its console."""
    return facts(boot(image, disk, tmp_path_factory.mktemp("seed")))


def boot(image: Path, disk: Disk, folder: Path) -> str:
    """Return the serial console of a machine that runs until it powers itself off."""
    (folder / "user-data").write_text(USER_DATA)
    # No word on the network: an address by DHCP is the default.
    (folder / "meta-data").write_text("instance-id: test-1\n")
    seed = folder / "seed.iso"
    subprocess.run(
        ["genisoimage", "-quiet", "-output", seed, "-volid", "cidata", "-joliet", "-rock",
         *(folder / name for name in ("user-data", "meta-data"))],
        check=True,
    )  # fmt: skip
    machine: list[str | Path] = [
        "qemu-system-x86_64", "-nographic", "-no-reboot", "-m", "1024", "-smp", "2",
        *(("-accel", "kvm", "-cpu", "host") if KVM else ("-accel", "tcg", "-cpu", "max")),
        "-kernel", disk.kernel, "-initrd", disk.initrd,
        "-append", "root=/dev/vda rw console=ttyS0 panic=1 net.ifnames=0 ds=nocloud",
        "-drive", f"file={image},format=raw,if=virtio,snapshot=on",
        "-drive", f"file={seed},format=raw,if=virtio,readonly=on",
        "-nic", "user,model=virtio-net-pci",
    ]  # fmt: skip
    done = subprocess.run(
        machine,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=2400,
        check=False,
    )
    return done.stdout + done.stderr


def facts(console: str) -> dict[str, str]:
    """Return the lines that the seed's script wrote, by name."""
    told = [line.partition("TOLD ")[2] for line in console.splitlines() if "TOLD " in line]
    found = dict(line.strip().split("=", 1) for line in told if "=" in line)
    assert found.get("end") == "reached", console[-4000:]
    return found


def test_the_image_fits_its_checksum(image: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", f"{NAME}.sha256"], cwd=image.parent,
                   check=True, capture_output=True)  # fmt: skip


def test_runner_answers_in_the_booted_machine(told: dict[str, str]) -> None:
    assert told["version"] == f"runner {__version__}"


@pytest.mark.parametrize(
    ("fact", "value"), [("host", "builder"), ("user", "dev"), ("key", KEY), ("sshd", "enabled")]
)
def test_cloud_init_does_what_the_seed_says(told: dict[str, str], fact: str, value: str) -> None:
    assert told[fact] == value


def test_the_machine_has_an_address_by_dhcp(told: dict[str, str]) -> None:
    assert told["address"].startswith("10.0.2.")


def test_no_agent_is_in_an_image_that_is_published(told: dict[str, str]) -> None:
    assert told["agents"] == "0"


def test_no_block_of_the_image_holds_what_was_removed(image: Path) -> None:
    mark = "(c) Anthropic PBC. All rights"
    search = ("grep", "--quiet", "--text", "--fixed-strings", mark, str(image))
    assert subprocess.run(search, check=False).returncode == 1


@pytest.mark.parametrize("program", ["git", "curl", "sshd", "runner", "runner-fetch-agent"])
def test_the_programs_are_there(told: dict[str, str], program: str) -> None:
    assert program in [path.rpartition("/")[2] for path in told["tools"].split()]
