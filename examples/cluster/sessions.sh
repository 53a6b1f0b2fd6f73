# shellcheck shell=bash
# Commands in sessions of their own, which end with the script that sources this: finished, failed, Ctrl-C or SIGTERM.

sessions=()

# Starts a command and goes on.
start() {
  setsid "$@" &
  sessions+=($!)
}

# Runs a command. It is waited for, and not in the foreground, because bash would note a signal only after its end.
run() {
  start "$@"
  wait $!
}

# Prints the processes of the sessions, except those that are dead already.
members() {
  local line fields
  for line in /proc/[0-9]*/stat; do
    { read -r line <"$line"; } 2>/dev/null || continue
    read -ra fields <<<"${line##*) }" # state, parent, group, session
    [[ ${fields[0]} != Z && " ${sessions[*]} " == *" ${fields[3]} "* ]] && echo "${line%% *}"
  done
  return 0
}

stop() {
  local waited left
  for ((waited = 0; waited <= 10 * ${GRACE:-30}; waited++)); do
    mapfile -t left < <(members)
    ((${#left[@]})) || return 0
    ((waited % 10)) || kill -s TERM "${left[@]}" 2>/dev/null || true
    sleep 0.1
  done
  kill -s KILL "${left[@]}" 2>/dev/null || true
}

trap stop EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
