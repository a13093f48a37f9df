"""Which commands set up a fresh checkout, by the files in it."""

from pathlib import Path

import pytest

from runner.config.dependencies import Tree, setup_commands

PIP = ".venv/bin/python -m pip install --quiet --disable-pip-version-check"


def commands(project: Path, **environ: str) -> list[str]:
    return [one.command for one in setup_commands(None, Tree(project, project, environ))]


def with_venv(project: Path, name: str = ".venv") -> None:
    (project / name).mkdir()
    (project / name / "pyvenv.cfg").touch()


def test_a_project_without_manifests_needs_no_setup(tmp_path: Path) -> None:
    with_venv(tmp_path)
    assert commands(tmp_path) == []


@pytest.mark.parametrize("name", [".venv", "venv", "env"])
def test_a_virtual_environment_is_made_under_the_name_that_the_project_uses(
    tmp_path: Path, name: str
) -> None:
    with_venv(tmp_path, name)
    (tmp_path / "requirements.txt").write_text("x\n")
    (found,) = commands(tmp_path)
    assert found.startswith(f"python3 -m venv {name} && {name}/bin/python -m pip install")


def test_a_project_that_uses_no_virtual_environment_gets_none(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("x\n")
    assert commands(tmp_path, PATH="/usr/bin") == []


@pytest.mark.parametrize("variable", ["PATH", "VIRTUAL_ENV"])
def test_a_virtual_environment_of_the_project_in_the_environment_counts(
    tmp_path: Path, variable: str
) -> None:
    (tmp_path / "requirements.txt").write_text("x\n")
    value = f"{tmp_path}/.venv/bin:/usr/bin" if variable == "PATH" else f"{tmp_path}/.venv"
    assert commands(tmp_path, **{variable: value}) == [
        f"python3 -m venv .venv && {PIP} -r requirements.txt"
    ]


def test_other_folders_of_the_project_on_path_are_no_virtual_environment(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("x\n")
    assert commands(tmp_path, PATH=f"{tmp_path}/tools/bin:{tmp_path}/node_modules/.bin") == []


def test_a_package_is_installed_with_its_extras_and_groups_for_development(
    tmp_path: Path,
) -> None:
    with_venv(tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "p"\n[project.optional-dependencies]\ntest = []\nother = []\n'
        '[dependency-groups]\ndev = ["a>=1", {include-group = "lint"}, "-r evil"]\nlint = ["b"]\n'
    )
    assert commands(tmp_path) == [
        f"python3 -m venv .venv && {PIP} -e '.[test]' 'a>=1' b",
    ]


def test_a_pyproject_that_only_configures_tools_is_no_package(tmp_path: Path) -> None:
    with_venv(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\n")
    assert commands(tmp_path) == ["python3 -m venv .venv"]


def test_groups_that_include_themselves_have_an_end(tmp_path: Path) -> None:
    with_venv(tmp_path)
    text = '[dependency-groups]\ndev = ["a", {include-group = "dev"}]\n'
    (tmp_path / "pyproject.toml").write_text(text)
    (found,) = commands(tmp_path)
    assert found.endswith("version-check a")


def test_texts_of_the_project_are_quoted(tmp_path: Path) -> None:
    with_venv(tmp_path)
    (tmp_path / "x; touch y #requirements.txt").touch()
    (tmp_path / "setup.py").touch()
    (found,) = commands(tmp_path)
    assert "-r 'x; touch y #requirements.txt'" in found


def test_text_that_no_command_can_hold_is_left_out(tmp_path: Path) -> None:
    with_venv(tmp_path)
    text = '[dependency-groups]\ndev = ["a\\u0000b", "c\\nd", "e"]\n'
    (tmp_path / "pyproject.toml").write_text(text)
    (found,) = commands(tmp_path)
    assert found.endswith("version-check e")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("package-lock.json", "npm ci --no-audit --no-fund"),
        ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
        ("yarn.lock", "yarn install --frozen-lockfile"),
        ("bun.lock", "bun install --frozen-lockfile"),
        ("x", "npm install --no-audit --no-fund --no-package-lock"),
    ],
)
def test_the_lock_file_chooses_the_package_manager(
    tmp_path: Path, name: str, expected: str
) -> None:
    (tmp_path / "package.json").write_text('{"devDependencies": {"x": "1"}}')
    (tmp_path / name).touch()
    assert commands(tmp_path) == [expected]


@pytest.mark.parametrize("text", ['{"name": "x"}', "no JSON", "[]", "", "[" * 100_000])
def test_a_package_without_dependencies_needs_no_setup(tmp_path: Path, text: str) -> None:
    (tmp_path / "package.json").write_text(text)
    (tmp_path / "package-lock.json").touch()
    assert commands(tmp_path) == []


def test_several_ecosystems_are_all_set_up(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"dependencies": {"x": "1"}}')
    (tmp_path / "composer.lock").write_text('{"packages": [{}]}')
    (tmp_path / "Gemfile.lock").write_text("GEM\n  specs:\n    rake (13.0)\n")
    found = [command.split()[0] for command in commands(tmp_path)]
    assert found == ["npm", "bundle", "composer"]


@pytest.mark.parametrize("name", ["go.mod", "Cargo.toml", "pom.xml", "build.gradle"])
def test_what_its_build_command_fetches_needs_no_setup(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert commands(tmp_path) == []


def test_a_manifest_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "composer.lock").write_text('{"packages": [{}]}')
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "composer.lock").symlink_to("../elsewhere/composer.lock")
    assert commands(tmp_path / "project") == []


@pytest.mark.parametrize("declared", [(), ("make deps",)])
def test_what_the_user_declares_is_all_there_is(tmp_path: Path, declared: tuple[str, ...]) -> None:
    (tmp_path / "package.json").write_text('{"dependencies": {"x": "1"}}')
    found = setup_commands(declared, Tree(tmp_path, tmp_path, {}))
    assert tuple(one.command for one in found) == declared
    assert all(one.declared for one in found)
