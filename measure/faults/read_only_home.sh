#!/bin/sh
# read_only_home.sh COMMAND...: run it with a home directory in which nothing can be written.
export HOME="$FAULTS_DIR/home"
exec unshare --mount sh -ec 'mkdir -p "$HOME"; mount -t tmpfs -o ro none "$HOME"; exec "$@"' - "$@"
