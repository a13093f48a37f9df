"""A decision is a function of text, mode, settings and facts: nothing else is looked at."""

import ast
import builtins
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.shell_policy.memory_facts import MemoryFacts

import runner.shell_policy
from runner.shell_policy.decision import PolicySettings
from runner.shell_policy.paths import PathPolicy
from runner.shell_policy.policy import judge_command
from runner.shell_policy.profiles import load_rules
from runner.shell_policy.project_facts import DiskFacts, FolderEntry

DATA = Path(__file__).parent.parent / "data"
SECURITY = Path(runner.shell_policy.__file__).parent
# What looks at the disk: the facts, the rules' own data, and what is no part of a decision.
MAY_LOOK = {
    "project_facts.py", "git_facts.py", "git_objects.py", "profiles.py",
    "tree.py", "readonly_proof.py", "own_output.py",
}  # fmt: skip
LOOKING = {"os", "glob", "io", "subprocess", "shutil", "tempfile", "platform", "socket", "stat"}


def _looks(path: Path) -> list[str]:
    """The names with which a module could look at anything but its arguments."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names if one.name.partition(".")[0] in LOOKING]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in LOOKING:
            found.append(node.module or "")
        elif isinstance(node, ast.Name) and node.id == "open":
            found.append("open")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            base, name = node.value.id, node.attr
            if base == "posixpath" and name not in ("join", "normpath", "dirname", "basename"):
                found.append(f"posixpath.{name}")
            if base == "Path":
                found.append(f"Path.{name}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found += ["Path()"] if node.func.id == "Path" else []
    return found


def test_only_the_facts_look_at_the_disk() -> None:
    modules = [path for path in SECURITY.rglob("*.py") if path.name not in MAY_LOOK]
    assert {str(path): _looks(path) for path in modules if _looks(path)} == {}


def _refuse(name: str) -> Callable[..., Any]:
    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError(f"{name} was called")

    return refuse


def test_a_decision_calls_nothing_that_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = json.loads((DATA / "own_benign.json").read_text(encoding="utf-8"))[::10]
    load_rules(PolicySettings().profiles)
    with monkeypatch.context() as patch:
        for name in ("stat", "lstat", "scandir", "listdir", "readlink", "open", "getcwd"):
            patch.setattr(os, name, _refuse(name))
        patch.setattr(os, "environ", None)
        patch.setattr(builtins, "open", _refuse("open"))
        rules = {
            judge_command(item["cmd"], project_dir="/workspace/project", facts=MemoryFacts()).rule
            for item in corpus
        }
    assert "policy:internal" not in rules
    assert len(rules) > 50


WRITES = ("echo key >> ~/.ssh/authorized_keys", 'git log > "$HOME/.zshrc"', "touch ~/.hushlogin")


@pytest.mark.parametrize("home", ["/root", "/tmp/home-x", "/tmp"])
@pytest.mark.parametrize("text", WRITES)
def test_the_home_may_not_be_written_wherever_it_is(home: str, text: str) -> None:
    facts = MemoryFacts(home=home)
    assert not judge_command(text, project_dir=facts.project, facts=facts).allowed


def test_a_home_that_is_tmp_leaves_its_plain_names_writable() -> None:
    facts = MemoryFacts(home="/tmp")
    assert judge_command("touch /tmp/x.log", project_dir=facts.project, facts=facts).allowed


def test_a_project_in_a_home_below_tmp_may_be_written() -> None:
    facts = MemoryFacts(project="/tmp/home/project", home="/tmp/home")
    assert judge_command("touch src/new.py", project_dir=facts.project, facts=facts).allowed


def test_a_scratch_folder_in_the_home_may_be_written() -> None:
    facts = MemoryFacts(home="/tmp/home")
    policy = PathPolicy.of(facts, "run", ("/tmp/home/scratch",))
    policy.write("/tmp/home/scratch/x", ".")


@pytest.mark.parametrize("links", [{}, {"/tmp/out": "/etc/passwd"}], ids=["empty", "a link"])
def test_what_is_in_tmp_decides_nothing(links: dict[str, str]) -> None:
    facts = MemoryFacts(links=links)
    text = r"find . -type f -exec cp {} /tmp/ \;"
    assert not judge_command(text, project_dir=facts.project, facts=facts).allowed
    assert judge_command("cp src/*.py /tmp/", project_dir=facts.project, facts=facts).allowed


@pytest.mark.parametrize(
    "text", ["cat ~/.cod*/auth.json", "cat ~/.en*", "cat /etc/ss?/x", "cat /pro?/self/environ"]
)
def test_a_pattern_that_could_match_a_secret_is_refused_unseen(text: str) -> None:
    facts = MemoryFacts()
    assert not judge_command(text, project_dir=facts.project, facts=facts).allowed


def test_a_literal_link_is_followed() -> None:
    facts = MemoryFacts(links={"/workspace/project/src/x": "/etc"})
    assert not judge_command("touch src/x/y", project_dir=facts.project, facts=facts).allowed


def test_a_pattern_that_matches_more_than_can_be_looked_at_is_refused() -> None:
    files = {f"/workspace/project/src/{number}.py": "" for number in range(5_001)}
    facts = MemoryFacts(files=files)
    decision = judge_command("sed -i s/a/b/ src/*.py", project_dir=facts.project, facts=facts)
    assert "too many files" in decision.reason


def test_a_link_deep_below_a_double_star_is_seen() -> None:
    link = "/workspace/project/src/a/b/c.py"
    text = "shopt -s globstar; sed -i s/a/b/ src/**/*.py"
    answers = [
        judge_command(text, project_dir=facts.project, facts=facts).allowed
        for facts in (MemoryFacts(files={link: ""}), MemoryFacts(links={link: "/etc/passwd"}))
    ]
    assert answers == [True, False]


def test_another_users_module_keeps_a_script_in_tmp_from_running() -> None:
    text = "cat > /tmp/x.py <<'EOF'\nimport json\nEOF\npython3 /tmp/x.py"
    answers = [
        judge_command(text, project_dir=facts.project, facts=facts).allowed
        for facts in (MemoryFacts(), MemoryFacts(foreign=frozenset({"/tmp/json.py"})))
    ]
    assert answers == [True, False]


def test_the_disk_says_what_is_in_the_project(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("text")
    (tmp_path / "src/out").symlink_to("/etc")
    facts = DiskFacts.of(tmp_path)
    source = str(tmp_path / "src")
    assert set(facts.entries(source)) == {
        FolderEntry("a.py", False, False),
        FolderEntry("out", True, True),
    }
    assert facts.text(f"{source}/a.py") == "text"


def test_the_disk_says_nothing_of_other_folders(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "other").write_text("text")
    (tmp_path / "project/out").symlink_to(tmp_path)
    facts = DiskFacts.of(tmp_path / "project")
    outside = str(tmp_path / "other")
    through = str(tmp_path / "project/out")
    assert [facts.text(outside), facts.text(f"{through}/other")] == [None, None]
    assert [facts.entries(str(tmp_path)), facts.entries(through)] == [(), ()]
    assert [facts.exists(outside), facts.exists(f"{through}/other")] == [False, False]


def test_a_fifo_in_the_project_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "Makefile")
    assert DiskFacts.of(tmp_path).text(str(tmp_path / "Makefile")) is None
