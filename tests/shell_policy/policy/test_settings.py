"""agent.json: tiers of commands, pkill targets, profiles (seed 001 §4.4, §5.3)."""

import tomllib
from pathlib import Path

import pytest

from runner.errors import ConfigError
from runner.resources import data_path
from runner.shell_policy.decision import ALL_PROFILES, Mode, PolicySettings
from runner.shell_policy.policy import explain, judge_command
from runner.shell_policy.profiles import BASE, load_rules, parse_profile
from runner.shell_policy.validators import VALIDATORS

MODES: tuple[Mode, ...] = ("run", "sync")


@pytest.mark.parametrize(
    ("allow", "run", "sync"),
    [
        (["tool"], True, False),
        ({"base": ["tool"]}, True, True),
        ({"run": ["tool"]}, True, False),
        ({"sync": ["tool"]}, False, True),
        ({}, False, False),
    ],
)
def test_tiers_add_commands(project: Path, allow: object, run: bool, sync: bool) -> None:
    settings = PolicySettings.from_agent_config({"allowCommands": allow})
    answers = [
        judge_command("tool x", command=mode, project_dir=project, settings=settings).allowed
        for mode in MODES
    ]
    assert answers == [run, sync]


def test_an_added_command_needs_no_table(project: Path) -> None:
    settings = PolicySettings(run_commands=frozenset({"docker"}))
    answers = [
        judge_command("docker run --rm app", project_dir=project, settings=s).allowed
        for s in (PolicySettings(), settings)
    ]
    assert answers == [False, True]


def test_removing_is_not_added_by_agent_json(project: Path) -> None:
    settings = PolicySettings(run_commands=frozenset({"rm"}))
    assert not judge_command("rm a", project_dir=project, settings=settings).allowed


@pytest.mark.parametrize("mode", MODES)
def test_the_development_server_script_is_allowed(project: Path, mode: Mode) -> None:
    assert judge_command("./bin/dev.sh", command=mode, project_dir=project).allowed


def test_an_added_command_may_not_name_protected_files(project: Path) -> None:
    settings = PolicySettings(run_commands=frozenset({"tool"}))
    assert not judge_command("tool --out=.runner/x", project_dir=project, settings=settings).allowed


@pytest.mark.parametrize(
    ("profile", "expected"),
    [(None, ("node", "bun", "python", "ruby", "go", "rust", "php")), ("node", ("node",)),
     (["node", "python"], ("node", "python")), ("base", ())],
)  # fmt: skip
def test_profiles_restrict(profile: object, expected: tuple[str, ...]) -> None:
    assert PolicySettings.from_agent_config({"profile": profile}).profiles == expected


def test_a_profile_that_is_not_chosen_allows_nothing(project: Path) -> None:
    node = PolicySettings(profiles=("node",))
    answers = [
        judge_command(command, project_dir=project, settings=node).allowed
        for command in ("npm test", "cargo test", "ls")
    ]
    assert answers == [True, False, True]


def test_pkill_targets_are_extended(project: Path) -> None:
    settings = PolicySettings(pkill_targets=frozenset({"custom-server"}))
    answers = [
        judge_command("pkill custom-server", project_dir=project, settings=s).allowed
        for s in (PolicySettings(), settings)
    ]
    assert answers == [False, True]


def test_an_unknown_profile_is_a_denial_with_a_reason(project: Path) -> None:
    decision = judge_command(
        "ls", project_dir=project, settings=PolicySettings(profiles=("cobol",))
    )
    assert (decision.allowed, "cobol" in decision.reason) == (False, True)


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_each_profile_works_alone(project: Path, profile: str) -> None:
    settings = PolicySettings(profiles=(profile,))
    assert judge_command("ls", project_dir=project, settings=settings).allowed


def test_a_wrong_profile_names_file_and_key() -> None:
    with pytest.raises(ConfigError, match=r"x\.toml: commands\.ls\.flag"):
        parse_profile('[commands.ls]\nflag = "-l"\n', "x.toml")


def test_every_list_kind_and_validator_in_the_profiles_exists() -> None:
    rules = load_rules(PolicySettings().profiles)
    missing = set()
    stack = list(rules.commands.values())
    while stack:
        rule = stack.pop()
        stack.extend(rule.sub.values())
        kinds = {o.kind for o in rule.options.values()} | {
            k.removesuffix("...") for k in rule.operands
        }
        missing |= {k for k in kinds if k.startswith("@") and k[1:] not in rules.lists}
        missing |= kinds - {k for k in kinds if k.startswith("@")} - _KINDS
        if rule.validator and rule.validator not in VALIDATORS:
            missing.add(rule.validator)
    assert missing == set()


_KINDS = {"", "text", "number", "read", "tree", "project", "write", "remove", "none", "url"}


def test_an_explanation_names_each_command_and_its_rule(project: Path) -> None:
    found = explain("ls && git push", project_dir=project)
    assert [(c.words[0], c.decision.allowed) for c in found.commands] == [
        ("ls", True),
        ("git", False),
    ]


def test_a_decision_names_file_and_key(project: Path) -> None:
    assert judge_command("ls", project_dir=project).rule == "base.toml:commands.ls"


def test_scripts_and_packages_the_project_declares_are_allowed(project: Path) -> None:
    answers = [
        judge_command(command, project_dir=project).allowed
        for command in (
            "npm run mine",
            "npm run other",
            "npm install odd",
            "make special",
            "make odd",
        )
    ]
    assert answers == [True, False, True, True, False]


def test_a_command_of_another_profile_is_told_from_an_unknown_one(project: Path) -> None:
    settings = PolicySettings(profiles=("python",))
    decision = judge_command("npm test", project_dir=project, settings=settings)
    assert "belongs to the profile node" in decision.reason


def test_a_command_opened_in_run_alone_says_so_in_sync(project: Path) -> None:
    settings = PolicySettings(run_commands=frozenset({"frobnicate"}))
    decision = judge_command("frobnicate", command="sync", project_dir=project, settings=settings)
    assert "allowCommands.run" in decision.reason


def test_an_unknown_kind_is_refused_when_the_profile_is_read(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text('[commands.x.sub.y]\noperands = ["projekt..."]\n')
    with pytest.raises(ConfigError, match=r"base.toml:commands.x.sub.y: operands: .* projekt"):
        load_rules((), tmp_path)


def test_no_command_that_every_project_gets_is_described_twice() -> None:
    folder = data_path("profiles")
    names = [
        name
        for profile in BASE
        for name in tomllib.loads((folder / f"{profile}.toml").read_text()).get("commands", {})
    ]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(
    ("text", "mode", "allowed"),
    [("knip --reporter compact", "run", True), ("knip --reporter ./evil.js", "run", False),
     ("knip --config x --unheard-of", "run", False), ("npx --depth 3 knip", "run", False),
     ("terraform fmt -check", "sync", True), ("terraform fmt -check=false", "sync", False)],
)  # fmt: skip
def test_options_of_any_tool_are_words_and_no_paths(
    project: Path, text: str, mode: Mode, allowed: bool
) -> None:
    assert judge_command(text, command=mode, project_dir=project).allowed == allowed


def test_a_refused_value_names_those_that_may_stand_there(project: Path) -> None:
    decision = judge_command("hugo server", command="run", project_dir=project)
    assert "may not be server. Allowed: build, list, config, version." in decision.reason
