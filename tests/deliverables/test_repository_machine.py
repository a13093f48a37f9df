"""Any sequence of operations, against a model that is too simple to be wrong."""

import json
import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from runner.deliverables.model import Status
from runner.deliverables.repository import StatusRepository
from runner.deliverables.transitions import DeliverableDraft, create, deprecate, set_status
from runner.errors import DeliverableError

_IDS = [f"{kind}-{number:03d}" for kind in ("UI", "API") for number in range(4)]
_START = date(2026, 1, 1)
_json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(), max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
# No field of ours begins with this letter.
_unknown = st.dictionaries(st.text(max_size=6).map(lambda t: f"x{t}"), _json_values, max_size=3)


class RepositoryMachine(RuleBasedStateMachine):
    """Statuses, deprecations and order of creation, as a dictionary sees them."""

    known = Bundle("known")

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._today = _START
        path = Path(self._folder.name) / ".runner" / "status.json"
        self._repository = StatusRepository(path, today=lambda: self._today)
        self._statuses: dict[str, str] = {}
        self._deprecated: dict[str, date] = {}
        self._updated: date | None = None

    def teardown(self) -> None:
        self._folder.cleanup()

    @rule(days=st.integers(1, 400))
    def time_passes(self, days: int) -> None:
        self._today += timedelta(days=days)

    @rule(target=known, names=st.lists(st.sampled_from(_IDS), max_size=3))
    def create(self, names: list[str]) -> str:
        drafts = [DeliverableDraft(name, "Thing", ("works",)) for name in names]
        is_new = bool(names) and len({*names}) == len(names) and not {*names} & {*self._statuses}
        assert self._accepts(lambda file: create(file, drafts)) is is_new
        if is_new:
            self._statuses |= dict.fromkeys(names, "pending")
            self._updated = self._today
        return names[0] if names else "UI-000"

    @rule(name=known, status=st.sampled_from(Status))
    def set_status(self, name: str, status: Status) -> None:
        old = self._statuses.get(name)
        allowed = (
            old is not None
            and name not in self._deprecated
            and (old, status) != ("passed", "blocked")
        )
        assert self._accepts(lambda file: set_status(file, name, status)) is allowed
        if allowed and old != status:
            self._statuses[name] = status.value
            self._updated = self._today

    @rule(name=consumes(known))
    def deprecate(self, name: str) -> None:
        today = self._today
        accepted = self._accepts(lambda file: deprecate(file, name, today))
        assert accepted is (name in self._statuses)
        if accepted and name not in self._deprecated:
            self._deprecated[name] = today
            self._updated = today

    @invariant()
    def the_file_says_what_the_model_says(self) -> None:
        file = self._repository.load()
        if not self._statuses:
            assert file is None
            return
        assert file is not None
        assert {d.id: d.status.value for d in file.deliverables} == self._statuses
        assert [d.id for d in file.deliverables] == list(self._statuses)
        assert {d.id: d.deprecated_at for d in file.deliverables if d.deprecated_at} == (
            self._deprecated
        )
        assert file.updated_at == self._updated

    def _accepts(self, change: Any) -> bool:
        try:
            self._repository.update(change)
        except DeliverableError:
            return False
        return True


TestRepositoryMachine = RepositoryMachine.TestCase
TestRepositoryMachine.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    top=_unknown,
    items=st.lists(_unknown, min_size=1, max_size=3),
    phase=_unknown,
    steps=st.lists(st.tuples(st.integers(0, 2), st.sampled_from([*Status, None])), max_size=6),
    data=st.data(),
)
def test_unknown_fields_and_their_order_survive_everything(
    *,
    tmp_path: Path,
    top: dict[str, Any],
    items: list[dict[str, Any]],
    phase: dict[str, Any],
    steps: list[tuple[int, Status | None]],
    data: st.DataObject,
) -> None:
    def shuffled(fields: dict[str, Any]) -> dict[str, Any]:
        return dict(data.draw(st.permutations(list(fields.items()))))

    deliverables = [
        shuffled(
            {
                "id": f"odd id {number}",
                "description": "d",
                "acceptanceCriteria": [],
                "passed": False,
                **extra,
            }
        )
        for number, extra in enumerate(items)
    ]
    document = shuffled(
        {"deliverables": deliverables, "phases": [shuffled({"id": "p", **phase})], **top}
    )
    path = tmp_path / ".runner" / "status.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    repository = StatusRepository(path)
    for number, status in steps:
        _try(repository, f"odd id {number}", status)
    after = json.loads(path.read_bytes())
    assert _strangers(after) == _strangers(document)
    assert after["phases"] == document["phases"]
    assert [_strangers(d) for d in after["deliverables"]] == [_strangers(d) for d in deliverables]


def _try(repository: StatusRepository, name: str, status: Status | None) -> None:
    def change(file: Any) -> Any:
        if status is None:
            return deprecate(file, name, _START)
        return set_status(file, name, status)

    try:
        repository.update(change)
    except DeliverableError:
        return


def _strangers(fields: dict[str, Any]) -> list[tuple[str, str]]:
    return [(key, json.dumps(value)) for key, value in fields.items() if key.startswith("x")]
