#!/bin/sh
# task.sh COMMAND...: one task of a job that is hurt. Runs the command and notes its exit code in $FAULTS_DIR.
# On a node that $FAULTS_ABSENT names, it waits for the end of the first node's command instead.
#
# A trap, unlike an ignored signal, is not handed on to the command.
trap : HUP INT TERM USR1 USR2
if [ "$SLURMD_NODENAME" = "$FAULTS_ABSENT" ]; then
  until [ -e "$FAULTS_DIR/exit.0" ]; do sleep 0.1; done
  exit 0
fi
"$@"
code=$?
# Renamed, so that a file that is there is complete.
echo "$code" >"$FAULTS_DIR/code.$SLURM_NODEID"
mv "$FAULTS_DIR/code.$SLURM_NODEID" "$FAULTS_DIR/exit.$SLURM_NODEID"
exit "$code"
