#!/usr/bin/env bash
# Grades all collected responses by their rubrics, every run by the same judge, which judge.sh serves if it is local.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
require_keys

while read -r name _ decided; do
  [ "$name" != ifeval ] || continue
  # Where rules decide all criteria, no judge is asked.
  settings=evaluation.toml
  [ "$decided" = judge ] || settings=rules.toml
  for responses in results/*/"$name.jsonl"; do
    [ -e "$responses" ] || continue
    # Exit code 1: something could not be graded; the table counts it.
    calipers --config "$settings" score "$responses" -o "${responses%.jsonl}.scores.jsonl" || [ $? = 1 ]
  done
done <evaluation.txt
