"""`kill` where commands see every process of the user, and where they see their session's alone."""

import pytest
from tests.shell_policy.memory_facts import MemoryFacts

from runner.shell_policy.decision import PolicySettings
from runner.shell_policy.policy import judge_command

FACTS = MemoryFacts()
SHARED = PolicySettings(shares_processes=True)


def allowed(text: str, settings: PolicySettings) -> bool:
    return judge_command(text, project_dir=FACTS.project, settings=settings, facts=FACTS).allowed


@pytest.mark.parametrize(
    "text",
    ["kill -9 12345", "kill $(lsof -ti :3000)", "lsof -ti :3000 | xargs kill -9", "kill $PID",
     "kill $(pgrep -f vite)", "kill $(cat server.pid)", "echo 77 > a.pid; kill $(cat a.pid)",
     "P=44; kill $P", "P=$!; P=44; kill $P", "for p in $(lsof -ti :80); do kill $p; done",
     "timeout 3 kill 44", "env kill 44", "command kill -- 44", "P=$! Q=44; kill $P $Q",
     "npm start & echo $! > a.pid; echo 5 >> a.pid; kill $(cat a.pid)", "kill -9 -0 44"],
)  # fmt: skip
def test_what_may_be_somebody_elses_is_ended_in_a_namespace_alone(text: str) -> None:
    assert (allowed(text, PolicySettings()), allowed(text, SHARED)) == (True, False)


@pytest.mark.parametrize(
    "text",
    ["kill %1", "kill $!", "npm start & P=$!; sleep 1; kill $P", "kill -0 123", "kill -s 0 123",
     "trap 'kill $(jobs -p)' EXIT; npm run dev & sleep 5", "pkill -f vite",
     "npm start & echo $! > /tmp/a.pid; sleep 1; kill $(cat /tmp/a.pid)",
     "coproc node server.js; kill $COPROC_PID"],
)  # fmt: skip
def test_what_the_script_started_may_always_be_ended(text: str) -> None:
    assert allowed(text, SHARED)


@pytest.mark.parametrize("text", ["kill -9 -1", "kill 1", "kill $PPID", "kill $$", "kill -- -1"])
def test_what_is_never_ended(text: str) -> None:
    assert not allowed(text, PolicySettings())
