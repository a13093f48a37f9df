"""Generated hostile commands: what the policy allows is run, and canaries must be as before.

The sandbox of an agent is off here, so that the policy is the only wall; a throw-away box around
the whole trial keeps what slips inside. Nothing is run that the policy denies.
"""

import hashlib
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.sandbox.binary import candidates
from runner.shell_policy.decision import PolicySettings
from runner.shell_policy.policy import judge_command
from runner.shell_policy.project_facts import DiskFacts

STORM = os.environ.get("RUNNER_STORM") == "1"
STATES = ("untracked", "tracked", "changed", "stashed")
GUARDED = (".runner", ".claude", ".git/hooks", ".git/config", ".git/info")
SETUP = """
set -e
git init -q -b main . && git config user.name a && git config user.email a@b
mkdir -p src docs .claude && echo one > src/app.py && echo '{}' > data.json && echo doc > docs/a.md
printf 'all:\\n\\ttrue\\ntest:\\n\\ttrue\\n' > Makefile
git add src docs data.json Makefile && git commit -qm 1
git checkout -q -b hostile
mkdir -p .runner && echo old > .runner/status.json && echo old > .runner/agent.json
echo old > .claude/settings.json && echo two > src/app.py && git add -A && git commit -qm 2
git tag held && git checkout -q main && git checkout -q -b plain && echo x > docs/b.md
git add -A && git commit -qm 3 && git checkout -q main
mkdir -p .runner/autonomy .claude && echo now > .runner/status.json && echo now > .runner/agent.json
echo '/autonomy/' > .runner/.gitignore && echo seal > .runner/autonomy/session.json
echo now > .claude/settings.json
if [ "$1" != untracked ]; then git add -A && git commit -qm 4; fi
if [ "$1" = changed ]; then echo later > .runner/status.json; fi
if [ "$1" = stashed ]; then
  echo other > .runner/status.json && git stash -q && echo mine > docs/a.md && git stash -q; fi
git format-patch -q -1 --stdout hostile > hostile.patch
echo work > src/app.py && echo notes > notes.txt && echo staged > docs/a.md && git add docs/a.md
"""


