"""What the agent refused by itself is shown to the user, too."""

from runner.agent.claude.session import Refusals
from runner.events import StreamToolDenied, StreamToolInvocation, StreamToolResponse

CALL = StreamToolInvocation("t1", "Write", {"file_path": "/p/.runner/status.json"})


def answered(content: str, *, is_error: bool = True) -> StreamToolDenied | None:
    refusals = Refusals()
    refusals.denial(CALL)
    return refusals.denial(StreamToolResponse("t1", content, is_error))


def test_a_path_that_the_rules_deny_is_a_refusal_without_the_agents_frame() -> None:
    said = "<tool_use_error>File is in a directory that is denied by your permission settings."
    denied = answered(f"{said}</tool_use_error>")
    assert denied == StreamToolDenied("Write", CALL.input, said.removeprefix("<tool_use_error>"))


def test_a_tool_that_is_not_offered_is_a_refusal() -> None:
    assert answered("<tool_use_error>Error: No such tool available: WebFetch.</tool_use_error>")


def test_a_program_that_failed_is_none() -> None:
    assert answered("ls: cannot access 'x': No such file or directory") is None


def test_a_good_answer_that_mentions_refusals_is_none() -> None:
    assert answered("denied by your permission settings", is_error=False) is None


def test_an_answer_to_an_unknown_call_is_shown_all_the_same() -> None:
    answer = StreamToolResponse("t9", "Permission to use Bash has been denied.", is_error=True)
    denied = Refusals().denial(answer)
    assert denied is not None
