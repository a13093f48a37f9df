"""What agent.json adds, with the real SDK and the agent binary that its wheel carries."""

import os
from pathlib import Path

import pytest
from tests.agent.stage import Played, Stage, allow_all, calls

from runner.agent.claude.factory import ClaudeAgentFactory, InstructionJudge
from runner.agent.claude.options import AgentSettings
from runner.config.agent_file import AgentFile
from runner.deliverables.tools import DeliverableTools
from runner.replay.script import ScriptTurn
from runner.sandbox.process import bundled_agent

pytestmark = pytest.mark.e2e

FILE = AgentFile.model_validate(
    {
        "allowedTools": ["Task"],
        "permissions": {
            "allow": ["WebFetch(https://api.example.com/*)", "Write(.runner/**)", "Write"]
        },
    }
)


class ConfiguredStage(Stage):
    """A stage whose agents have what FILE adds."""

    def factory(
        self,
        model_environment: dict[str, str],
        judge: InstructionJudge = allow_all,
        *,
        agent: Path | None = None,
    ) -> ClaudeAgentFactory:
        environment = {
            **model_environment,
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / "config"),
            "NO_PROXY": "127.0.0.1",
        }
        settings = AgentSettings(
            self.project,
            agent or bundled_agent(),
            environment,
            permission_rules=FILE.permission_rules,
            extra_tools=FILE.extra_tools,
        )
        return ClaudeAgentFactory(
            settings, judge=judge, make_tools=lambda _: DeliverableTools(self.repository)
        )


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return ConfiguredStage(tmp_path_factory.mktemp("rules") / "stage", f"{os.getpid()}-rules")


@pytest.fixture(scope="module")
def played(stage: Stage) -> Played:
    turns = [
        calls(("WebFetch", {"url": "https://other.example.org/", "prompt": "x"})),
        calls(("Write", {"file_path": f"{stage.project}/.runner/status.json", "content": "{}"})),
        calls(("Write", {"file_path": "/var/tmp/not-in-the-project.txt", "content": "x"})),
        ScriptTurn(text="Bye."),
    ]
    return stage.play(turns, judge=allow_all)


def test_the_tools_of_the_file_are_offered(played: Played) -> None:
    assert {"Agent", "WebFetch"} <= set(played.requests[0].tool_names)


def test_the_rest_is_not_offered(played: Played) -> None:
    assert not {"Monitor", "WebSearch", "CronCreate"} & set(played.requests[0].tool_names)


@pytest.mark.parametrize(
    ("call", "what"),
    [(0, "another domain"), (1, "a protected folder"), (2, "outside the project")],
)
def test_the_rules_refuse_it_even_if_the_hook_would_not(
    call: int, what: str, played: Played
) -> None:
    _, answer = played.responses()[call]
    assert answer.is_error, what


def test_nothing_was_written(played: Played, stage: Stage) -> None:
    assert played.responses()
    assert not (stage.project / ".runner" / "status.json").exists()
