"""A step's report is made once, as the model that the control plane takes."""

import pytest

from runner.autonomy.codes import ErrorCode, RefusedError
from runner.autonomy.enums import StepType
from runner.loop.steps.step import CurrentStep, StepResult, success

STEP = CurrentStep(
    step_id="step_" + "0" * 26, type=StepType.IMPLEMENT_TASK, phase_id="p1", task_id="A-001"
)


def test_a_report_names_its_step() -> None:
    report = success("Done.").report(STEP, ["a.py"])
    assert (report.step_id, report.step_type, report.task_id) == (STEP.step_id, STEP.type, "A-001")
    assert (report.note, report.files_touched) == ("Done.", ("a.py",))


def test_a_report_says_nothing_that_was_not_given() -> None:
    assert success().report(STEP).model_fields_set == {"step_id", "step_type", "task_id", "outcome"}


@pytest.mark.parametrize("outcome", ["perfect", ""])
def test_a_wrong_report_is_refused_before_it_is_sent(outcome: str) -> None:
    with pytest.raises(RefusedError) as caught:
        StepResult(outcome).report(STEP)
    assert caught.value.code is ErrorCode.VALIDATION_ERROR


def test_text_that_is_not_unicode_is_refused_before_it_is_sent() -> None:
    with pytest.raises(RefusedError):
        success("\ud800").report(STEP)
