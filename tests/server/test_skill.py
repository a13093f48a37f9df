"""skills/runner-implement/SKILL.md says what the server takes and answers."""

import re
from pathlib import Path

import pytest

from runner.autonomy.enums import LoopSignal, StepType
from runner.autonomy.inputs import CommandResult, Receipt, StepReport
from runner.server.routes import LEGACY, ROUTES

TEXT = (Path(__file__).parents[2] / "skills" / "runner-implement" / "SKILL.md").read_text()
SHAPES = re.findall(r'(\w+)\(action="([\w-]+)"(?:, command="([\w-]+)")?', TEXT)


def test_it_names_calls() -> None:
    assert len(set(SHAPES)) > 8


@pytest.mark.parametrize("shape", sorted(set(SHAPES)))
def test_every_call_that_it_names_is_one(shape: tuple[str, str, str]) -> None:
    assert shape in {(route.tool, route.action, route.command or "") for route in ROUTES}


@pytest.mark.parametrize("command", sorted(set(re.findall(r'`command="([\w-]+)"`', TEXT))))
def test_every_command_that_it_names_is_one(command: str) -> None:
    assert command in {route.command for route in ROUTES}


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(session-[\w-]+)`", TEXT))))
def test_every_former_name_that_it_names_is_one(name: str) -> None:
    assert ("task", name) in LEGACY


@pytest.mark.parametrize("step_type", StepType)
def test_it_says_how_to_carry_out_every_step(step_type: StepType) -> None:
    assert f"**{step_type}**" in TEXT or f"**{step_type}.**" in TEXT


@pytest.mark.parametrize("signal", LoopSignal)
def test_it_says_how_to_end_on_every_signal(signal: LoopSignal) -> None:
    assert f"| `{signal}` |" in TEXT


@pytest.mark.parametrize("caveat", "ABCDEF")
def test_it_answers_every_caveat_of_the_research(caveat: str) -> None:
    assert f"({caveat})" in TEXT


@pytest.mark.parametrize("model", [Receipt, CommandResult])
def test_it_names_every_field_of_a_receipt(model: type[Receipt]) -> None:
    assert all(f'"{name}"' in TEXT for name in model.model_fields)


def test_it_names_every_field_of_a_report() -> None:
    assert all(f'"{n}"' in TEXT or f"`{n}`" in TEXT for n in StepReport.model_fields)


def test_it_has_the_front_matter_that_skills_need() -> None:
    assert re.match(r"---\nname: runner-implement\ndescription: .{20,}\n---\n", TEXT)
