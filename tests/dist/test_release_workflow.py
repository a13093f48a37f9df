"""What the release workflow publishes, and with what rights; its scripts are run, the rest is read."""

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from tests.dist.steps import ROOT, Ran, load, run_script, step_named, stub

JOBS: dict[str, Any] = load(ROOT / ".github/workflows/release.yml")["jobs"]
BUILDING = ["test", "dist", "binary", "cloud-image", "images"]
PUBLISHING = ["publish", "pypi", "publish-images"]


def steps(job: str) -> list[dict[str, Any]]:
    return list(JOBS[job]["steps"])


def used(job: str) -> list[str]:
    return [step["uses"].partition("@")[0] for step in steps(job) if "uses" in step]


def with_of(job: str, action: str) -> dict[str, Any]:
    (step,) = [step for step in steps(job) if step.get("uses", "").startswith(f"{action}@")]
    return dict(step["with"])


def test_every_job_is_known_to_build_or_to_publish() -> None:
    assert ["plan", *BUILDING, *PUBLISHING] == list(JOBS)


@pytest.mark.parametrize("job", BUILDING)
def test_jobs_that_run_the_projects_code_may_only_read(job: str) -> None:
    assert JOBS[job]["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("job", BUILDING)
def test_no_token_stays_on_the_disk_while_the_projects_code_runs(job: str) -> None:
    assert with_of(job, "actions/checkout")["persist-credentials"] is False


@pytest.mark.parametrize("job", ["plan", *PUBLISHING])
def test_jobs_that_may_publish_have_no_code_of_the_project(job: str) -> None:
    assert "actions/checkout" not in used(job)
    assert "make " not in str(steps(job))


@pytest.mark.parametrize("job", PUBLISHING)
def test_nothing_is_published_before_everything_is_built_and_tested(job: str) -> None:
    assert set(JOBS[job]["needs"]) == {"plan", *BUILDING}


@pytest.mark.parametrize("job", PUBLISHING)
def test_what_was_downloaded_is_compared_before_it_is_used(job: str) -> None:
    first, second = steps(job)[:2]
    assert first["uses"].startswith("actions/download-artifact@")
    assert second["name"] == "Compare with what was built"


@pytest.mark.parametrize("job", BUILDING)
def test_everything_is_built_from_the_tag(job: str) -> None:
    ref = with_of(job, "actions/checkout")["ref"]
    assert ref == "refs/tags/${{ needs.plan.outputs.tag }}"


@pytest.mark.parametrize("job", ["publish", "publish-images"])
def test_what_a_release_carries_has_provenance(job: str) -> None:
    assert "actions/attest-build-provenance" in used(job)


def test_wheel_binary_and_cloud_image_are_uploaded() -> None:
    assert JOBS["publish"]["strategy"]["matrix"]["artifact"] == ["dist", "binary", "cloud-image"]


def test_an_upload_that_is_repeated_replaces_what_is_there() -> None:
    (upload,) = [step["run"] for step in steps("publish") if "gh release" in step.get("run", "")]
    assert "--clobber" in upload.split()


def test_packages_that_pypi_has_already_are_skipped() -> None:
    assert with_of("pypi", "pypa/gh-action-pypi-publish")["skip-existing"] is True


@pytest.mark.parametrize("job", [job for job in BUILDING if job != "test"])
def test_a_build_that_is_repeated_replaces_what_it_handed_over(job: str) -> None:
    assert with_of(job, "actions/upload-artifact")["overwrite"] is True


def test_published_container_images_hold_no_agent() -> None:
    arguments = with_of("images", "docker/build-push-action")["build-args"]
    assert "RUNNER_AGENT=path" in arguments.splitlines()


def test_published_cloud_images_hold_no_agent() -> None:
    (build,) = [step for step in steps("cloud-image") if "build.sh" in step.get("run", "")]
    assert build["env"]["RUNNER_AGENT"] == "path"


def test_the_published_binary_holds_no_agent() -> None:
    assert "RUNNER_AGENT" not in str(JOBS["binary"])


@pytest.mark.parametrize("job", ["images", "publish-images"])
def test_container_images_are_built_and_pushed_for_every_target(job: str) -> None:
    lines = (ROOT / "docker/Dockerfile").read_text().splitlines()
    stages = {line.rpartition(" AS ")[2] for line in lines if line.startswith("FROM ")}
    assert set(JOBS[job]["strategy"]["matrix"]["target"]) == stages - {
        "program", "bun-program", "composer"
    }  # fmt: skip


def test_every_image_hands_its_checksum_over() -> None:
    assert list(JOBS["images"]["outputs"]) == JOBS["images"]["strategy"]["matrix"]["target"]


@pytest.mark.parametrize(
    ("tag", "version"),
    [("v1.2.3", "1.2.3"), ("v0.1.0-rc.1", "0.1.0-rc.1"), ("v2.0.0.dev1", "2.0.0.dev1")],
)
def test_a_tag_gives_the_version(tmp_path: Path, tag: str, version: str) -> None:
    ran = run_script(step_named(steps("plan"), "Name what is to be built"), tmp_path, {"TAG": tag})
    assert ran.outputs.get("version") == version


@pytest.mark.parametrize("tag", ["main", "v1", "v1.2.3 --help", "v1.2.3\nx=y", "../v1.2.3"])
def test_what_is_no_tag_of_a_release_builds_nothing(tmp_path: Path, tag: str) -> None:
    ran = run_script(step_named(steps("plan"), "Name what is to be built"), tmp_path, {"TAG": tag})
    assert (ran.code, ran.outputs) == (1, {})


def test_a_push_that_is_no_release_is_no_failure(tmp_path: Path) -> None:
    ran = run_script(step_named(steps("plan"), "Name what is to be built"), tmp_path, {"TAG": ""})
    assert (ran.code, ran.outputs) == (0, {})


def handed_over(folder: Path, files: dict[str, bytes]) -> str:
    """Put files where the building job has them; return the checksums that its step gives."""
    (folder / "dist").mkdir()
    for name, content in files.items():
        (folder / "dist" / name).write_bytes(content)
    return run_script(step_named(steps("dist"), "Sum up what is handed over"), folder, {}).outputs[
        "sums"
    ]


def compare(folder: Path, sums: str) -> int:
    step = step_named(steps("publish"), "Compare with what was built")
    return run_script(step, folder, {"SUMS": sums}).code


def test_the_checksums_are_those_of_the_files(tmp_path: Path) -> None:
    sums = handed_over(tmp_path, {"a.whl": b"wheel"})
    line = f"{hashlib.sha256(b'wheel').hexdigest()}  a.whl\n"
    assert base64.b64decode(sums).decode() == line


def test_what_was_built_may_be_published(tmp_path: Path) -> None:
    assert compare(tmp_path, handed_over(tmp_path, {"a.whl": b"wheel", "b.json": b"{}"})) == 0


def test_a_changed_file_is_not_published(tmp_path: Path) -> None:
    sums = handed_over(tmp_path, {"a.whl": b"wheel"})
    (tmp_path / "dist/a.whl").write_bytes(b"other")
    assert compare(tmp_path, sums) != 0


def test_a_file_more_than_was_built_is_not_published(tmp_path: Path) -> None:
    sums = handed_over(tmp_path, {"a.whl": b"wheel"})
    (tmp_path / "dist/evil.whl").write_bytes(b"more")
    assert compare(tmp_path, sums) != 0


def test_a_missing_checksum_publishes_nothing(tmp_path: Path) -> None:
    handed_over(tmp_path, {"a.whl": b"wheel"})
    assert compare(tmp_path, "") != 0


def push(folder: Path, target: str, latest: str) -> tuple[Ran, list[str]]:
    """Run the pushing step; return how it ended and the images that it copied to."""
    programs = folder / "programs"
    stub(programs, "gh", f"echo {latest}")
    stub(
        programs,
        "skopeo",
        '[ "$1" = copy ] || exit 0\necho sha256:abc > digest\nfor last; do :; done\n'
        f'echo "$last" >> {folder}/pushed',
    )
    given = {
        "GH_TOKEN": "dummy", "ACTOR": "someone", "TAG": "v1.2.3", "VERSION": "1.2.3",
        "TARGET": target, "GITHUB_REPOSITORY": "Some-Owner/Runner",
    }  # fmt: skip
    ran = run_script(step_named(steps("publish-images"), "Push"), folder, given, programs)
    return ran, (folder / "pushed").read_text().splitlines()


def test_an_image_has_no_capitals_in_its_name(tmp_path: Path) -> None:
    ran, pushed = push(tmp_path, "node", latest="v1.2.3")
    name = "ghcr.io/some-owner/runner"
    assert pushed == [f"docker://{name}:1.2.3-node", f"docker://{name}:node"]
    assert (ran.outputs["image"], ran.outputs["digest"]) == (name, "sha256:abc")


def test_the_base_of_the_newest_release_is_the_latest_image(tmp_path: Path) -> None:
    assert push(tmp_path, "base", latest="v1.2.3")[1][-1].endswith(":latest")


def test_an_older_release_takes_no_moving_tag_back(tmp_path: Path) -> None:
    assert push(tmp_path, "base", latest="v1.3.0")[1] == [
        "docker://ghcr.io/some-owner/runner:1.2.3-base"
    ]
