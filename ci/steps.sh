# shellcheck shell=bash
# The steps of ./check: running, counting, reporting, and leaving nothing behind. Sourced after
# ci/common.sh.
#
# A step runs in the background in a process group of its own with its output in a file, so
# that a signal to ./check can end it with all its children. Servers make themselves sessions of
# their own: they are found by their working directories, which are below $work.

step_names=() step_results=() step_seconds=() step_tests=() # one element for each step
passed=0 failed=0
declare -A step_log step_begin step_failures extra_logs
declare -A running # the process groups of the steps that run now

begin_steps() {
    mkdir -p "${cache:?}"
    exec 8>"$cache/check.lock"
    if ! flock -n 8; then
        say "another ./check is running on this machine: waiting for its end"
        flock 8
    fi
    begun=$SECONDS
    work=$(mktemp -d "${TMPDIR:-/tmp}/ckptflush-check.XXXXXX")
    chmod 755 "$work"
    logs=$work/logs
    mkdir "$logs"
    segments_before=$(segments)
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    trap clean_up EXIT
    set -m # a process group for each background job
}

segments() { find /dev/shm -maxdepth 1 -name 'ckptflush.*' 2>/dev/null | sort || true; }

clean_up() {
    local status=$? segment step
    trap '' INT TERM HUP
    for step in "${running[@]}"; do
        kill -TERM -- "-$step" 2>/dev/null || true
        wait "$step" 2>/dev/null || true
    done
    end_processes_in "$work" || true
    # Segments whose servers were killed by a test; not those of anybody who still has it mapped.
    for segment in $(comm -13 <(echo "$segments_before") <(segments)); do
        grep -qsF "$segment" /proc/[0-9]*/maps || rm -f "$segment"
    done
    if [ "$status" = 0 ] || [ -z "$(ls -A "$logs")" ]; then
        rm -rf "$work"
    else
        say "logs and test directories are kept in $work"
    fi
    [ "$status" = 0 ] || [ "$failed" -gt 0 ] || failed=1
    echo "$passed passed, $failed failed"
}

# Fails if a process still runs in DIR, and ends it. One that is just ending gets five seconds.
nothing_runs() { # DIR
    local pid deadline=$((SECONDS + 5))
    while [ -n "$(processes_in "$1")" ] && [ "$SECONDS" -lt "$deadline" ]; do
        sleep 0.1
    done
    [ -n "$(processes_in "$1")" ] || return 0
    while read -r pid; do
        echo "left running: $pid $(tr '\0' ' ' <"/proc/$pid/cmdline" || true)"
    done < <(processes_in "$1")
    end_processes_in "$1"
    return 1
}

# Sets $ok and $not_ok from a log: numbers of tests, by the kind of the program that wrote it.
count_tests() { # KIND LOG
    case $1 in
    plain) ok=1 not_ok=0 ;;
    cargo)
        ok=$(sed -n 's/^test result: .* \([0-9]*\) passed;.*/\1/p' "$2" | awk '{ n += $1 } END { print n + 0 }')
        not_ok=$(sed -n 's/^test result: .* \([0-9]*\) failed;.*/\1/p' "$2" | awk '{ n += $1 } END { print n + 0 }')
        ;;
    regress) # "test NAME ... ok" up to 15, "ok 1 - NAME" from 16
        ok=$(grep -cE '^(test .*\.\.\. ok|ok [0-9]+ )' "$2" || true)
        not_ok=$(grep -cE '^(test .*\.\.\. FAILED|not ok [0-9]+ )' "$2" || true)
        ;;
    summary) # "N passed, N failed"
        ok=$(sed -n 's/^\([0-9]*\) passed, [0-9]* failed$/\1/p' "$2")
        not_ok=$(sed -n 's/^[0-9]* passed, \([0-9]*\) failed$/\1/p' "$2")
        ok=${ok:-0} not_ok=${not_ok:-0}
        ;;
    tap) # the summary of prove; a file that died without a failed test counts as one
        ok=$(sed -n 's/^Files=.* Tests=\([0-9]*\),.*/\1/p' "$2")
        not_ok=$(awk '/^t\/.*\(Wstat: .* Failed: [0-9]+\)/ { sub(/.*Failed: /, ""); n += $0 > 0 ? $0 + 0 : 1 } END { print n + 0 }' "$2")
        ok=$((${ok:-0} > not_ok ? ok - not_ok : 0))
        ;;
    esac
}

