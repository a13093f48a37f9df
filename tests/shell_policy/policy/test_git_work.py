"""git commands that write the work tree: protected files stay, and so does uncommitted work."""

import pytest
from tests.shell_policy.memory_facts import MemoryFacts

from runner.shell_policy.decision import PolicySettings
from runner.shell_policy.policy import judge_command

ROOT = "/workspace/project"
DESTRUCTIVE = PolicySettings(allow_destructive=True)
STATUS = ".runner/status.json"
HELD = frozenset({(STATUS, "a" * 40)})
OLDER = frozenset({(STATUS, "b" * 40)})
FILES = {f"{ROOT}/{name}": "" for name in ("src/app.py", STATUS)}

# A project as a run leaves it: nothing of `.runner` is committed.
PLAIN = MemoryFacts(files=FILES)
# status.json is committed as it is now; another branch and a commit before have another one.
TRACKED = MemoryFacts(
    files=FILES,
    guarded={"index": HELD, "HEAD": HELD, "same": HELD, "other": OLDER, "HEAD~1": OLDER, "c": OLDER, "d^1": OLDER, "d": OLDER, "odd": None, "c^1": HELD, "m": HELD, "m^1": HELD, "m^2": OLDER},
)  # fmt: skip
# The same, with a status.json that has changed since.
CHANGED = MemoryFacts(files=FILES, guarded=TRACKED.guarded, unchanged=False)


def allowed(text: str, facts: MemoryFacts, settings: PolicySettings = DESTRUCTIVE) -> bool:
    return judge_command(text, project_dir=ROOT, settings=settings, facts=facts).allowed


LOSES_WORK = [
    "git checkout .", "git checkout -f", "git checkout -- .", "git checkout -- src/app.py",
    "git checkout src/app.py", "git checkout HEAD src/app.py", "git checkout main -- src",
    "git checkout -- '*.py'", "git checkout :/src", "git checkout --pathspec-from-file=list",
    "git checkout --ours -- src/app.py", "git checkout -f main", "git restore .",
    "git restore src/app.py", "git restore --staged --worktree src/app.py", "git restore -SW .",
    "git restore --source=HEAD~1 src/app.py", "git restore ':!docs'", "git rm -f src/app.py",
    "git rm -rf src", "git stash drop", "git stash drop stash@{2}", "git mv -f a src/app.py",
    "git merge --abort", "git rebase --abort", "git rebase --skip", "git cherry-pick --abort",
    "git revert --abort", "git am --abort", "git am --skip", "git checkout -- missing.py src/app.py",
    'for f in src/*.py; do git checkout "$f"; done', "git -C src checkout -- app.py",
]  # fmt: skip


@pytest.mark.parametrize("text", LOSES_WORK)
def test_throwing_away_work_needs_the_flag(text: str) -> None:
    plain = judge_command(text, project_dir=ROOT, facts=PLAIN)
    assert (plain.allowed, allowed(text, PLAIN)) == (False, True)
    assert "--allow-destructive" in plain.reason


@pytest.mark.parametrize(
    "text",
    ["git reset --hard", "git reset --merge", "git clean -fd", "git switch -f main", "git stash clear",
     "git switch --discard-changes main", "git checkout-index -fa", "git read-tree -u --reset HEAD"],
)  # fmt: skip
def test_throwing_away_everything_stays_refused(text: str) -> None:
    assert not allowed(text, PLAIN)


@pytest.mark.parametrize(
    "text",
    ["git checkout -b x", "git checkout main", "git checkout -", "git switch main", "git stash",
     "git stash pop", "git stash push -- src", "git restore --staged .", "git reset", "git rm old.py",
     "git rm -r --cached src", "git merge main", "git rebase main", "git cherry-pick c",
     "git checkout -- deleted.py", "git restore deleted.py", "git reset --keep HEAD~1",
     "git rebase --continue", "git cherry-pick --quit", "git checkout -b x HEAD~2", "git mv a b"],
)  # fmt: skip
def test_everyday_git_loses_nothing(text: str) -> None:
    assert allowed(text, PLAIN, PolicySettings())


TAKES_STATE = [
    "git stash -u", "git stash -a", "git stash --all", "git stash --include-untracked",
    "git stash push -u", "git stash push -u -m x", "git stash push -a -- .", "git stash save -u x",
    "git stash push -- .runner", "git stash push .runner/status.json", "git stash push -- ':/.runner'",
    "git stash push -- ':(top).runner'", "git stash push -u -- ':!src'", "git stash push -u -- '*'",
    "git stash push -u -- ':(exclude)src'", "git stash push -u -- '.r*'", "git stash push -u -- '.'",
    "git stash push -u -- . ':!.runner/x'", "git --literal-pathspecs stash push -u -- . ':!.runner'",
    "GIT_LITERAL_PATHSPECS=1 git stash push -u -- . ':!.runner'", 'git stash push -u -- "$x"',
    "git stash push -u -- '[.]runner'", "git stash push -u -- ':(attr:x)'",
    "git stash push -u --pathspec-from-file=list",
]  # fmt: skip


@pytest.mark.parametrize("facts", [PLAIN, TRACKED], ids=["untracked", "tracked"])
@pytest.mark.parametrize("text", TAKES_STATE)
def test_a_stash_takes_no_protected_file_along(text: str, facts: MemoryFacts) -> None:
    assert not allowed(text, facts)


@pytest.mark.parametrize(
    "text",
    ["git stash push -u -- . ':(top,exclude).runner'", "git stash push -u -- . ':!.runner'",
     "git stash push -u -- src", "git stash push -u -- 'src/*.py'", "git stash push -u -- ':!/.runner/**'"],
)  # fmt: skip
def test_untracked_files_may_be_stashed_without_them(text: str) -> None:
    assert allowed(text, CHANGED, PolicySettings())


