#!/bin/sh
# full_tmp.sh COMMAND...: run it where /tmp has no room for one more byte or file. The directories in $FAULTS_KEEP, which
# lie there, are still to be seen.
exec unshare --mount sh -ec '
  mount --rbind /tmp /mnt
  mount -t tmpfs -o size=4k none /tmp
  for path in $FAULTS_KEEP; do
    mkdir -p "$path"
    mount --rbind "/mnt/${path#/tmp/}" "$path"
  done
  printf %4096s x >/tmp/full
  mount -o "remount,nr_inodes=$(($(stat -f -c %c /tmp) - $(stat -f -c %d /tmp)))" /tmp
  if mkdir /tmp/more 2>/dev/null; then
    echo "full_tmp.sh: /tmp is not full" >&2
    exit 99
  fi
  exec "$@"' - "$@"
