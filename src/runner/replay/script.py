"""The file a scripted model is written in: TOML, described in docs/scripted-model.md."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from runner.errors import ScriptError
from runner.marker import PLAN_SCOPE, Instruction, PromptMarker
from runner.replay.explain import explain
from runner.replay.places import FORMS, PLACES
from runner.text.messages import reason

_PLACEHOLDER = re.compile(
    rf"\{{\{{((?:{'|'.join(PLACES)})(?::(?:{FORMS}))?|task|phase|iteration|user|host|braces)\}}\}}"
)
_BRACES = "{{"
DEEPEST = 100
"""How deep the input of a tool may be nested."""
# A line break inside a header would let a script write headers of its own making.
_HeaderName = Annotated[str, Field(pattern=r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")]
_HeaderText = Annotated[str, Field(pattern=r"^[\t -~\u0080-\u00ff]*$")]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True
    )


class Usage(_Part):
    """Token counts reported for a turn. What is left out is estimated from the text."""

    input_tokens: int | None = Field(default=None, ge=0)
    output_tokens: int | None = Field(default=None, ge=0)
    cache_read_input_tokens: int = Field(default=0, ge=0)
    cache_creation_input_tokens: int = Field(default=0, ge=0)


class Failure(_Part):
    """An API failure given instead of an answer.

    Attributes:
        type: the API's name of the error; derived from the status when left out.
        times: how many requests of a conversation fail; None for every one.
        headers: further response headers, e.g. `retry-after`.
    """

    status: int = Field(ge=400, le=599)
    message: str = "scripted failure"
    type: str | None = None
    times: int | None = Field(default=None, ge=1)
    headers: dict[_HeaderName, _HeaderText] = Field(default_factory=dict)


class ToolCall(_Part):
    """One tool call of a turn. The text of `content_file` becomes `input.content`.

    Attributes:
        input_json: the input as the text of a JSON object, for what TOML can't say (null).
    """

    name: str = Field(min_length=1)
    input: dict[str, JsonValue] = Field(default_factory=dict)
    input_json: str | None = None
    content_file: str | None = None
    _content: str | None = PrivateAttr(None)
    _given: dict[str, JsonValue] = PrivateAttr(default_factory=dict)

    @model_validator(mode="after")
    def _read_input(self) -> Self:
        if self.input_json is None:
            self._given = self.input
        elif self.input or self.content_file is not None:
            raise ValueError('give "input_json" or the other keys of the input, not both')
        else:
            self._given = _json_object(self.input_json)
        return self

    @model_validator(mode="after")
    def _load_content(self, info: ValidationInfo) -> Self:
        if self.content_file is None:
            return self
        if "content" in self.input:
            raise ValueError('give "content_file" or input.content, not both')
        folder = (info.context or {}).get("folder")
        self._content = _read_beside(folder, self.content_file)
        return self

    def rendered(self, values: Mapping[str, str]) -> dict[str, JsonValue]:
        """Return the input with placeholders filled in; a content file stays as it is."""
        filled: dict[str, JsonValue] = _fill_json(self._given, values)
        return filled if self._content is None else {**filled, "content": self._content}


class ScriptTurn(_Part):
    """What the model says once, or how the API fails.

    Attributes:
        expect_error: whether a tool result that this turn answers should be an error;
            None to accept both.
        delay_ms: how long the model takes, in milliseconds.
        results: the tool results that this turn answers, as `Cleaner.comparable` has them;
            None to accept any.
        stop_reason: why the model stops, where that does not follow from what it says.
    """

    text: str | None = None
    thinking: str | None = None
    tools: tuple[ToolCall, ...] = ()
    expect_error: bool | None = None
    delay_ms: int = Field(default=0, ge=0, le=600_000)
    error: Failure | None = None
    usage: Usage | None = None
    results: tuple[str, ...] | None = None
    stop_reason: str | None = Field(default=None, min_length=1)

    @property
    def speaks(self) -> bool:
        """Whether the turn has an answer to give."""
        return bool(self.text or self.tools or self.stop_reason)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.speaks and self.error is None:
            raise ValueError('a turn needs "text", "tools", "stop_reason" or "error"')
        if self.thinking and not self.speaks:
            raise ValueError('a turn with "thinking" also needs "text" or "tools"')
        return self


class ScriptSession(_Part):
    """The turns for one prompt, and which prompts they are for. None matches anything.

    Attributes:
        scope: of a review. Only a session with the scope `plan` answers the review of a plan.
        prompt: the whole prompt, as `Cleaner.comparable` has it; None to accept any.
    """

    instruction: Instruction | None = None
    iteration: int | None = Field(default=None, ge=0)
    phase: str | None = None
    task: str | None = None
    scope: Literal["plan", "phase", "spec"] | None = None
    repeat: bool = False
    fallback: bool = False
    prompt: str | None = None
    turn: tuple[ScriptTurn, ...]

    @model_validator(mode="after")
    def _can_be_matched(self) -> Self:
        keys = (self.instruction, self.iteration, self.phase, self.task, self.scope)
        if self.fallback and any(key is not None for key in keys):
            raise ValueError('a session with "fallback" has no other match keys')
        if not self.fallback and self.instruction is None:
            raise ValueError('a session needs "instruction", or fallback = true')
        return self

    @model_validator(mode="after")
    def _every_turn_is_reachable(self) -> Self:
        if not self.turn:
            raise ValueError("a session needs at least one [[session.turn]]")
        for number, turn in enumerate(self.turn[:-1], start=1):
            if turn.error is not None and turn.error.times is None:
                raise ValueError(
                    f"turn {number} fails for ever, so turn {number + 1} is never reached; "
                    'give its error "times"'
                )
        return self

    def matches(self, marker: PromptMarker) -> bool:
        """Whether the session was written for this prompt. A fallback never says so."""
        wanted = {
            "instruction": self.instruction,
            "iteration": self.iteration,
            "phase": self.phase,
            "task": self.task,
            "scope": self.scope,
        }
        if marker.scope == PLAN_SCOPE and self.scope != PLAN_SCOPE:
            return False  # what reviews a phase says nothing about a plan
        return not self.fallback and all(
            value is None or value == getattr(marker, key) for key, value in wanted.items()
        )

    @property
    def title(self) -> str:
        """The prompt it is for, in a few words."""
        about = self.task or self.phase or self.scope
        return " ".join(filter(None, (self.instruction or "any prompt", about)))

    @property
    def answers(self) -> int:
        """How many answers it has; a turn that only fails is none."""
        return sum(turn.speaks for turn in self.turn)

    def step(self, index: int) -> tuple[tuple[Failure, ...], ScriptTurn | None]:
        """Return answer `index`, from 0, and the failures that come before it.

        A turn that only fails takes no place of its own: the API has not answered yet.
        The answer is None past the last turn.
        """
        failures: list[Failure] = []
        position = 0
        for turn in self.turn:
            if turn.error is not None and position == index:
                failures.append(turn.error)
            if turn.speaks:
                if position == index:
                    return tuple(failures), turn
                position += 1
        return tuple(failures), None


PLAN_REVIEWER = ScriptSession(
    instruction=Instruction.REVIEW,
    scope="plan",
    repeat=True,
    turn=(
        ScriptTurn(
            text="The script says nothing about the plan.",
            tools=(
                ToolCall(
                    name="mcp__runner__submit_review",
                    input={
                        "verdict": "pass",
                        "summary": "A scripted model accepts every plan unless its script says "
                        "otherwise.",
                        "findings": [],
                    },
                ),
            ),
        ),
        ScriptTurn(text="The plan is accepted."),
    ),
)
"""Answers the review of a plan where a script has no session for it."""

RECORDING_VERSION = 1


class Recording(_Part):
    """Says that a script was recorded from a run, and by which runner."""

    version: Literal[1]
    runner: str


class ModelScript(_Part):
    """A scripted model: the sessions in the order in which they are tried.

    Attributes:
        usage: holds for every turn that does not give its own.
        recording: where the script is one, so that all of it should be played.
    """

    usage: Usage = Usage()
    recording: Recording | None = None
    session: tuple[ScriptSession, ...]

    @model_validator(mode="after")
    def _has_sessions(self) -> Self:
        if not self.session:
            raise ValueError("a script needs at least one [[session]]")
        return self


def load_script(path: Path) -> ModelScript:
    """Read a script file.

    Raises:
        ScriptError: it can't be read or is wrong; says where and what to write instead.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # as editors on Windows write it
    except FileNotFoundError as error:
        raise ScriptError(
            f"The script {path} does not exist.", hint="Give the path of a script file."
        ) from error
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        raise ScriptError(
            f"The script {path} can't be read: {reason(error, named=True)}.",
            hint="It must be a text file in UTF-8.",
        ) from error
    return parse_script(text, name=str(path), folder=path.parent)


