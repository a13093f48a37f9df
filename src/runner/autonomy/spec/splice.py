"""Change one deliverable's status in the text of `status.json` without writing the rest anew.

Every completed step changes one boolean in a file that may hold thousands of deliverables. The
text is changed in place only where it is laid out as runner writes it, every deliverable in its
place; anything else goes the long way through the repository.
"""

import json
import re
from collections.abc import Sequence

from runner.autonomy.enums import TaskStatus

_SECTION = b'\n  "deliverables": [\n'
_SECTION_END = b"\n  ]"
_OPEN, _CLOSE = b"\n    {\n", b"\n    }"
_ID_LINE = re.compile(rb'^      "id": ("(?:[^"\\\n]|\\.)*"),?$', re.MULTILINE)
_FLAG_LINES = {
    flag: re.compile(rb'^      "%s": (true|false)(,?)$' % flag, re.MULTILINE)
    for flag in (b"passed", b"blocked")
}


def is_plain(text: bytes, task_ids: Sequence[str]) -> bool:
    """Say whether the text is laid out so that a status can be changed in place.

    Args:
        text: the whole file.
        task_ids: of all deliverables, deprecated ones too, in the order of the file.
    """
    section = _section(text)
    if section is None:
        return False
    found = [json.loads(m[1]) for m in _ID_LINE.finditer(text, *section)]
    flags = [len(p.findall(text, *section)) for p in _FLAG_LINES.values()]
    return found == list(task_ids) and flags == [len(found)] * len(flags)


def with_status(text: bytes, task_id: str, status: TaskStatus) -> bytes | None:
    """Return the text with one deliverable's status changed; None when that fails.

    The text must be plain. What is changed is parsed and compared before it is returned.
    """
    block = _block(text, task_id)
    if block is None:
        return None
    start, end = block
    old = text[start:end]
    new = _set(
        _set(old, b"passed", status is TaskStatus.PASSED), b"blocked", status is TaskStatus.BLOCKED
    )
    try:
        before, after = json.loads(old), json.loads(new)
    except ValueError:
        return None
    wanted = {"passed": status is TaskStatus.PASSED, "blocked": status is TaskStatus.BLOCKED}
    if before.get("id") != task_id or after != {**before, **wanted}:
        return None
    return text[:start] + new + text[end:]


def _section(text: bytes) -> tuple[int, int] | None:
    start = text.find(_SECTION)
    end = text.find(_SECTION_END, start)
    return None if start < 0 or end < 0 else (start + len(_SECTION), end)


def _block(text: bytes, task_id: str) -> tuple[int, int] | None:
    """Return where the deliverable's object begins and ends."""
    section = _section(text)
    name = json.dumps(task_id, ensure_ascii=False).encode("utf-8", "replace")
    at = -1 if section is None else text.find(b'\n      "id": ' + name, section[0] - 1)
    if at < 0:
        return None
    start = text.rfind(_OPEN, 0, at + 1)
    end = text.find(_CLOSE, at)
    return None if start < 0 or end < 0 else (start + len(b"\n    "), end + len(_CLOSE))


def _set(block: bytes, flag: bytes, value: bool) -> bytes:
    line = b'      "%s": %s\\2' % (flag, b"true" if value else b"false")
    return _FLAG_LINES[flag].sub(line, block, count=1)