def test_a_plain_stash_is_refused_while_it_would_set_protected_files_back() -> None:
    answers = [allowed("git stash", facts) for facts in (PLAIN, TRACKED, CHANGED)]
    assert answers == [True, True, False]


@pytest.mark.parametrize("text", ["git stash pop", "git stash apply", "git stash branch x"])
def test_a_stash_that_holds_protected_files_is_not_brought_back(text: str) -> None:
    assert not allowed(text, MemoryFacts(files=FILES, stashed=True))


WRITES_OLDER = [
    "git restore --source=HEAD~1 :/", "git restore -s HEAD~1 .", "git restore -s other -- '*.json'",
    "git checkout HEAD~1 -- .", "git checkout HEAD~1 -- ':/'", "git checkout other -- '*.json'",
    "git checkout other .", "git checkout other -- ':!src'", "git checkout HEAD~1 -- ':(top)'",
    "git checkout other -- '.[r]unner'", "git checkout other -- '*'", "git checkout other",
    "git checkout -b x other", "git switch other", "git switch -c x other", "git merge other",
    "git rebase other", "git rebase --onto other same", "git cherry-pick c", "git revert c",
    "git cherry-pick same..other", "git reset --keep other", "git checkout --detach other",
    "git merge --squash other", "git checkout -B x other", "git switch odd", "git cherry-pick odd",
    "git bisect start HEAD other", "git bisect reset other", "git bisect bad other", "git checkout $b", "git switch --orphan x", "git merge", "git rebase",
    "git -Csrc checkout other -- .", "git revert -m 2 m", "git checkout other -- .RUNNER/../.",
]  # fmt: skip


@pytest.mark.parametrize("text", WRITES_OLDER)
def test_an_older_protected_file_is_not_written(text: str) -> None:
    assert not allowed(text, TRACKED)


@pytest.mark.parametrize(
    "text",
    ["git checkout same", "git switch same", "git merge same", "git rebase same", "git cherry-pick d",
     "git checkout -b x same", "git checkout other -- src", "git restore -s HEAD~1 'src/*.json'",
     "git checkout HEAD~1 -- . ':!.runner'", "git checkout same -- .", "git restore .",
     "git checkout -b x", "git reset --soft HEAD~1", "git rm -r --cached src", "git stash push -- src"],
)  # fmt: skip
def test_where_they_are_the_same_everything_goes(text: str) -> None:
    assert allowed(text, TRACKED)


@pytest.mark.parametrize(
    "text", ["git restore .", "git checkout -- '*.json'", "git restore -s same ."]
)
def test_a_changed_protected_file_is_not_set_back(text: str) -> None:
    assert (allowed(text, TRACKED), allowed(text, CHANGED)) == (True, False)


@pytest.mark.parametrize("text", ["git rm '*.json'", "git rm -r --ignore-unmatch ':/*.json'"])
def test_a_tracked_protected_file_is_not_removed(text: str) -> None:
    assert not allowed(text, TRACKED)


@pytest.mark.parametrize(
    "text",
    ["git checkout hostile", "git tag x hostile; git checkout x", "git branch x hostile && git switch x",
     "git worktree add -b x w hostile; git merge x"],
)  # fmt: skip
def test_a_branch_that_brings_protected_files_along_is_not_taken(text: str) -> None:
    facts = MemoryFacts(files=FILES, guarded={"hostile": OLDER, "x": None})
    assert not allowed(text, facts)


@pytest.mark.parametrize(
    "header",
    [
        "+++ b/.runner/x",
        "rename to .claude/x",
        '+++ "b/\\056runner/x"',
        "diff --git a/x b/.Runner/y",
    ],
)
def test_a_patch_of_a_protected_folder_is_not_applied(header: str) -> None:
    facts = MemoryFacts(files={f"{ROOT}/a.patch": f"--- a/x\n{header}\n@@ -1 +1 @@\n"})
    answers = [
        allowed(text, facts)
        for text in ("git apply a.patch", "git am a.patch", "git am < a.patch", f"git apply <<'E'\n{header}\nE",
                     "git apply --check a.patch", "git apply b.patch")
    ]  # fmt: skip
    assert answers == [False, False, False, False, True, True]


@pytest.mark.parametrize(
    "text", ["git add -f .", "git add -f -A", "git add --force .runner", "git add -f '*'"]
)
def test_what_the_state_folder_ignores_is_not_committed(text: str) -> None:
    assert allowed(text, PLAIN) == (text == "git add -f -A")


def test_status_json_may_be_committed() -> None:
    assert allowed("git add .runner/status.json && git commit -m x", PLAIN, PolicySettings())


@pytest.mark.parametrize(
    "text",
    [
        "git commit --amend --no-edit",
        "git tag -d v1",
        "git tag -f v1",
        "git branch -m a b",
        "git branch -d a",
    ],
)
def test_branches_and_tags_of_the_project_may_be_moved(text: str) -> None:
    assert allowed(text, PLAIN, PolicySettings())


@pytest.mark.parametrize(
    "text",
    ["git branch -f a HEAD~1", "git branch -D a", "git update-ref refs/runner/x HEAD", "git reflog expire --all",
     "git update-ref -d refs/heads/a", "git symbolic-ref HEAD refs/heads/x", "git gc --prune=now", "git prune"],
)  # fmt: skip
def test_references_are_not_written_directly(text: str) -> None:
    assert not allowed(text, PLAIN)
