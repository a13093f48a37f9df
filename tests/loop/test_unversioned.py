"""The manifest of files that no tree holds: what is compared, and what is read again."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.checkpoints import unversioned
from runner.checkpoints.unversioned import Manifest, UnversionedEntry, compare, identity_of, scan

_PARTS = st.sampled_from([b"a", b"b", b"c d", b"e\nf", b"\xff", b"\x1b[1m", b"-", b"~"])
_PATHS = st.lists(_PARTS, min_size=1, max_size=3).map(b"/".join)
_FILES = st.tuples(st.just("file"), st.binary(max_size=4), st.sampled_from([0o644, 0o755]))
_LINKS = st.tuples(st.just("link"), st.sampled_from([b"nowhere", b"/nowhere"]), st.just(0))
_TREES = st.dictionaries(_PATHS, st.one_of(_FILES, _LINKS), max_size=6)
_Tree = dict[bytes, tuple[str, bytes, int]]


def _make(root: bytes, tree: _Tree) -> _Tree:
    """Make the files of a tree, those that fit, and return them."""
    made = {}
    for path, (kind, content, mode) in tree.items():
        full = root + b"/" + path
        try:
            target = Path(os.fsdecode(full))
            target.parent.mkdir(parents=True, exist_ok=True)
            if kind == "link":
                target.symlink_to(os.fsdecode(content))
            else:
                with target.open("xb") as file:
                    file.write(content)
                target.chmod(mode)
        except OSError:
            continue
        made[path] = (kind, content, mode)
    return {p: v for p, v in made.items() if os.path.lexists(root + b"/" + p)}


def _clear(root: Path) -> None:
    for path in sorted(root.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=_TREES, now=_TREES, held=st.sets(_PATHS, max_size=3))
def test_exactly_what_differs_is_named(
    tmp_path: Path, before: _Tree, now: _Tree, held: set[bytes]
) -> None:
    root = os.fsencode(tmp_path)
    _clear(tmp_path)
    before = _make(root, before)
    old = scan(root, set(), Manifest({}))
    _clear(tmp_path)
    now = _make(root, now)
    new = scan(root, held, old)
    found = compare(old, new, held)
    shown = {path: what for path, what in now.items() if path not in held}
    assert set(found.added) == shown.keys() - before.keys()
    assert set(found.removed) == before.keys() - shown.keys() - held
    assert set(found.changed) == {
        path for path in shown.keys() & before.keys() if shown[path] != before[path]
    }


@given(
    entries=st.dictionaries(
        _PATHS,
        st.builds(
            UnversionedEntry,
            mode=st.integers(0, 0o177777),
            size=st.integers(0, 2**62),
            identity=st.tuples(*[st.integers(-(2**62), 2**62)] * 3),
            digest=st.sampled_from(["", "0" * 64, ">61"]),
        ),
    ),
    complete=st.booleans(),
)
def test_a_manifest_can_be_read_again(
    entries: dict[bytes, UnversionedEntry], complete: bool
) -> None:
    made = Manifest(entries, complete)
    assert Manifest.decode(made.encode()) == made


@pytest.mark.parametrize("data", [b"", b"nonsense", b"complete\0nonsense", b"cut\0a b c d e f g"])
def test_nonsense_is_no_manifest(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"manifest|unpack|invalid literal"):
        Manifest.decode(data)


def test_an_untouched_file_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"x")
    status = target.stat()
    identity = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
    known = Manifest({b"file": UnversionedEntry(status.st_mode, 1, identity, "noted")})
    later = status.st_ctime_ns + 3_000_000_000
    monkeypatch.setattr("time.time_ns", lambda: later)
    monkeypatch.setattr(unversioned, "times_tell", lambda _: True)
    found = scan(os.fsencode(tmp_path), set(), known)
    assert found.entries[b"file"].digest == "noted"


def test_a_young_file_has_no_identity_that_counts(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"x")
    status = target.stat()
    assert identity_of(status, status.st_ctime_ns + 1_000_000_000) == (0, 0, 0)
    assert any(identity_of(status, status.st_ctime_ns + 3_000_000_000))


def test_what_is_too_much_to_read_counts_by_its_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unversioned, "MAX_HASHED_BYTES", 10)
    (tmp_path / "large").write_bytes(b"x" * 100)
    root = os.fsencode(tmp_path)
    old = scan(root, set(), Manifest({}))
    assert old.entries[b"large"].digest == ""
    (tmp_path / "large").write_bytes(b"y" * 100)
    assert set(compare(old, scan(root, set(), old), set()).changed) == {b"large"}


@pytest.mark.parametrize(
    "path",
    [
        b".git/objects/ab/" + b"0" * 38, b".git/objects/pack/pack-1.idx", b".git/index",
        b".git/HEAD", b".git/refs/heads/main", b".git/COMMIT_EDITMSG",
        b".git/modules/a/b/HEAD", b".git/modules/a/objects/ab/" + b"0" * 38,
        b"inner/.git/logs/HEAD", b".git/worktrees/x/ORIG_HEAD", b".runner/autonomy/x",
    ],
)  # fmt: skip
def test_what_git_and_the_runner_write_is_left_out(tmp_path: Path, path: bytes) -> None:
    _write(tmp_path, path)
    assert scan(os.fsencode(tmp_path), set(), Manifest({})).entries == {}


@pytest.mark.parametrize(
    "path",
    [
        b".git/config", b".git/hooks/pre-commit", b".git/info/exclude", b".git/HEAD/x",
        b".git/modules/a/config", b".git/objects/evil.py", b".git/objects/ab/cd.py",
        b"objects/x", b".git/objects/info/alternates", b".runner/agent.json", b".GIT/index",
        b".git", b"inner/.git/hooks/x",
    ],
)  # fmt: skip
def test_what_decides_something_is_not_left_out(tmp_path: Path, path: bytes) -> None:
    _write(tmp_path, path)
    assert set(scan(os.fsencode(tmp_path), set(), Manifest({})).entries) == {path}


def _write(root: Path, path: bytes) -> None:
    target = root / os.fsdecode(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(b"x")