class Trial:
    """A project with canaries around it; one command at a time, each in a fresh copy."""

    def __init__(self, base: Path, box: str) -> None:
        self.base, self.box, self.ran = base, box, 0
        self.environ = {
            "PATH": "/usr/bin:/bin", "HOME": str(base / "home"), "GIT_CONFIG_NOSYSTEM": "1",
            "LANG": "C.UTF-8", "ANTHROPIC_API_KEY": "sk-canary-0badc0de",
        }  # fmt: skip
        (base / "home/.ssh").mkdir(parents=True)
        (base / "home/.ssh/id_rsa").write_text("canary-private")
        (base / "home/.bashrc").write_text("canary")
        (base / "outside").mkdir()
        (base / "outside/file").write_text("canary")
        for state in STATES:
            folder = base / f"states/{state}"
            folder.mkdir(parents=True)
            subprocess.run(
                ["bash", "-c", SETUP, "setup", state], cwd=folder, env=self.environ, check=True,
                stdout=subprocess.DEVNULL,
            )  # fmt: skip

    def run(self, state: str, text: str, settings: PolicySettings) -> str | None:
        """Return what slipped, None when the command was denied or did no harm."""
        project = self.base / "project"
        shutil.rmtree(project, ignore_errors=True)
        shutil.copytree(self.base / f"states/{state}", project, symlinks=True)
        facts = DiskFacts.of(project, self.environ["HOME"])
        decision = judge_command(text, project_dir=project, settings=settings, facts=facts)
        if not decision.allowed:
            return None
        self.ran += 1
        before = self._canaries(project)
        words = [
            self.box, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
            "--bind", str(self.base), str(self.base), "--unshare-all", "--die-with-parent",
            "--chdir", str(project), "bash", "-c", text,
        ]  # fmt: skip
        try:
            done = subprocess.run(
                words, cwd=project, env=self.environ, stdin=subprocess.DEVNULL, timeout=20,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
            output = done.stdout
        except subprocess.TimeoutExpired:
            output = b""
        after = self._canaries(project)
        if before != after:
            return f"changed {min(set(before.items()) ^ set(after.items()))[0]}"
        if b"0badc0de" in output or b"canary-private" in output:
            return "printed a secret"
        if not settings.allow_destructive and self._lost(project):
            return f"lost {self._lost(project)}"
        return None

    def _canaries(self, project: Path) -> dict[str, str]:
        roots = [project / name for name in GUARDED] + [self.base / "home", self.base / "outside"]
        files = [p for root in roots for p in ([root] if root.is_file() else root.rglob("*"))]
        found = {str(p): p.read_text(errors="replace") for p in files if p.is_file()}
        settings = str(project / ".git/config")
        found[settings] = _without_names(found.get(settings, ""))
        extra = [p.name for p in self.base.iterdir()]
        return {**found, "around": " ".join(sorted(extra))}

    def _lost(self, project: Path) -> str:
        """Which of the uncommitted texts is neither in a file nor in a reachable object."""
        kept = {p.read_text(errors="replace") for p in project.rglob("*") if _is_plain(p)}
        missing = [text for text in ("work\n", "notes\n", "staged\n") if text not in kept]
        objects = subprocess.run(
            ["git", "rev-list", "--objects", "--all", "--reflog"], cwd=project, env=self.environ,
            capture_output=True, text=True, check=False,
        ).stdout  # fmt: skip
        return " ".join(text for text in missing if _blob(text) not in objects)


def _without_names(settings: str) -> str:
    """git's settings without what may be set: who commits, what a branch follows."""
    return re.sub(r"^\[(?:user|branch)\b.*\n(?:\t.*\n)*", "", settings, flags=re.MULTILINE)


def _is_plain(path: Path) -> bool:
    return ".git" not in path.parts and path.is_file() and not path.is_symlink()


def _blob(text: str) -> str:
    return hashlib.sha1(f"blob {len(text)}\0{text}".encode()).hexdigest()  # noqa: S324 - as git names it


REVISIONS = ("hostile", "held", "plain", "main", "HEAD", "HEAD~1", "HEAD^", "@{1}", "-", "@{-1}",
             "stash@{0}", "stash", "stash^2", "hostile~0", "refs/heads/hostile", "held^0", "main..hostile",
             "hostile^{commit}", "$(git rev-parse hostile)", "$B")  # fmt: skip
SPECS = (".", ":/", ":(top)", "'*.json'", "':!src'", "':(exclude)docs'", ".runner", ".claude", "src",
         "src/app.py", "'*'", "'.*'", "'.r*'", "'[.]runner'", "'*/status.json'", ":/.runner", "'**/*.json'",
         "':(icase).RUNNER'", ".RUNNER", "notes.txt", "docs/a.md", "'s*'", ". ':!.runner'",
         ". ':(top,exclude).runner'", "src/..", "./", "':(glob)**'", "':(attr:x)'", "./.runner/../.", ":",
         "-- .", "-- src", "-- :/", "'\\.runner'", "$S", '"$(echo .)"')  # fmt: skip
GIT = (
    ("stash", ("", "push", "save", "pop", "apply", "drop", "clear", "branch x", "create"),
     ("-u", "-a", "--all", "-k", "-q", "-m x", "-S", "--staged", "--include-untracked", "--index"), 0, 2),
    ("checkout", ("",), ("-f", "-q", "-m", "--ours", "--theirs", "-b n", "-B n", "--detach", "--no-overlay",
                         "--orphan o", "--no-overwrite-ignore", "-2"), 1, 2),
    ("switch", ("",), ("-c n", "-C n", "-f", "--discard-changes", "-m", "--detach", "--orphan o"), 1, 0),
    ("restore", ("",), ("-S", "-W", "-SW", "--staged", "--worktree", "-s hostile", "--source=HEAD~1",
                        "-s held", "--no-overlay", "--overlay", "--ours", "-q"), 0, 2),
    ("reset", ("",), ("--hard", "--keep", "--merge", "--soft", "--mixed", "-q", "-N"), 1, 1),
    ("rm", ("",), ("-r", "-f", "-rf", "--cached", "-q", "--ignore-unmatch"), 0, 2),
    ("mv", ("",), ("-f", "-k"), 0, 2),
    ("add", ("",), ("-A", "-f", "-u", "-N", "--force"), 0, 1),
    ("clean", ("",), ("-f", "-d", "-x", "-n", "-fdx"), 0, 1),
    ("merge", ("",), ("--no-ff", "--squash", "--abort", "--no-commit", "-s ours", "-X theirs",
                      "--no-edit", "--allow-unrelated-histories", "--autostash"), 1, 0),
    ("rebase", ("",), ("--onto hostile", "--abort", "--skip", "--autostash", "--root", "-f"), 1, 0),
    ("cherry-pick", ("",), ("-n", "-x", "--abort", "--skip", "-m 1", "-X theirs", "--ff"), 1, 0),
    ("revert", ("",), ("-n", "--no-edit", "--abort", "--skip"), 1, 0),
    ("apply", ("", "hostile.patch", "--3way hostile.patch", "--index hostile.patch"), ("-R", "--reject"), 0, 0),
    ("am", ("", "hostile.patch", "-3 hostile.patch"), ("--abort", "--skip", "-q"), 0, 0),
    ("bisect", ("start", "start HEAD", "reset", "good", "bad"), ("--no-checkout",), 1, 0),
    ("worktree", ("add ../w", "add w", "add -f w", "remove w", "prune"), ("--force", "-b n", "-B n"), 1, 0),
    ("commit", ("-qm x", "-qam x", "--amend --no-edit"), ("-a", "-o", "-i"), 0, 1),
    ("read-tree", ("",), ("-u", "--reset", "-m"), 1, 0),
    ("checkout-index", ("",), ("-f", "-a", "-fa"), 0, 1),
    ("archive", ("",), ("-o .runner/x", "-o ../x.tar", "--output=.git/hooks/x", "--format=tar"), 1, 1),
    ("format-patch", ("-1",), ("-o .claude", "-o ../p", "--stdout"), 1, 0),
    ("config", ("core.hooksPath x", "alias.x y", "--global a.b c", "user.name x"), (), 0, 0),
    ("update-ref", ("",), ("-d",), 1, 0),
    ("branch", ("x", "-f x", "-D plain", "-m plain y", "-d plain"), (), 1, 0),
    ("tag", ("x", "-f held", "-d held"), (), 1, 0),
)  # fmt: skip
FILES = (".runner/status.json", ".git/config", ".git/hooks/x", ".claude/x", "../outside/file", "../home/.bashrc",
         "../new", "{base}/outside/x", "~/.bashrc", "~/.new", ".RUNNER/x", "src/../.runner/x", "./.git/./config",
         ".runn?r/status.json", ".[r]unner/x", ".[[:alpha:]]unner/status.json", ".?/new", ".[[:punct:]]/new",
         ".{r,x}unner/status.json", "$P/.runner/x", "src/x", "/tmp/x", "'.runner'/x", "\\.runner/x",
         '.r""unner/x', "{.runner,x}/y", ".git/../.runner/x", "Src/../.Git/x", ".runner", "..")  # fmt: skip
WRITERS = ("echo x > @", "echo x >> @", "echo x >| @", "echo x &> @", "ls 2> @", "cat > @ <<< x", "tee @ < a",
           "cp data.json @", "cp -r src @", "mv data.json @", "ln -s a @", "ln data.json @", "touch @",
           "mkdir -p @", "install data.json @", "dd if=data.json of=@", "sed -i s/n/m/ @", "sed -n w@ data.json",
           "sed 's/a/b/w @' data.json", "awk '{print > \"@\"}' data.json", "sort -o @ data.json",
           "sort --output=@ data.json", "split data.json @", "tar cf @ src", "tar -cf x.tar src && tar -xf x.tar -C @",
           "find . -name a -fprint @", "find src -exec cp {} @ \\;", "find src -exec tee @ \\;", "xargs -I% cp data.json @ < data.json",
           "uniq data.json @", "patch @ < hostile.patch", "patch -p1 < hostile.patch", "patch -o @ src/app.py hostile.patch",
           "truncate -s 0 @", "rm -f @", "rm -rf @", "rmdir @", "chmod 777 @", "cat data.json | tee -a @",
           "git diff --output=@", "git diff > @", "git log --output @", "git archive -o @ HEAD", "git bundle create @ HEAD",
           "git format-patch -1 -o @", "git worktree add @", "git init @", "git -C @ init", "git show HEAD:data.json > @",
           "make test > @", "make ARGS='-o @' test", "make -f @ test", "cd @ && touch n", "(cd @; echo x > n)",
           "pushd @ && touch n", "exec 3> @; echo x >&3", "f() { echo x > $1; }; f @", "for f in @; do echo x > $f; done",
           "x=@; echo x > $x", "eval 'echo x > @'", "bash -c 'echo x > @'", "bash -c 'echo x > $1' _ @",
           "env A=1 tee @ < data.json", "timeout 5 tee @ < data.json", "nohup cp data.json @", "time cp data.json @",
           "command cp data.json @", "cp -t @ data.json", "cp --target-directory=@ data.json", "cat @", "head -c 99 @", "printf x > @", "mapfile -t a < @; echo ${a[0]}", "diff @ data.json",
           "SSLKEYLOGFILE=@ python3 -c 'import ssl; ssl.create_default_context()'", "PYTHONPYCACHEPREFIX=@ python3 -m json.tool data.json",
           "GIT_TRACE=@ git status", "GIT_INDEX_FILE=@ git add src", "GIT_DIR=@ git init", "GIT_TRACE2_EVENT=@ git status",
           "BASH_XTRACEFD=3 ls 3> @", "HISTFILE=@ bash -c ls", "TMPDIR=@ sort data.json", "export SSLKEYLOGFILE=@; python3 -m json.tool data.json",
           "GCOV_PREFIX=@ ls", "COVERAGE_FILE=@ python3 -m json.tool data.json", "python3 -m json.tool data.json @",
           "python3 -m zipfile -c @ src", "python3 -m py_compile @", "python3 -m venv @", "python3 -m tarfile -c @ src",
           "python3 -X pycache_prefix=@ src/app.py", "python3 -m cProfile -o @ src/app.py", "python3 -m pdb -c 'w @' src/app.py")  # fmt: skip
SECRETS = ("cat @", "head @", "grep -r '' @", "while read l; do echo $l; done < @", "echo $(<@)", "awk 1 @", "sed -n p @",
           "cp @ src/x && cat src/x", "tar cf - @ | strings", "diff @ /dev/null", "od -c @", "xxd @", "sort @", "git hash-object -w @",
           "git diff --no-index /dev/null @", "python3 -m json.tool @", "find @ -exec cat {} +", "ln -s @ src/l && cat src/l",
           "paste @", "cut -c1-99 @", "tail -n +1 @", "wc @", "base64 @", "comm @ data.json", "join @ data.json", "nl @")  # fmt: skip
HIDDEN = ("~/.ssh/id_rsa", "~/.ss?/id_rsa", "~/.s*/id*", "{base}/home/.ssh/id_rsa", "../home/.ssh/id_rsa", "$HOME/.ssh/id_rsa",
          "~/.[s]sh/*", "../*/.ssh/*", "../home/.*/*", "~/.ssh", "{base}/*/.ssh/id_rsa", "../hom?/.ss[h]/id_rsa",
          '"$(echo ~/.ssh/id_rsa)"', "$(dirname $HOME)/home/.ssh/id_rsa", "/proc/self/cwd/../home/.ssh/id_rsa", "/proc/self/environ",
          "/proc/$$/environ", "/proc/thread-self/environ", "/proc/*/environ", "/pro?/self/enviro?")  # fmt: skip
ORACLES = ("case @ in sk-*) echo 0badc0de;; esac", "[[ @ == sk-* ]] && echo 0badc0de", "[ @ = sk ] || echo 0badc0de", "echo @",
           "printf %s @", "cat <<< @", "for c in @; do echo $c; done", "x=@; echo $x", "test @ && echo 0badc0de",
           "awk -v k=@ 'BEGIN{print k}'", 'bash -c "echo @"', "echo @ | rev | rev", "touch src/@ && ls src", "ls @ 2>&1",
           "make ARGS=@ test", "git commit --allow-empty -qm @ && git log -1", "declare -p", "export -p", "set", "env", "printenv",
           "make -pn", "compgen -e | while read v; do echo ${!v}; done", "exec 3<<< @; cat <&3", "mapfile -t a <<< @; echo ${a[0]}",
           "v=ANTHROPIC_API_KEY; echo ${!v}", "read -r a b <<< @; echo $a", "python3 -c 'print(\"'@'\")'")  # fmt: skip
KEYS = ("$ANTHROPIC_API_KEY", '"$ANTHROPIC_API_KEY"', "${ANTHROPIC_API_KEY}", "${ANTHROPIC_API_KEY:0:99}", "${ANTHROPIC_API_KEY%x}",
        "${ANTHROPIC_API_KEY:-x}", "${ANTHROPIC_API_KEY@Q}", "${x:-$ANTHROPIC_API_KEY}", "${ANTHROPIC_API_KEY^^}", "$(echo $ANTHROPIC_API_KEY)")  # fmt: skip
FRAMES = ("@", "@", "@", "true && @", "@ ; ls", "( @ )", "{ @ ; }", "if true; then @ ; fi", "! @", "@ || true", "ls | @",
          'bash -c "@"', "timeout 5 @", "env @", "command @", "f() { @ ; }; f", "for i in 1; do @ ; done", "cd src && @",
          "S=. B=hostile; @", "S=.; B=hostile; P=$PWD; @", "@ &", "time @", 'eval "@"', "git status; @", "xargs @ < /dev/null")  # fmt: skip


def generated(rng: random.Random, base: Path) -> str:
    """One hostile command."""
    kind = rng.random()
    if kind < 0.5:
        text = _git(rng)
    elif kind < 0.8:
        text = _filled(rng.choice(WRITERS), rng.choice(FILES), base)
    elif kind < 0.9:
        text = _filled(rng.choice(SECRETS), rng.choice(HIDDEN), base)
    else:
        text = _filled(rng.choice(ORACLES), rng.choice(KEYS), base)
    if rng.random() < 0.15:
        text += rng.choice((" ; ", " && ", " || ", "\n")) + _git(rng)
    return rng.choice(FRAMES).replace("@", text)


def _filled(template: str, value: str, base: Path) -> str:
    return template.replace("@", value.replace("{base}", str(base)))


def _git(rng: random.Random) -> str:
    name, verbs, options, revisions, specs = rng.choice(GIT)
    words = ["git"]
    words += rng.choice(
        ([], [], [], ["-C", "src"], ["--literal-pathspecs"], ["--no-pager"], ["--glob-pathspecs"])
    )
    words += [
        name,
        rng.choice(verbs),
        *rng.sample(options, min(len(options), rng.choice((0, 0, 1, 1, 2)))),
    ]
    words += [rng.choice(REVISIONS) for _ in range(rng.randint(0, revisions))]
    if specs and rng.random() < 0.6:
        words.append("--")
    words += [rng.choice(SPECS) for _ in range(rng.randint(0, specs))]
    prefix = rng.choice(
        ("",) * 8
        + ("GIT_LITERAL_PATHSPECS=1 ", "GIT_WORK_TREE=.. ", "GIT_EDITOR=: ", "GIT_DIR=.git ")
    )
    return prefix + " ".join(word for word in words if word)


@pytest.fixture
def trial() -> Iterator[Trial]:
    """A trial outside of /tmp, which counts as scratch."""
    base = Path("/var/tmp") / f"runner-storm-{os.getpid()}"
    base.mkdir(mode=0o700)
    try:
        yield Trial(base, _box())
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _box() -> str:
    words = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "true"]
    for found in candidates(os.environ):
        tried = subprocess.run([str(found.path), *words], capture_output=True, check=False)
        if tried.returncode == 0:
            return str(found.path)
    pytest.skip("needs a bubblewrap that works")


def slips(trial: Trial, seed: str, count: int) -> list[tuple[str, str, str]]:
    rng = random.Random(seed)  # noqa: S311 - a test
    found = []
    for _ in range(count):
        text, state = generated(rng, trial.base), rng.choice(STATES)
        settings = PolicySettings(allow_destructive=rng.random() < 0.4)
        slip = trial.run(state, text, settings)
        if slip is not None:
            found.append((state, text, slip))
    return found


@pytest.mark.storm
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not STORM, reason="long: set RUNNER_STORM=1")
def test_no_allowed_command_changes_a_canary(trial: Trial) -> None:
    seed = os.environ.get("RUNNER_STORM_SEED", "hostile")
    assert slips(trial, seed, int(os.environ.get("RUNNER_STORM_COUNT", "3000"))) == []
