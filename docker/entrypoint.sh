#!/bin/sh
# Run as whoever owns the workspace, so that what the agent writes belongs to them, and never as
# the machine's real root (ADR-0083).
#
# - As root (the default of `docker run`): take on the uid and gid of the working directory and
#   give up every privilege. Where root owns it: the root of a rootless engine is the caller and
#   stays; for any other root the image's own user takes over, or the start is refused.
# - With `--user`: stay what the caller said, and gain no privilege.
#
# The home is /home/runner, where mounts are expected, whenever it can be written.
set -eu

runner_home=/home/runner
image_user=1000
agent="/opt/runner/lib/python3*/site-packages/claude_agent_sdk/_bundled/claude"

# shellcheck disable=SC2086 # a pattern
if ! ls $agent >/dev/null 2>&1 && ! command -v claude >/dev/null; then
  cat >&2 <<'TEXT'
This image has no agent, so nothing can be run with it yet. Make one that has, from two lines:
  FROM this image
  RUN runner-fetch-agent
TEXT
fi

uid=$(id -u)
gid=$(id -g)
drop="" # as root: the options of setpriv that give it up

owner_of() { stat -c "$1" "$2" 2>/dev/null || echo 0; }

# Whether uid 0 is uid 0 outside, too; so it is taken to be where nothing is known.
root_is_real() {
  outside=$(awk '$1 == 0 { print $2 }' /proc/self/uid_map) || outside=0
  [ "${outside:-0}" = 0 ]
}

# Do something as the user that the command is going to run as.
as_user() {
  # shellcheck disable=SC2086 # options
  if [ -n "$drop" ]; then setpriv $drop -- "$@"; else "$@"; fi
}

become() {
  uid=$1
  gid=$2
  drop="--reuid=$uid --regid=$gid --clear-groups --inh-caps=-all --no-new-privs"
  if ! as_user true 2>/dev/null; then
    echo "runner-entrypoint: the container may not become uid $uid, who owns the workspace. Give it" \
      "the capabilities CHOWN, DAC_OVERRIDE, KILL, SETGID and SETUID, or start it with" \
      "--user $uid:$gid." >&2
    exit 2
  fi
}

refuse_root() {
  cat >&2 <<TEXT
runner-entrypoint: $PWD belongs to root, and the image's own user ($image_user) can't write to it.
An agent would run as this machine's real root, so nothing was started. Do one of these:
  - give the folder to a user, on the host: chown -R $image_user:$image_user FOLDER
  - use a rootless engine, where root is you
  - accept it, and all that an agent can do as root: -e RUNNER_ALLOW_ROOT=1
TEXT
  exit 2
}

choose_user() {
  owner=$(owner_of %u "$PWD")
  group=$(owner_of %g "$PWD")
  if [ "$owner" != 0 ]; then
    become "$owner" "$group"
  elif root_is_real; then
    if [ "${RUNNER_ALLOW_ROOT:-}" = 1 ]; then
      echo "Warning: everything runs as this machine's real root (RUNNER_ALLOW_ROOT)." >&2
      return
    fi
    [ "$group" != 0 ] || group=$image_user
    become "$image_user" "$group"
    # What even root can't write is mounted read-only, and nothing is lost by going on.
    if [ -w "$PWD" ] && ! as_user test -w "$PWD"; then refuse_root; fi
  fi
}

# Give a folder to the user, but for what is mounted in it: that is the caller's, or read-only.
give() {
  folder=$1
  set --
  while read -r point; do
    [ -z "$point" ] || set -- "$@" -path "$point" -prune -o
  done <<POINTS
$(mounts_in "$folder")
POINTS
  find "$folder" -xdev "$@" ! -uid "$uid" -exec chown -h "$uid:$gid" {} + 2>/dev/null || :
}

# Print the mount points in a folder as patterns of find: mountinfo writes odd characters as \040.
mounts_in() {
  awk -v top="$1/" 'index($5, top) == 1 { print $5 }' /proc/self/mountinfo |
    sed 's/[][*?]/\\&/g; s/\\[0-7][0-7][0-7]/?/g'
}

is_mounted() { awk -v point="$1" '$5 == point { found = 1 } END { exit !found }' /proc/self/mountinfo; }

