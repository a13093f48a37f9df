"""What the release workflow publishes; it can't be run here, but read."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
JOBS: dict[str, Any] = YAML(typ="safe").load(ROOT / ".github/workflows/release.yml")["jobs"]
UPLOADING = [name for name in JOBS if "gh release upload" in str(JOBS[name])]


def steps(job: str) -> list[dict[str, Any]]:
    return list(JOBS[job]["steps"])


def test_published_container_images_hold_no_agent() -> None:
    (build,) = [step for step in steps("images") if "build-push-action" in step.get("uses", "")]
    assert "RUNNER_AGENT=path" in build["with"]["build-args"].splitlines()


def test_published_cloud_images_hold_no_agent() -> None:
    (build,) = [step for step in steps("cloud-image") if "build.sh" in step.get("run", "")]
    assert build["env"]["RUNNER_AGENT"] == "path"


def test_the_published_binary_holds_no_agent() -> None:
    assert "RUNNER_AGENT" not in str(JOBS["binary"])


def test_container_images_are_built_for_every_target() -> None:
    lines = (ROOT / "docker/Dockerfile").read_text().splitlines()
    stages = {line.rpartition(" AS ")[2] for line in lines if line.startswith("FROM ")}
    assert set(JOBS["images"]["strategy"]["matrix"]["target"]) == stages - {
        "program", "bun-program", "composer"
    }  # fmt: skip


@pytest.mark.parametrize("job", UPLOADING)
def test_what_a_release_carries_has_provenance(job: str) -> None:
    uses = [step.get("uses", "").partition("@")[0] for step in steps(job)]
    assert "actions/attest-build-provenance" in uses


def test_wheel_binary_and_cloud_image_are_uploaded() -> None:
    assert UPLOADING == ["package", "binary", "cloud-image"]


@pytest.mark.parametrize("job", [name for name in JOBS if name != "plan"])
def test_everything_is_built_from_the_tag(job: str) -> None:
    (checkout,) = [step for step in steps(job) if "actions/checkout" in step.get("uses", "")]
    assert checkout["with"]["ref"] == "${{ needs.plan.outputs.tag }}"
