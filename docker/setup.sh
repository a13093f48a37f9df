#!/bin/sh
# What every image has beside its language: the tools an agent works with, and a user for it.
set -eu

export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends \
  bubblewrap ca-certificates curl git gnupg jq less libnss-wrapper make openssh-client \
  procps python3 python3-venv ripgrep socat tini
apt-get clean
rm -rf /var/lib/apt/lists/*

# Some language images bring a user of their own with this uid; it keeps its name then.
if user=$(id -nu 1000 2>/dev/null); then
  usermod --home /home/runner "$user"
else
  useradd --uid 1000 --create-home --shell /bin/bash runner
fi
# The secret that seals sessions lives in the state folder: a volume there outlives the container.
mkdir -p /home/runner/.local/state/runner /workspace
chown -R 1000:1000 /home/runner /workspace
# Whoever `--user` names has this home, too, and a new volume takes its mode from the image.
(cd /home/runner && chmod 1777 . .local .local/state .local/state/runner)
git config --system init.defaultBranch main