# Whether the caller chose a home: not what an engine sets when nobody said anything.
home_is_chosen() {
  case ${HOME:-/} in
    / | "$PWD" | "$(getent passwd "$uid" | cut -d: -f6)") return 1 ;;
  esac
  [ -w "$HOME" ]
}

choose_home() {
  if [ -n "$drop" ] && ! is_mounted "$runner_home"; then give "$runner_home"; fi
  if [ "$(id -u)" != 0 ] && home_is_chosen; then
    return
  elif as_user test -w "$runner_home"; then
    HOME=$runner_home
  else
    make_home
  fi
  export HOME
}

# A home for where /home/runner can't be written; what was mounted there is found in it.
make_home() {
  if ! HOME=$(as_user mktemp -d /tmp/home.XXXXXX); then
    echo "runner-entrypoint: neither $runner_home nor /tmp can be written: add --tmpfs /tmp" >&2
    exit 2
  fi
  as_user mkdir -p "$HOME/.local/state"
  for entry in "$runner_home"/.[!.]*; do
    if [ "$entry" != "$runner_home/.local" ] && as_user test -r "$entry"; then
      as_user ln -s "$entry" "$HOME"
    fi
  done
  if as_user test -w "$runner_home/.local/state/runner"; then
    as_user ln -s "$runner_home/.local/state/runner" "$HOME/.local/state"
  fi
}

# Let the uid have a name and this home: some tools stop, and ssh looks elsewhere, without.
name_user() {
  [ "$(getent passwd "$uid" | cut -d: -f6)" != "$HOME" ] || return 0
  named=$(awk -F: -v OFS=: -v uid="$uid" -v gid="$gid" -v home="$HOME" '
    $3 == uid { $6 = home; found = 1 }
    { print }
    END { if (!found) print "agent", "x", uid, gid, "runner", home, "/bin/bash" }' /etc/passwd)
  if [ -w /etc/passwd ]; then
    printf '%s\n' "$named" >/etc/passwd
    return
  fi
  passwd=$HOME/.passwd.$uid
  wrapper=$(find /usr/lib -name libnss_wrapper.so 2>/dev/null | head -n 1)
  if [ -n "$wrapper" ] && printf '%s\n' "$named" | as_user tee "$passwd" >/dev/null 2>&1; then
    export LD_PRELOAD="$wrapper" NSS_WRAPPER_PASSWD="$passwd" NSS_WRAPPER_GROUP=/etc/group
  fi
}

# What seals sessions must be writable, and must be there for a session that another container began.
prepare_state() {
  state="${XDG_STATE_HOME:-$HOME/.local/state}/runner"
  if [ -n "$drop" ] && [ -d "$state" ]; then
    give "$state"
    as_user chmod 700 "$state" 2>/dev/null || :
  fi
  if [ -d "$state" ] && ! as_user test -w "$state"; then
    echo "Warning: uid $uid can't write to $state, where the secret that seals sessions stands:" \
      "mount a new volume there, or a folder of that user's." >&2
  elif ! as_user test -e "$state/autonomy.key" && ls "$PWD"/.runner/autonomy/sessions/*.json >/dev/null 2>&1; then
    echo "Warning: the session in $PWD/.runner can't be gone on with: $state lacks the secret that" \
      "seals it. Mount what was mounted when it began: -v runner-state:$runner_home/.local/state/runner" >&2
  fi
}

# Git refuses a repository of another user's; this one was mounted to be worked in.
trust_repository() {
  [ "$(owner_of %u "$PWD")" != "$uid" ] || return 0
  count=${GIT_CONFIG_COUNT:-0}
  export "GIT_CONFIG_KEY_$count=safe.directory" "GIT_CONFIG_VALUE_$count=$PWD"
  export GIT_CONFIG_COUNT=$((count + 1))
}

if [ "$uid" = 0 ]; then choose_user; fi
choose_home
if [ "$uid" != 0 ]; then name_user; fi
prepare_state
trust_repository

if [ "$uid" = 0 ]; then exec "$@"; fi
# shellcheck disable=SC2086 # options
exec setpriv ${drop:---no-new-privs} -- "$@"
