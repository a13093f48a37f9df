from collections.abc import Callable, Iterator

import pytest

from runner.marker import Instruction, PromptMarker
from runner.replay import ScriptedModel, parse_script

Talk = list[dict[str, object]]


@pytest.fixture
def serve() -> Iterator[Callable[[str], ScriptedModel]]:
    """Return a function that starts a model from the text of a script."""
    started: list[ScriptedModel] = []

    def start(text: str) -> ScriptedModel:
        model = ScriptedModel(parse_script(text, name="test script"))
        model.start()
        started.append(model)
        return model

    yield start
    for model in started:
        model.close()


@pytest.fixture
def prompt() -> Callable[..., Talk]:
    """Return a function that makes the first message for a marker."""

    def make(instruction: str = "coding", iteration: int = 1, **keys: str) -> Talk:
        marker = PromptMarker(Instruction(instruction), iteration, **keys)
        return [{"role": "user", "content": f"{marker.render()}\nDo it."}]

    return make
