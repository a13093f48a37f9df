#!/bin/sh
# Run as whoever owns the workspace, so that what the agent writes belongs to them.
#
# - As root (the default of `docker run`): take on the uid and gid of the mounted folder and drop
#   every privilege. A folder of root's stays root's: that is how rootless containers show yours.
# - With `--user`: stay what the caller said, and give that uid a home and a name.
set -eu

agent="/opt/runner/lib/python3*/site-packages/claude_agent_sdk/_bundled/claude"
# shellcheck disable=SC2086 # a pattern
if ! ls $agent >/dev/null 2>&1 && ! command -v claude >/dev/null; then
  cat >&2 <<'EOF'
This image has no agent, so nothing can be run with it yet. Make one that has, from two lines:
  FROM this image
  RUN runner-fetch-agent
EOF
fi

owner_of() { stat -c "$1" "${RUNNER_WORKSPACE_DIR:-$PWD}" 2>/dev/null || echo 0; }

if [ "$(id -u)" = 0 ]; then
  uid=$(owner_of %u)
  gid=$(owner_of %g)
  if [ "$uid" != 0 ]; then
    home=/home/runner
    if [ "$(stat -c %u "$home")" != "$uid" ]; then
      chown -R "$uid:$gid" "$home"
    fi
    if ! getent passwd "$uid" >/dev/null; then
      echo "agent:x:$uid:$gid:runner:$home:/bin/bash" >>/etc/passwd
    fi
    export HOME="$home"
    exec setpriv --reuid "$uid" --regid "$gid" --clear-groups --inh-caps=-all \
      --no-new-privs -- "$@"
  fi
  # The state that the next container needs is mounted here, whoever this one runs as.
  export HOME=/home/runner
  if [ "$(tr -s ' ' </proc/self/uid_map)" = " 0 0 4294967295" ]; then
    echo "Warning: the workspace is root's, so everything runs as this machine's real root. Give" \
      "the folder to a user (chown), or use a rootless engine." >&2
  fi
elif ! getent passwd "$(id -u)" >/dev/null; then
  home=$(mktemp -d /tmp/home.XXXXXX)
  export HOME="$home"
  # The uid has no name in this image, and some tools stop when they can't find one.
  { cat /etc/passwd; echo "agent:x:$(id -u):$(id -g):runner:$home:/bin/bash"; } >"$home/.passwd"
  wrapper=$(find /usr/lib -name 'libnss_wrapper.so' 2>/dev/null | head -n 1)
  if [ -n "$wrapper" ]; then
    export LD_PRELOAD="$wrapper" NSS_WRAPPER_PASSWD="$home/.passwd" NSS_WRAPPER_GROUP=/etc/group
  fi
elif [ ! -w "${HOME:-/}" ]; then
  HOME=$(mktemp -d /tmp/home.XXXXXX)
  export HOME
fi

exec "$@"
