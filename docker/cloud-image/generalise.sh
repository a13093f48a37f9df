#!/bin/sh
# Runs in the image, last: what must be different on every machine made from it goes away.
set -eu

cloud-init clean --logs --seed
rm -f /etc/ssh/ssh_host_*
: >/etc/machine-id
rm -rf /tmp/* /var/tmp/* /root/.cache /var/log/apt /var/log/dpkg.log
if command -v fstrim >/dev/null; then
  fstrim / 2>/dev/null || true
fi
