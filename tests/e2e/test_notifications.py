"""`[notify]` in a run with the real agent: the command is told how it went, from where it started."""

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.e2e.harness import Project, eventually, project
from tests.e2e.scripts import PASS_BOUND, PLAN_ONE, PLAN_TWO, TALK_ONLY, limited, refusing

pytestmark = pytest.mark.e2e

SUBSCRIPTION = {
    "ANTHROPIC_API_KEY": "",
    "CLAUDE_CODE_OAUTH_TOKEN": "dummy",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "NO_PROXY": "127.0.0.1",
}
SECONDS = 30


class Told(NamedTuple):
    """One notification."""

    event: str
    payload: dict[str, Any]


def ask_to_be_told(ours: Project, folder: Path) -> None:
    """Let a command put each notification into a folder."""
    folder.mkdir()
    settings = ours.path / ".runner"
    settings.mkdir()
    script = f"cat > {folder}/$$ && echo $AUTORUNNER_EVENT > {folder}/$$.event"
    command = json.dumps(["sh", "-c", script])
    (settings / "runner.toml").write_text(f"[notify]\ncommand = {command}\n", encoding="utf-8")


def told(folder: Path) -> list[Told]:
    return [
        Told(path.read_text().strip(), json.loads(path.with_suffix("").read_text()))
        for path in sorted(folder.glob("*.event"))
    ]


@pytest.mark.parametrize(
    ("script", "arguments", "environment", "expected"),
    [
        (PLAN_ONE + PASS_BOUND, (), {}, ("finished", "all_passed")),
        (
            PLAN_ONE + TALK_ONLY,
            ("--max-consecutive-errors", "1"),
            {},
            ("paused", "stalled"),
        ),
        (refusing(401, "invalid x-api-key"), (), {}, ("failed", "failed")),
        (PLAN_TWO + PASS_BOUND, ("--max-cost", "0.0001"), {}, ("budget", "budget_exceeded")),
        (limited(7_255_440_000), (), SUBSCRIPTION, ("quota", "quota_exceeded")),
    ],
    ids=["finished", "paused", "failed", "budget", "quota"],
)
def test_the_end_of_a_run_is_told(
    tmp_path: Path,
    script: str,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    expected: tuple[str, str],
) -> None:
    folder = tmp_path / "told"
    with project(tmp_path, script) as ours:
        ask_to_be_told(ours, folder)
        ours.environment |= environment
        ours.run(*arguments)
    assert [(one.event, one.payload["exit_reason"]) for one in told(folder)] == [expected]


def test_a_wait_for_a_limit_is_told_while_it_lasts(tmp_path: Path) -> None:
    folder = tmp_path / "told"
    resets_at = int(time.time()) + 2 * 3600
    with project(tmp_path, limited(resets_at)) as ours:
        ask_to_be_told(ours, folder)
        ours.environment |= SUBSCRIPTION
        running = ours.start("--wait-for-quota")
        eventually(lambda: told(folder), SECONDS)
        during, alive = told(folder), running.poll() is None
        running.kill()
        running.communicate()
    (one,) = during
    assert (alive, one.event, one.payload["resets_at"]) == (True, "quota", resets_at)


def test_notifications_that_get_lost_change_nothing_of_the_run(tmp_path: Path) -> None:
    with project(tmp_path, PLAN_ONE + PASS_BOUND) as ours:
        (ours.path / ".runner").mkdir()
        settings = '[notify]\ncommand = ["sh", "-c", "exit 3"]\nwebhook = "http://127.0.0.1:9/x"\n'
        (ours.path / ".runner" / "runner.toml").write_text(settings, encoding="utf-8")
        done = ours.run()
    assert (done.returncode, done.stderr.count("A notification was not delivered")) == (0, 2)


def test_what_can_never_arrive_is_told_at_the_start(tmp_path: Path) -> None:
    with project(tmp_path, refusing(401, "invalid x-api-key")) as ours:
        (ours.path / ".runner").mkdir()
        settings = '[notify]\nwebhook = "$NO_SUCH_VARIABLE"\n'
        (ours.path / ".runner" / "runner.toml").write_text(settings, encoding="utf-8")
        said = ours.run().stderr
    before, after = "Notifications won't reach the webhook", "was not delivered to the webhook"
    assert -1 < said.find(before) < said.find(after)


def test_a_run_that_can_not_start_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "told"
    with project(tmp_path, PLAN_TWO + PASS_BOUND) as ours:
        ask_to_be_told(ours, folder)
        (ours.path / ".runner" / "agent.json").write_text("{")
        assert ours.run().returncode == 2
    ((event, payload),) = told(folder)
    assert (event, payload["exit_code"], payload["exit_reason"]) == ("failed", 2, "error")


LOOKS = """
[[session]]
instruction = "coding"
repeat = true

[[session.turn]]
tools = [{ name = "Write", input = { file_path = "{{project}}/look.py", content = "import os; open('seen', 'w').write(os.environ.get('NIGHT_HOOK', 'hidden'))" } }]

[[session.turn]]
tools = [{ name = "Bash", input = { command = "python3 look.py" } }]

[[session.turn]]
text = "Looked."
"""


@pytest.mark.parametrize("options", [(), ("--no-sandbox",)], ids=["sandbox", "no sandbox"])
def test_agents_do_not_have_the_address_that_a_variable_holds(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    with project(tmp_path, PLAN_TWO + LOOKS) as ours:
        (ours.path / ".runner").mkdir()
        (ours.path / ".runner" / "runner.toml").write_text('[notify]\nwebhook = "$NIGHT_HOOK"\n')
        ours.environment |= {"NIGHT_HOOK": "http://127.0.0.1:9/x"}
        ours.run("-n", "2", *options)
        seen = (ours.path / "seen").read_text()
    assert seen == "hidden"
