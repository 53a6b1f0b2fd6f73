#!/usr/bin/env bash
# What has to be true of the node before the first hour of GPU time. Prints everything that is wrong.
set -uo pipefail
. "$(dirname "$0")/lib.sh"

wrong=0
require() { # a description, then a command that succeeds where all is well
  local what=$1
  shift
  if ! "$@" >/dev/null 2>&1; then
    say "wrong: $what"
    wrong=1
  fi
}
is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
has_gpus() { [ "$(nvidia-smi --list-gpus | wc -l)" -ge "$1" ]; }
has_space() { [ "$(df --output=avail -B1G . | tail -1)" -ge "$1" ]; }

for key in $KEYS; do
  require "the environment variable $key is not set" test -n "${!key:-}"
done
for program in calipers curl hf python ray vllm; do
  require "$program is not installed (README.md, step 1)" command -v "$program"
done
require "this folder's path has a quotation mark or a blank: move it" test "${STUDY//[\'\" ]/}" = "$STUDY"
require "the node has fewer than $NODE_GPUS GPUs" has_gpus "$NODE_GPUS"
for port in $PORTS; do
  require "port $port is in use: set first_port under [cluster]" is_free "$port"
done
require "fewer than ${FREE_GB:-500} GB are free for checkpoints" has_space "${FREE_GB:-500}"

# All settings, by calipers and by verl's own loader.
calipers study export study.toml --dry-run || wrong=1
[ "$wrong" = 0 ] || exit 1
say "all is well"
