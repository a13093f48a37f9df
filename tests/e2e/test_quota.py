"""Usage limits with the real agent; which login shows what stands in ADR-0040."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.harness import Project, project
from tests.e2e.scripts import API_KEY_LIMIT, limited, refusing

pytestmark = pytest.mark.e2e


@pytest.fixture
def resets_at() -> int:
    return int(time.time()) + 2 * 3600


@pytest.fixture
def subscription(tmp_path: Path, resets_at: int) -> Iterator[Project]:
    """A project whose agent believes in a subscription, with its limit reached."""
    with project(tmp_path, limited(resets_at)) as ours:
        del ours.environment["ANTHROPIC_API_KEY"]
        # The token is a word; the dead proxy keeps whatever it would be shown to out of reach.
        ours.environment |= {
            "CLAUDE_CODE_OAUTH_TOKEN": "dummy",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
        }
        yield ours


def test_a_limit_ends_the_run_with_75_and_the_second_of_its_reset(
    subscription: Project, resets_at: int
) -> None:
    done = subscription.run("--output-format", "json", timeout=60)
    result = json.loads(done.stdout)
    assert (done.returncode, result["exit_reason"], result["quota_resets_at"]) == (
        75,
        "quota_exceeded",
        resets_at,
    )
    assert "You've hit your 5-hour limit" in result["hint"]


def test_ctrl_c_ends_the_wait_for_a_reset(subscription: Project) -> None:
    running = subscription.start("--wait-for-quota")
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("Waiting "):
            break
    running.send_signal(signal.SIGINT)
    rest, _ = running.communicate(timeout=20)
    assert running.returncode == 130, rest
    assert subscription.wait_until_gone(5) == []


def test_a_reset_further_away_than_max_wait_is_not_waited_for(subscription: Project) -> None:
    done = subscription.run("--wait-for-quota", "--max-wait", "1", timeout=60)
    assert done.returncode == 75
    assert "--max-wait allows (1 h)" in done.stdout + done.stderr


def test_an_api_keys_own_limit_ends_the_run_with_the_time_in_its_text(tmp_path: Path) -> None:
    script = refusing(400, API_KEY_LIMIT.format("2199-12-01 at 00:00 UTC"))
    with project(tmp_path, script) as ours:
        done = ours.run("--output-format", "json", timeout=60)
    result = json.loads(done.stdout)
    assert (done.returncode, result["quota_resets_at"]) == (75, 7_255_440_000)


def test_a_plain_429_is_a_failed_session_and_no_limit(tmp_path: Path) -> None:
    script = refusing(429, "This request would exceed your account's rate limit.")
    with project(tmp_path, script) as ours:
        done = ours.run("--max-retries", "0", "--output-format", "json", timeout=60)
    assert json.loads(done.stdout)["exit_reason"] == "max_retries_exceeded"
