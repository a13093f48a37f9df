#!/bin/sh
# Runs in the image: let the root file system fill the disk that was made larger around it.
set -eu

device=$(readlink -f "/sys/dev/block/$(mountpoint -d /)")
if [ -f "$device/partition" ]; then
  # growpart exits with 1 when there is nothing to grow.
  growpart "/dev/$(basename "$(dirname "$device")")" "$(cat "$device/partition")" || [ $? = 1 ]
fi
resize2fs "/dev/$(basename "$device")"
