from pathlib import Path

from runner.checkpoints.folder_digest import content_digest, walk


def test_an_entry_that_is_skipped_hides_all_below_it(tmp_path: Path) -> None:
    (tmp_path / "kept" / "deep").mkdir(parents=True)
    (tmp_path / "left" / "deep").mkdir(parents=True)
    names = {entry.name for entry, _ in walk(str(tmp_path), lambda entry: entry.name == "left")}
    assert names == {"kept", "deep"}


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "loop").symlink_to(tmp_path)
    assert {entry.name for entry, _ in walk(str(tmp_path), lambda _: False)} == {"folder", "loop"}


def test_a_folder_that_is_gone_yields_nothing(tmp_path: Path) -> None:
    assert list(walk(str(tmp_path / "gone"), lambda _: False)) == []


def test_equal_contents_have_equal_digests_wherever_they_lie(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for path in (one, two):
        path.write_bytes(b"x" * 3_000_000)
    digests = {content_digest(str(p), p.lstat(), large_bytes=4_000_000) for p in (one, two)}
    assert len(digests) == 1


def test_a_large_file_is_told_by_size_and_time(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"12345")
    found = path.lstat()
    digest = content_digest(str(path), found, large_bytes=4)
    assert digest == f"5 {found.st_mtime_ns}".encode()