def parse_script(text: str, *, name: str, folder: Path | None = None) -> ModelScript:
    """Read a script from text.

    Args:
        text: the TOML.
        name: what messages call the script.
        folder: where its content files stand; None when it can have none.

    Raises:
        ScriptError: it is wrong; says where and what to write instead.
    """
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # RecursionError: nested without end
        raise ScriptError(
            f"{name} is not valid TOML: {error}.",
            hint="Text of several lines stands between ''' marks; "
            "an inline { table } must stay on one line.",
        ) from error
    _require_known_version(data, name)
    try:
        return ModelScript.model_validate(data, context={"folder": folder})
    except ValidationError as error:
        raise explain(error, name, ModelScript) from error


def _require_known_version(data: Mapping[str, Any], name: str) -> None:
    recording = data.get("recording")
    version = recording.get("version") if isinstance(recording, dict) else None
    if isinstance(version, int) and version > RECORDING_VERSION:
        raise ScriptError(
            f"{name} is a recording in version {str(version)[:20]} of the format, and this runner "
            f"knows version {RECORDING_VERSION}.",
            hint="Update runner, or record it again with this one.",
        )


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders that have a value; `{{braces}}` always has one."""
    known = {"braces": _BRACES, **values}
    return _PLACEHOLDER.sub(lambda match: known.get(match[1], match[0]), text)


def escape(text: str) -> str:
    """Return what `fill` makes the text of again, whatever values it is given."""
    return _PLACEHOLDER.sub(lambda match: "{{braces}}" + match[0].removeprefix(_BRACES), text)


def unfilled(turn: ScriptTurn, values: Mapping[str, str]) -> set[str]:
    """Return the placeholders of a turn for which there is no value."""
    calls = [f"{call.name}{call.input}{call.input_json}" for call in turn.tools]
    texts = [turn.text or "", turn.thinking or "", *calls]
    named = {name for text in texts for name in _PLACEHOLDER.findall(text)}
    return named - {"braces", *values}


def _fill_json(value: JsonValue, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return fill(value, values)
    if isinstance(value, list):
        return [_fill_json(item, values) for item in value]
    if isinstance(value, dict):
        return {fill(key, values): _fill_json(item, values) for key, item in value.items()}
    return value


def is_deeper(value: Any, levels: int) -> bool:
    """Whether a JSON value is nested deeper than that."""
    inner = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list):
        return False
    return levels == 0 or any(is_deeper(item, levels - 1) for item in inner)


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and not is_deeper(value, DEEPEST):
        return value
    raise ValueError(f'"input_json" is not the text of a JSON object of at most {DEEPEST} levels')


def _read_beside(folder: Path | None, name: str) -> str:
    if folder is None:
        raise ValueError("content_file needs a script that is a file; write input.content")
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(f'"{name}" must lie in the folder of the script')
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f'"{name}" beside the script can\'t be read as text') from error
