#!/bin/sh
# Make a cloud image with runner from an official one (seed 001 §6.3). Run as root, or where
# libguestfs may read the kernel; needs the packages libguestfs-tools and qemu-utils, and for
# Ubuntu's own image curl and gpgv.
#
#   VERSION=1.2.3 docker/cloud-image/build.sh     → runner-1.2.3-ubuntu-24.04.img and .img.sha256
#
# VERSION     goes into the name; without it the name is runner-ubuntu-24.04.img
# OS          name and release of the base, default ubuntu-24.04
# BASE_IMAGE  a disk image to start from; default: Ubuntu's own, downloaded and checked
# KEYRING     what vouches for Ubuntu's own: a file with the key of its image builder, by default
#             that of the package ubuntu-cloudimage-keyring, which Ubuntu has
# OUTPUT_DIR  where the image goes, default the current folder
# GROW        how much to add to the base's size, default 4G
# RUNNER_AGENT  "path" leaves the agent binary out, as in the images that are published; on the
#             machine `sudo runner-fetch-agent` puts it there
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
os=${OS:-ubuntu-24.04}
output=${OUTPUT_DIR:-$PWD}
name="runner-${VERSION:+$VERSION-}$os.img"

missing() {
  echo "$1 is missing: apt-get install $2" >&2
  exit 2
}

need() {
  command -v "$1" >/dev/null || missing "$1" "$2"
}

need virt-customize libguestfs-tools
need qemu-img qemu-utils

mkdir -p "$output"
# Beside the result: a temporary folder in memory may not hold a disk image.
work=$(mktemp -d "$output/.cloud-image.XXXXXX")
child=""
cleanup() {
  trap '' HUP INT TERM
  if [ -n "$child" ]; then
    kill "$child" 2>/dev/null || :
    wait "$child" 2>/dev/null || :
  fi
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Do what takes minutes so that a signal is answered at once: a shell waits for what runs in front.
interruptibly() {
  "$@" &
  child=$!
  wait "$child"
  child=""
}

fetch_ubuntu() {
  release=${os#ubuntu-}
  site="https://cloud-images.ubuntu.com/releases/$release/release"
  file="ubuntu-$release-server-cloudimg-amd64.img"
  keyring=${KEYRING:-/usr/share/keyrings/ubuntu-cloudimage-keyring.gpg}
  need curl curl
  need gpgv gpgv
  [ -r "$keyring" ] || missing "$keyring" "ubuntu-cloudimage-keyring, or name a file with KEYRING"
  curl -fsSL --retry 3 -o "$work/SHA256SUMS" "$site/SHA256SUMS"
  curl -fsSL --retry 3 -o "$work/SHA256SUMS.gpg" "$site/SHA256SUMS.gpg"
  gpgv --quiet --keyring "$keyring" "$work/SHA256SUMS.gpg" "$work/SHA256SUMS"
  interruptibly curl -fsSL --retry 3 -o "$work/$file" "$site/$file"
  (cd "$work" && grep " \*\{0,1\}$file\$" SHA256SUMS | sha256sum --check --strict -)
  base="$work/$file"
}

if [ -n "${BASE_IMAGE:-}" ]; then
  base=$BASE_IMAGE
elif [ "${os%%-*}" = ubuntu ]; then
  fetch_ubuntu
else
  echo "There is no known download for $os: name a disk image with BASE_IMAGE." >&2
  exit 2
fi

interruptibly qemu-img convert -O raw "$base" "$work/$name"
qemu-img resize -q -f raw "$work/$name" "+${GROW:-4G}"

# What the wheel is built from, as in docker/Dockerfile.
tar -C "$source" --exclude=__pycache__ -cf "$work/runner.tar" \
  pyproject.toml constraints.txt README.md LICENSE SPEC.example.md src instructions profiles \
  docker/install.sh docker/agent.txt

drop_agent=true
if [ "${RUNNER_AGENT:-bundled}" = path ]; then
  drop_agent="rm -r /opt/runner/lib/python3*/site-packages/claude_agent_sdk/_bundled"
fi

# libguestfs keeps its own temporary files there, too, so that none stay behind.
mkdir "$work/tmp"
interruptibly env LIBGUESTFS_TMPDIR="$work/tmp" virt-customize --format raw --add "$work/$name" \
  --run "$here/grow.sh" \
  --upload "$work/runner.tar:/var/tmp/runner.tar" \
  --run "$here/provision.sh" \
  --delete /var/tmp/runner.tar \
  --upload "$here/../fetch-agent.sh:/usr/local/bin/runner-fetch-agent" \
  --chmod 0755:/usr/local/bin/runner-fetch-agent \
  --run-command "$drop_agent" \
  --run "$here/generalise.sh"

# Blocks of zeros become holes again; `cp --sparse` and most uploads keep them so.
fallocate --dig-holes "$work/$name" || true
(cd "$work" && sha256sum "$name" >"$name.sha256")
mv "$work/$name" "$work/$name.sha256" "$output"
du -h "$output/$name"
