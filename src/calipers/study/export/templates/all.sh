#!/usr/bin/env bash
# The whole study, from the data to the table. Repeated, it goes on with what is not finished.
set -uo pipefail
set -m # what works in the background is a group of processes, which is ended as a whole
. "$(dirname "$0")/lib.sh"
./check.sh || exit 1
./prepare.sh || exit 1

judge='' workers=()
trap 'stop $judge "${workers[@]}"' EXIT
trap 'exit 130' INT TERM

serve() { # the judge's name, or - where nothing has to be served
  [ "$1" != - ] || return 0
  rm -f "logs/judge-$1.served"
  ./judge.sh "$1" &
  judge=$!
  until [ -e "logs/judge-$1.served" ]; do
    kill -0 "$judge" 2>/dev/null || fail "judge $1 cannot be served"
    sleep 1
  done
}
end_serving() {
  stop $judge
  judge=
}
each_run_of() { # a script, a slot, a judge or "any": the slot's runs one after another
  local slot_of judge_of run
  while read -r judge_of slot_of run; do
    [ "$slot_of" = "$2" ] || continue
    [ "$3" = any ] || [ "$judge_of" = "$3" ] || continue
    [ "$1" != ./train.sh ] || [ ! -e "checkpoints/$run/finished" ] || continue
    [ "$1" != ./evaluate.sh ] || [ "$run" = base ] || [ -e "checkpoints/$run/finished" ] || continue
    "$1" "$run" </dev/null || say "$1 $run has failed; the other runs go on"
  done <schedule.txt
}
in_all_slots() { # a script, a judge or "any"
  local slot
  for slot in $SLOTS; do
    each_run_of "$1" "$slot" "$2" &
    workers+=($!)
  done
  wait "${workers[@]}"
  workers=()
}

# schedule.txt has a line for each run: the judge to serve (or -), its slot, its name.
for name in $JUDGES; do
  serve "$name"
  in_all_slots ./train.sh "$name"
  end_serving
done
in_all_slots ./evaluate.sh any
serve "$EVALUATOR"
./score.sh
end_serving
calipers study table .
