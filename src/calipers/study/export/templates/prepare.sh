#!/usr/bin/env bash
# Downloads the study's data sets, and prepares them for verl. What is there already stays.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

# data.txt has a line for each file to prepare: data set, form, what to download.
while read -r name form source; do
  if [ ! -e "downloads/$name" ]; then
    say "downloading $name"
    rm -rf "downloads/$name.part"
    mkdir -p "downloads/$name.part"
    case $source in
      https://*) curl --fail --location --silent --show-error --remote-name --output-dir "downloads/$name.part" "$source" ;;
      *) hf download "$source" --repo-type dataset --local-dir "downloads/$name.part" ;;
    esac
    mv "downloads/$name.part" "downloads/$name"
  fi
  case $form in
    none) continue ;;
    verif) out="data/$name.verif.val.parquet" ;;
    *) out="data/$name.val.parquet" ;;
  esac
  if [ ! -e "$out" ]; then
    # Exit code 1: some rows were skipped, and are named above.
    calipers study data "$name" "downloads/$name" -o data --form "$form" || [ $? = 1 ]
  fi
done <data.txt
