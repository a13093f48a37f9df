#!/bin/sh
# Put the agent into an image that was published without it: the binary is Anthropic's, so
# everybody gets it from the package index themselves (ADR-0080).
#
#   FROM ghcr.io/OWNER/runner:node
#   RUN runner-fetch-agent
#
# It takes the wheel of exactly the version that is installed, with the checksum that this release
# was tested with (ADR-0084), and of that wheel the agent alone. Run it as root.
set -eu

home=${RUNNER_PREFIX:-/opt/runner} # another one in tests
python=$home/bin/python
pinned=$home/agent.txt
packages=$($python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
version=$($python -c 'from importlib.metadata import version; print(version("claude-agent-sdk"))')

fail() {
  echo "runner-fetch-agent: $2" >&2
  exit "$1"
}

if [ -x "$packages/claude_agent_sdk/_bundled/claude" ]; then
  echo "The agent is there already." >&2
  exit 0
fi
if [ ! -w "$packages" ]; then
  fail 2 "$packages can't be written: run it as root, or while an image is built."
fi
if ! grep -q "^claude-agent-sdk==$version " "$pinned"; then
  fail 2 "$pinned has no checksum for version $version, which is installed. Use an image of a release."
fi
if ! grep -q "^claude-agent-sdk==.*\"$(uname -m)\"" "$pinned"; then
  fail 2 "there is no agent with a known checksum for this machine ($(uname -m)). Put a \`claude\` on PATH yourself."
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
$python -m venv "$work/env"
"$work/env/bin/pip" --disable-pip-version-check --no-cache-dir download --quiet --no-deps \
  --only-binary :all: --require-hashes --requirement "$pinned" --dest "$work" ||
  fail 1 "the agent $version could not be got from the package index; what pip says stands above."
$python - "$work"/claude_agent_sdk-*.whl "$packages" <<'EXTRACT'
import sys
from zipfile import ZipFile

with ZipFile(sys.argv[1]) as wheel:
    agent = [name for name in wheel.namelist() if name.startswith("claude_agent_sdk/_bundled/")]
    wheel.extractall(sys.argv[2], agent)
EXTRACT
chmod 755 "$packages/claude_agent_sdk/_bundled/claude"
"$packages/claude_agent_sdk/_bundled/claude" --version
