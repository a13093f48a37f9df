#!/bin/sh
# Make a cloud image with runner from an official one (seed 001 §6.3). Run as root, or where
# libguestfs may read the kernel; needs the packages libguestfs-tools, qemu-utils and curl.
#
#   VERSION=1.2.3 docker/cloud-image/build.sh     → runner-1.2.3-ubuntu-24.04.img and .img.sha256
#
# VERSION     goes into the name; without it the name is runner-ubuntu-24.04.img
# OS          name and release of the base, default ubuntu-24.04
# BASE_IMAGE  a disk image to start from; default: Ubuntu's own, downloaded and checked
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

for tool in virt-customize qemu-img sha256sum tar; do
  command -v "$tool" >/dev/null || {
    echo "$tool is missing: apt-get install libguestfs-tools qemu-utils" >&2
    exit 2
  }
done

mkdir -p "$output"
# Beside the result: a temporary folder in memory may not hold a disk image.
work=$(mktemp -d "$output/.cloud-image.XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM

fetch_ubuntu() {
  release=${os#ubuntu-}
  site="https://cloud-images.ubuntu.com/releases/$release/release"
  file="ubuntu-$release-server-cloudimg-amd64.img"
  keyring=/usr/share/keyrings/ubuntu-cloudimage-keyring.gpg
  curl -fsSL --retry 3 -o "$work/SHA256SUMS" "$site/SHA256SUMS"
  if [ -r "$keyring" ]; then
    curl -fsSL --retry 3 -o "$work/SHA256SUMS.gpg" "$site/SHA256SUMS.gpg"
    gpgv --quiet --keyring "$keyring" "$work/SHA256SUMS.gpg" "$work/SHA256SUMS"
  else
    echo "No $keyring (package ubuntu-cloudimage-keyring): HTTPS alone vouches for the sums." >&2
  fi
  curl -fsSL --retry 3 -o "$work/$file" "$site/$file"
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

qemu-img convert -O raw "$base" "$work/$name"
qemu-img resize -q -f raw "$work/$name" "+${GROW:-4G}"

# What the wheel is built from, as in docker/Dockerfile.
tar -C "$source" --exclude=__pycache__ -cf "$work/runner.tar" \
  pyproject.toml constraints.txt README.md LICENSE SPEC.example.md src instructions profiles

drop_agent=true
if [ "${RUNNER_AGENT:-bundled}" = path ]; then
  drop_agent="rm -r /opt/runner/lib/python3*/site-packages/claude_agent_sdk/_bundled"
fi

virt-customize --format raw --add "$work/$name" \
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
mv "$work/$name" "$output/$name"
(cd "$output" && sha256sum "$name" >"$name.sha256")
du -h "$output/$name"
