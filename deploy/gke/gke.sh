#!/usr/bin/env bash
# A GKE cluster for QuantumTrainingJobs: spot nodes that scale from zero, a bucket, images, and the operator.
# Every step first looks at what exists, so a command that was interrupted can be run again.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
# shellcheck source=deploy/gke/steps.sh
. "$HERE/steps.sh"

usage() {
  cat << END
usage: gke.sh [--parameters FILE] plan|up|down [--delete-bucket]

  plan   print what \`up\` would run, and change nothing
  up     create what is missing, and install the operator of this checkout
  down   delete what \`up\` created; the bucket with all artifacts stays, unless there is --delete-bucket

FILE is deploy/gke/parameters.env by default.
END
}

fail() {
  echo "gke.sh: $1" >&2
  exit 2
}

# Runs a command that changes something, or prints it while planning.
change() {
  if [ "$MODE" = plan ]; then
    printf '+%s\n' "$(printf ' %q' "$@")"
  else
    echo "$*" >&2
    "$@"
  fi
}

read_parameters() {
  [ -f "$1" ] || fail "there is no file $1: copy deploy/gke/parameters.env and name the copy with --parameters"
  # shellcheck source=deploy/gke/parameters.env
  . "$1"
  [ -n "$PROJECT" ] || fail "PROJECT is empty in $1: write the id of your Google Cloud project"
  [[ $TRAINING_NODES =~ ^[1-9][0-9]*$ ]] || fail "TRAINING_NODES is \"$TRAINING_NODES\" in $1: write a number from 1 on"
  [[ $DELETE_ARTIFACTS_AFTER =~ ^([1-9][0-9]*)?$ ]] \
    || fail "DELETE_ARTIFACTS_AFTER is \"$DELETE_ARTIFACTS_AFTER\" in $1: write a number of days, or nothing"
  [[ $CLUSTER =~ ^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$ ]] \
    || fail "CLUSTER is \"$CLUSTER\" in $1: write up to 40 lower-case letters, digits and hyphens"
  BUCKET=${BUCKET:-$PROJECT-$CLUSTER}
  REPOSITORY=${REPOSITORY:-$CLUSTER}
  SERVICE_ACCOUNT=${SERVICE_ACCOUNT:-$CLUSTER-trainer}
  NODE_ACCOUNT=${NODE_ACCOUNT:-$CLUSTER-nodes}
  check_account SERVICE_ACCOUNT "$SERVICE_ACCOUNT" "$1"
  check_account NODE_ACCOUNT "$NODE_ACCOUNT" "$1"
  derive
}

check_account() {
  [[ $2 =~ ^[a-z][-a-z0-9]{4,28}[a-z0-9]$ ]] \
    || fail "$1 is \"$2\": write 6 to 30 lower-case letters, digits and hyphens into $1 in $3, or a shorter CLUSTER"
}

parse() {
  local parameters=$HERE/parameters.env
  MODE='' DELETE_BUCKET=no
  while [ $# -gt 0 ]; do
    case $1 in
      --parameters) [ $# -gt 1 ] || fail "name a file after --parameters" && parameters=$2 && shift ;;
      --delete-bucket) DELETE_BUCKET=yes ;;
      plan | up | down) MODE=$1 ;;
      -h | --help) usage && exit 0 ;;
      *) usage >&2 && fail "$1 is unknown" ;;
    esac
    shift
  done
  [ -n "$MODE" ] || { usage >&2 && fail "name what to do: plan, up or down"; }
  [ "$DELETE_BUCKET" = no ] || [ "$MODE" = down ] || fail "--delete-bucket is for down"
  read_parameters "$parameters"
}

main() {
  parse "$@"
  local program
  for program in gcloud kubectl docker; do
    command -v "$program" > /dev/null || fail "$program is not on the PATH: install it"
  done
  # A kubeconfig of its own: the current context of yours may be another cluster.
  WORK=$(mktemp -d)
  trap 'rm -rf "$WORK"' EXIT
  export KUBECONFIG=$WORK/kubeconfig
  if [ "$MODE" = down ]; then remove_all; else create_all; fi
}

main "$@"
