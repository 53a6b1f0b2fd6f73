#!/usr/bin/env bash
# Trains one run, or goes on with it from its newest checkpoint: train.sh RUN [further settings of verl]
set -euo pipefail
. "$(dirname "$0")/lib.sh"
load_run "${1:?name a run}"
run=$1
shift
require_keys
# shellcheck disable=SC1090
. "runs/$run/overrides.sh"
if [ -n "$CHAT_TEMPLATE" ]; then
  overrides+=("actor_rollout_ref.model.custom_chat_template='$(cat "$CHAT_TEMPLATE")'")
fi

# A Ray of its own for each run that shares the node: without an address, verl would join whichever Ray is there.
# `ray stop` would end all of them, so the process is ended instead.
export RAY_ADDRESS=127.0.0.1:$FIRST_PORT
setsid ray start --head --block --node-ip-address 127.0.0.1 --port "$FIRST_PORT" \
  --node-manager-port $((FIRST_PORT + 1)) --object-manager-port $((FIRST_PORT + 2)) \
  --ray-client-server-port $((FIRST_PORT + 3)) --dashboard-port $((FIRST_PORT + 4)) \
  --dashboard-agent-listen-port $((FIRST_PORT + 5)) --dashboard-agent-grpc-port $((FIRST_PORT + 6)) \
  --runtime-env-agent-port $((FIRST_PORT + 7)) --metrics-export-port $((FIRST_PORT + 8)) \
  --min-worker-port $((FIRST_PORT + 20)) --max-worker-port $((FIRST_PORT + 999)) \
  --num-gpus "$GPU_COUNT" --num-cpus "${RUN_CPUS:-$(($(nproc) * GPU_COUNT / NODE_GPUS + 1))}" \
  --object-store-memory "${RUN_STORE_BYTES:-32000000000}" --temp-dir "${RAY_FOLDER:-/tmp/calipers-ray}/$SLOT" \
  --include-dashboard false --disable-usage-stats >"logs/ray-$SLOT.log" 2>&1 &
ray=$! training=
trap 'stop $training "$ray"' EXIT
trap 'exit 130' INT TERM
until ray status >/dev/null 2>&1; do
  kill -0 "$ray" 2>/dev/null || fail "Ray has ended; its log: logs/ray-$SLOT.log"
  sleep 1
done

say "training $run on GPUs $GPUS"
# In the background, because bash runs a trap only after what works in the foreground has ended.
setsid python -m verl.trainer.main_ppo "${overrides[@]}" hydra.run.dir="'$STUDY/logs/hydra-$run'" "$@" \
  >>"logs/train-$run.log" 2>&1 &
training=$!
wait "$training" || fail "run $run has failed; its log: logs/train-$run.log"
mkdir -p "checkpoints/$run"
touch "checkpoints/$run/finished"
say "run $run is trained"
