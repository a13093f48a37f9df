#!/bin/sh
# Put the agent into an image that was published without it: the binary is Anthropic's, so
# everybody gets it from the package index themselves (docs/decisions/0513).
#
#   FROM ghcr.io/OWNER/runner:node
#   RUN runner-fetch-agent
#
# It takes the wheel of exactly the version that is installed, checked by pip, and of that wheel
# the agent alone. Run it as root.
set -eu

python=/opt/runner/bin/python
packages=$($python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
version=$($python -c 'from importlib.metadata import version; print(version("claude-agent-sdk"))')

if [ -x "$packages/claude_agent_sdk/_bundled/claude" ]; then
  echo "The agent is there already." >&2
  exit 0
fi
if [ ! -w "$packages" ]; then
  echo "runner-fetch-agent: $packages can't be written: run it as root, or while an image is built." >&2
  exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
$python -m venv "$work/env"
"$work/env/bin/pip" --disable-pip-version-check --no-cache-dir download --quiet --no-deps \
  --only-binary :all: --dest "$work" "claude-agent-sdk==$version"
$python - "$work"/claude_agent_sdk-*.whl "$packages" <<'EXTRACT'
import sys
from zipfile import ZipFile

with ZipFile(sys.argv[1]) as wheel:
    agent = [name for name in wheel.namelist() if name.startswith("claude_agent_sdk/_bundled/")]
    wheel.extractall(sys.argv[2], agent)
EXTRACT
chmod 755 "$packages/claude_agent_sdk/_bundled/claude"
"$packages/claude_agent_sdk/_bundled/claude" --version
