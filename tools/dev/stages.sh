# SPDX-License-Identifier: MIT
#
# Runs the stages of a long check one after the other and sums them up. A reader who sees only the
# end of the output must see the failures, so the end lists them: outputs first, then all names,
# then the stages, then the counts.

stages_passed=0 stages_failed=0 stages_skipped=0
stages=() stage_outputs=() stage_names=()

# counted NAME COMMAND...: adds the counts in the last line of the command's output.
counted() {
    local name=$1 log started=$SECONDS counts numbers
    shift
    log=$(mktemp)
    echo "=== $name"
    "$@" 2>&1 | tee "$log"
    counts=$(tail -n 1 "$log" | grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$')
    # No counts: the script itself broke, which must not look like success.
    counts=${counts:-0 passed, 1 failed, 0 skipped}
    read -r -a numbers <<<"${counts//[^0-9 ]/}"
    ((stages_passed += numbers[0], stages_failed += numbers[1], stages_skipped += numbers[2]))
    ((numbers[1] + numbers[2] == 0)) || remember_troubles "$name" "$log"
    rm -f "$log"
    stages+=("$name: $counts ($((SECONDS - started)) s)")
}

# check NAME COMMAND...: one more that passes or fails.
check() {
    local name=$1 log started=$SECONDS verdict=passed
    shift
    log=$(mktemp)
    echo "=== $name"
    "$@" 2>&1 | tee "$log"
    if ((PIPESTATUS[0] == 0)); then
        ((stages_passed += 1))
    else
        ((stages_failed += 1))
        verdict=failed
        remember_end "$name" "$log"
    fi
    rm -f "$log"
    stages+=("$name: $verdict ($((SECONDS - started)) s)")
}

# troubles_in LOG: its lines 'failed: NAME' and 'skipped: NAME', with the lines of output that are
# marked by a bar, where they stand together before the last line.
troubles_in() {
    tac "$1" | sed -n '1d; /^\(failed: \|skipped: \|    |\)/!q; p' | tac
}

# remember_troubles STAGE LOG
remember_troubles() {
    local line found=0
    while IFS= read -r line; do
        stage_outputs+=("$line")
        [[ $line == '    |'* ]] && continue
        stage_names+=("${line%%: *}: $1: ${line#*: }")
        found=1
    done < <(troubles_in "$2")
    # The build failed, or the script broke.
    ((found)) || remember_end "$1" "$2"
}

# remember_end STAGE LOG: for a stage that does not name its failures.
remember_end() {
    local line
    stage_outputs+=("failed: $1")
    while IFS= read -r line; do
        stage_outputs+=("    | $line")
    done < <(tail -n 30 "$2")
    stage_names+=("failed: $1")
}

# sum_up: its last line is 'N passed, N failed, N skipped'; a failure where anything failed.
sum_up() {
    if ((${#stage_names[@]})); then
        echo "=== what did not pass"
        printf '%s\n' "${stage_outputs[@]}"
        echo "=== in short"
        printf '%s\n' "${stage_names[@]}"
    fi
    echo "=== summary, $SECONDS s"
    printf '%s\n' "${stages[@]}"
    echo "$stages_passed passed, $stages_failed failed, $stages_skipped skipped"
    ((stages_failed == 0))
}
