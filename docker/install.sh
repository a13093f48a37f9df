#!/bin/sh
# Install the program into /opt/runner, an environment that no project's Python can disturb.
#
#   install.sh SOURCE FOLDER [PIP-OPTION...]
#
# SOURCE is what pip installs; FOLDER is a checkout, for its constraints.txt and docker/agent.txt.
# RUNNER_AGENT=path leaves the agent out.
set -eu

source=$1
folder=$2
shift 2

python3 -m venv /opt/runner
cp "$folder/docker/agent.txt" /opt/runner/agent.txt
pip="/opt/runner/bin/pip --disable-pip-version-check"
# First, so that the agent has the checksum that is written down; the rest is content with it then.
$pip install --no-cache-dir "$@" --no-deps --only-binary :all: --require-hashes \
  --requirement /opt/runner/agent.txt
$pip install --no-cache-dir "$@" --constraint "$folder/constraints.txt" "$source"

agent=$(echo /opt/runner/lib/python3*/site-packages/claude_agent_sdk)/_bundled
if [ "${RUNNER_AGENT:-bundled}" = path ]; then
  rm -rf "$agent"
elif [ ! -f "$agent/claude" ]; then
  echo "There is no agent with a known checksum for this machine ($(uname -m)): leave it out with" \
    "RUNNER_AGENT=path, and put a \`claude\` on PATH yourself." >&2
  exit 1
fi
$pip uninstall --quiet --yes setuptools pip
ln -sf /opt/runner/bin/runner /usr/local/bin/runner
/usr/local/bin/runner --version