# Runs COMMAND, prints one line about it, and remembers the result; KIND is that of count_tests.
# Returns 0 always, with COMMAND's status in $step_status: were it called in a condition, the
# shell would ignore errors inside COMMAND too.
step() { # NAME KIND COMMAND...
    printf '%s  %-36s ' "$(date +%H:%M:%S)" "$1"
    start_step "$1" "${@:3}"
    end_step "$1" "$2"
}

# The two halves of it. A step that ran "beside" others may have ended long ago: with its last line.
# With $idle set it gets what time the processors have left.
start_step() { # NAME COMMAND...
    local log=$logs/${1//[^[:alnum:]]/-}.log
    step_log[$1]=$log
    step_begin[$1]=$EPOCHSECONDS
    {
        [ -z "${idle:-}" ] || chrt --idle --pid 0 "$BASHPID"
        "${@:2}"
    } </dev/null >"$log" 2>&1 8>&- &
    running[$1]=$!
}
end_step() { # NAME KIND [beside]
    local name=$1 kind=$2 status=0 result=ok ok not_ok end log=${step_log[$1]}
    wait "${running[$name]}" || status=$?
    end=$EPOCHSECONDS
    [ -z "${3:-}" ] || end=$(stat -c %Y "$log")
    unset "running[$name]"
    count_tests "$kind" "$log"
    if [ "$status" != 0 ]; then
        result=FAILED
        [ "$kind" != plain ] || ok=0
        [ "$not_ok" -gt 0 ] || not_ok=1
    elif [ "$ok" = 0 ]; then
        result=FAILED status=1 not_ok=1
        echo "no test was run" >>"$log"
    fi
    passed=$((passed + ok)) failed=$((failed + not_ok)) step_failures[$name]=$not_ok
    step_names+=("$name")
    step_results+=("$result")
    step_seconds+=("$((end - step_begin[$name]))")
    step_tests+=("$([ "$kind" = plain ] || echo "$ok/$((ok + not_ok))")")
    printf '%-6s %5d s  %s\n' "$result" "${step_seconds[-1]}" "${step_tests[-1]}"
    # shellcheck disable=SC2034 # read by the caller
    step_status=$status
}
end_steps() { # KIND NAME...
    local name
    for name in "${@:2}"; do
        printf '%s  %-36s ' "$(date +%H:%M:%S)" "$name"
        end_step "$name" "$1" beside
    done
}

# What failed in the step of this name has passed since: no failure, but shown as one.
excuse() { # NAME
    local i
    for i in "${!step_names[@]}"; do
        [ "${step_names[i]}" != "$1" ] || step_results[i]=FLAKY
    done
    failed=$((failed - step_failures[$1]))
}

# More files whose ends are shown when the step of this name is reported as failed.
show_later() { # NAME FILE...
    extra_logs[$1]=$(printf '%s\n' "${@:2}")
}

# The TAP tests that failed in the step of this name, as t/NAME.pl.
failed_tap_tests() { sed -n 's/^\(t\/[^ ]*\.pl\) .*(Wstat: .*/\1/p' "${step_log[$1]}"; } # NAME

# The same for the TAP tests that failed: their logs and those of their servers.
show_tap_logs() { # NAME LOGDIR
    local test
    for test in $(failed_tap_tests "$1"); do
        test=$(basename "$test" .pl)
        extra_logs[$1]+=$(find "$2" -name "regress_log_$test" -o -name "${test}_*.log" | sort)$'\n'
    done
}

show_tail() { # FILE LINES
    [ -s "$1" ] || return 0
    printf '\n--- the last %d lines of %s\n' "$2" "$1"
    tail -n "$2" "$1"
}

# The table, the failures, and the end of the program.
finish() {
    local i file
    printf '\n%-38s %-8s %9s  %s\n' step result seconds tests
    for i in "${!step_names[@]}"; do
        printf '%-38s %-8s %9d  %s\n' "${step_names[i]}" "${step_results[i]}" \
            "${step_seconds[i]}" "${step_tests[i]}"
    done
    for i in "${!step_names[@]}"; do
        [ "${step_results[i]}" != ok ] || continue
        printf '\n=== %s: %s\n' "${step_results[i]}" "${step_names[i]}"
        show_tail "${step_log[${step_names[i]}]}" 40
        while read -r file; do
            show_tail "$file" 60
        done <<<"${extra_logs[${step_names[i]}]:-}"
    done
    i=$((SECONDS - begun))
    printf '\n%d:%02d minutes\n' $((i / 60)) $((i % 60))
    [ "$failed" = 0 ] || exit 1
    exit 0
}
