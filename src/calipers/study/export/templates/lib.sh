# shellcheck shell=bash disable=SC1090,SC2153
# Functions of the other scripts, which source this file. It sets STUDY to the study's folder, and works from there.

STUDY=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$STUDY" || exit 1
mkdir -p checkpoints data downloads ledgers logs models results rollouts
. ./study.env

say() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

fail() { say "$*"; exit 1; }

# The keys of judges and of gated data sets come from the environment, and are written nowhere.
require_keys() {
  local key
  for key in $KEYS; do
    [ -n "${!key:-}" ] || fail "the environment variable $key is not set"
  done
}

# Sets what runs/NAME/run.env says of a run: its GPUs, ports, judge and model.
load_run() {
  [ -f "runs/$1/run.env" ] || fail "there is no run $1; the runs: $(cd runs && echo *)"
  . "runs/$1/run.env"
  export CUDA_VISIBLE_DEVICES=$GPUS CUDA_DEVICE_ORDER=PCI_BUS_ID
}

# The step of the newest checkpoint of a run.
newest_step() {
  cat "checkpoints/$1/latest_checkpointed_iteration.txt" || fail "run $1 has no checkpoint"
}

# Waits until a server of vLLM answers. $1: its port, $2: its process, $3: its log.
wait_for_server() {
  local waited=0
  until curl --silent --fail --output /dev/null "http://127.0.0.1:$1/health"; do
    kill -0 "$2" 2>/dev/null || fail "the server at port $1 has ended; its log: $3"
    [ "$waited" -lt "${SERVER_SECONDS:-1800}" ] || fail "the server at port $1 does not answer; its log: $3"
    sleep 1
    waited=$((waited + 1))
  done
}

# Ends groups of processes that this script has started, and waits for them.
stop() {
  local process
  for process in "$@"; do kill -- "-$process" 2>/dev/null || true; done
  for process in "$@"; do wait "$process" 2>/dev/null || true; done
}
