#!/usr/bin/env bash
# Serves a judge of the study with vLLM on its GPUs, until it is ended: judge.sh NAME
# With VLLM_API_KEY in the environment, the servers want that key, and calipers sends it.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

[ -f "judges/${1:-}.env" ] || fail "name a judge: $(cd judges && echo *)"
# shellcheck disable=SC1090
. "judges/$1.env"

name=$1
servers=()
# shellcheck disable=SC2329
end() {
  rm -f "logs/judge-$name.served"
  stop "${servers[@]}"
}
trap end EXIT
trap 'exit 0' INT TERM
copy=0
for gpus in $GPUS_OF_COPIES; do
  CUDA_VISIBLE_DEVICES=$gpus CUDA_DEVICE_ORDER=PCI_BUS_ID setsid vllm serve "$MODEL" \
    --host 127.0.0.1 --port $((FIRST_PORT + copy)) --served-model-name "$MODEL" \
    --tensor-parallel-size "$TENSOR_PARALLEL" "${ARGUMENTS[@]}" >"logs/judge-$name-$copy.log" 2>&1 &
  servers+=($!)
  copy=$((copy + 1))
done
for number in "${!servers[@]}"; do
  wait_for_server $((FIRST_PORT + number)) "${servers[number]}" "logs/judge-$name-$number.log"
done
say "judge $name is served"
touch "logs/judge-$name.served"
wait -n "${servers[@]}" || true
fail "a server of judge $name has ended; its log: logs/judge-$name-*.log"
