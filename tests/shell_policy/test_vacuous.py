"""Verification commands that can't fail, and those that can."""

import pytest

from runner.shell_policy.vacuous import vacuous

IDLE = r"""
true
:
echo ok
printf 'x\n'
exit 0
exit
pytest || true
pytest || :
pytest ; true
pytest; exit 0
python3 -m unittest discover -s tests || true
test -f SPEC.md
[ -f x ]
[ -s a.txt ]
ls
ls dist
cat README.md
python3 -c pass
python3 -c ''
python -c "print(1)"
python3 -c 'import sys; sys.exit(0)'
node -e ''
node -e 'process.exit(0)'
node -e "console.log('ok')"
git status
git status && git log
sleep 1
cd src
: ; ls
pytest | tee log
pytest 2>&1 | tail -20
pytest | cat
! false
if pytest; then true; else true; fi
if pytest; then echo ok; fi
(pytest; true)
{ pytest; true; }
pytest & wait
pytest &
bash -c 'pytest || true'
sh -c "exit 0"
timeout 5 pytest || echo
set +e; pytest; echo done
make -i
make -n test
npm test --if-present
npm run test --if-present
pytest --co
pytest --collect-only -q
python -m pytest --collect-only
ruff check --exit-zero .
pytest || exit 0
go test -run '^$' ./...
go test -run=^$ ./...
env X=1 true
timeout 10 true
nohup true
xargs true
eval "true"
eval 'pytest || true'
bash <<< 'true'
python3 <<< 'pass'
while false; do pytest; done; true
for f in a b; do pytest $f; true; done
case x in y) true;; esac
f() { pytest; return 0; }; f; true
trap 'exit 0' EXIT; pytest
set -e; pytest || true
find . -name '*.py'
command -v node
which python3
python3 --version
node -v
mkdir -p x
touch x && true
[[ -f x ]]
test 1 = 1
x=1
pytest && true || true
pytest; :
uv run pytest || true
uv run true
head -1 README.md
wc -l app.py
git diff
mvn test -DskipTests
mvn -fn test
tox --notest
bash -c "bash -c 'pytest; true'"
pytest > /dev/null 2>&1 || echo failed
pytest; echo $?
exec true
pytest || { echo failed; true; }
pytest || (exit 0)
make test | grep -c passed | tee x
/bin/true
awk '{print}' x
sed -n 1p x
ruby -e 'puts "ok"'
perl -e 'exit 0'
php -r 'echo "ok";'
coproc pytest
python3 -c "print(1 + 1)"
python3 -c "x = 2 * 3"
pytest && exit 0 || exit 0
export X=$(pytest)
cat <(pytest)
cargo test || cargo --version
/usr/bin/env true
\true
until pytest; do sleep 1; done
pytest || exit 512
exit 00000
trap 'exit 0' ERR; pytest
trap 'exit 0' EXIT ERR; pytest
trap 'exit 0' ERR; pytest || pytest -x
set -e; trap 'exit 0' ERR; pytest
make -ki
make -ik test
make -kn
make check -si
(( 1 ))
pytest || (( 01 ))
pytest; (( 1 ))
pytest; [ $? -ge 0 ]
pytest; [ "$?" -lt 256 ]
pytest; test $? -ne 256
pytest; [ ${?} -gt -1 ]
go test -run None ./...
""".strip().splitlines()

TELLING = [
    *r"""
pytest
pytest -q && echo ok
make check
make
npm test
npm run build && npm test
cargo test
go test ./...
go test -run TestAdd ./...
python3 -m unittest discover -s tests
python3 -m unittest tests.test_units
python3 -c 'import add; assert add.add(1, 2) == 3'
python3 -c "import app"
python3 app.py | grep -q hello
test "$(python3 greet.py)" = hello
[ "$(wc -l < out.txt)" -eq 3 ]
[[ $(python3 x.py) == 3 ]]
grep -q foo README.md
! grep -rn TODO src
set -o pipefail; pytest | tee log
set -euo pipefail; pytest | tee log; echo done
set -e; pytest; echo done
bash -e -c 'pytest; echo done'
bash -o pipefail -c 'pytest | tee log'
cd sub && npm test
cd sub; npm test
pytest || exit 1
pytest || { echo failed; exit 1; }
if ! pytest; then exit 1; fi
if pytest; then echo ok; else exit 1; fi
pytest; rc=$?; exit $rc
pytest; exit $?
test -f out.txt && grep -q x out.txt
python3 greet.py Ada > out.txt && diff out.txt expected.txt
x=$(python3 app.py) && test "$x" = 3
for f in tests/*.sh; do bash "$f" || exit 1; done
for f in tests/*.sh; do bash "$f"; done
timeout 60 pytest
env PYTHONPATH=src pytest
bash tests/run.sh
sh -n script.sh
./run-tests
node test.js
node --test
node -e "require('./app')"
node -e "const a=require('assert'); a.equal(1,1)"
ruff check .
mypy src
make -k check
make -Cinit check
make -fni check
make -j4 -k check
pytest || exit 0x0
pytest || exit 255
pytest || exit 257
trap 'rm -f x' ERR; pytest
trap 'exit 1' ERR; pytest
trap 'exit 0' ERR; trap - ERR; pytest
trap 'exit 0' ERR; pytest && echo ok
trap 'exit 0' ERR; ! grep -rn TODO src
trap 'exit 0' ERR; pytest || exit 1
pytest; [ $? -eq 0 ]
pytest; [ $? -lt 2 ]
pytest; [ $? -gt 0 ]
pytest; test $? -ne 1
pytest || (( 0 ))
(( $(wc -l < out.txt) ))
curl -f http://localhost/
git diff --exit-code
tsc --noEmit
f() { pytest; }; f
pytest & wait $!
(cd a && pytest)
( pytest )
uv run pytest
poetry run pytest -q
npx jest
xargs -n1 bash -n < list
find . -name '*.sh' -exec bash -n {} +
python3 -m compileall src
python3 greet.py
./mytool --version
jest --passWithNoTests
awk 'END{exit NR!=3}' out.txt
cargo build --release
pytest --maxfail=1
pytest -k name
go vet ./...
eslint . --max-warnings 0
dotnet test
true && pytest
echo start; pytest
false
""".strip().splitlines(),
    "python3 - <<'E'\ntry:\n    import add\nexcept ValueError:\n    pass\nE",
    "python3 - <<'E'\nimport add\nassert add.add(1,2)==3\nE",
]


@pytest.mark.parametrize("command", IDLE)
def test_what_cannot_fail_is_known_with_a_reason(command: str) -> None:
    assert str(vacuous(command)).startswith("It can't fail, so it proves nothing: ")


@pytest.mark.parametrize("command", TELLING)
def test_what_can_fail_is_taken(command: str) -> None:
    assert vacuous(command) is None


def test_code_that_catches_every_failure_cannot_fail() -> None:
    code = "try:\n    import add\n    assert add.add(1, 2) == 3\nexcept Exception:\n    print('no')"
    assert vacuous(f'python3 -c "{code}"') is not None
    assert vacuous(f"python3 - <<'E'\n{code}\nE") is not None


@pytest.mark.parametrize("command", ["if", "echo 'open", "((", "$(", ""])
def test_what_is_not_understood_is_left_to_the_policy(command: str) -> None:
    assert vacuous(command) is None or not command


def test_the_reason_names_what_hides_the_failure() -> None:
    assert "after `||` hides every failure" in str(vacuous("pytest || true"))
    assert "without `pipefail`" in str(vacuous("pytest | tee log"))
    assert "something is there" in str(vacuous("test -f SPEC.md"))
