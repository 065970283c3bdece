# SPDX-License-Identifier: MIT
#
# The command fuzz: the targets of tests/fuzz/ under libFuzzer, from the corpus that is kept there.

# command_fuzz [SECONDS] [TARGET...]: its last line is 'N passed, N failed, 0 skipped'.
command_fuzz() {
    local seconds=60 targets=() argument
    for argument in "$@"; do
        case $argument in
            -*) die "fuzz takes a number of seconds and names of targets, not '$argument'." ;;
            *[!0-9]*) targets+=("$argument") ;;
            *) seconds=$argument ;;
        esac
    done
    ensure_packages run clang
    if ! configure fuzz || ! build fuzz weir_fuzz; then
        say "The build failed (fuzz)."
        echo "0 passed, 1 failed, 0 skipped"
        return 1
    fi
    local known
    mapfile -t known < <("$(fuzz_program)" 2>/dev/null)
    ((${#known[@]} > 0)) || die "the program of the targets does not start."
    for argument in "${targets[@]}"; do
        [[ " ${known[*]} " == *" $argument "* ]] ||
            die "there is no target '$argument'; there are ${known[*]}."
    done
    ((${#targets[@]} > 0)) || targets=("${known[@]}")
    fuzz_all "$seconds" "${targets[@]}"
}

fuzz_program() {
    echo "$(build_dir fuzz)/tests/fuzz/weir_fuzz"
}

# fuzz_all SECONDS TARGET...: as many at a time as there are processors.
fuzz_all() {
    local seconds=$1 running=0 passed=0 failed=0 target verdict
    shift
    for target in "$@"; do
        rm -f "$(build_dir fuzz)/$target.verdict"
        if ((running == $(jobs_to_use))); then
            wait -n || true
            running=$((running - 1))
        fi
        fuzz_one "$seconds" "$target" &
        running=$((running + 1))
    done
    wait
    for target in "$@"; do
        verdict=$(cat "$(build_dir fuzz)/$target.verdict" 2>/dev/null || echo failed)
        if [[ $verdict == passed ]]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "failed: $target"
            fuzz_finding "$target" | sed 's/^/    | /'
        fi
    done
    echo "$passed passed, $failed failed, 0 skipped"
    ((failed == 0))
}

# fuzz_one SECONDS TARGET: new inputs go to build/fuzz/corpus/, crashing ones to
# build/fuzz/findings/. To keep new inputs: weir_fuzz -merge=1 tests/fuzz/corpus/TARGET
# build/fuzz/corpus/TARGET.
fuzz_one() {
    local seconds=$1 target=$2 dir kept log grown findings options=()
    dir=$(build_dir fuzz)
    kept=$root/tests/fuzz/corpus/$target
    log=$dir/$target.log
    grown=$dir/corpus/$target
    findings=$dir/findings
    mkdir -p "$grown" "$findings"
    [[ -e $root/tests/fuzz/$target.dict ]] && options+=("-dict=$root/tests/fuzz/$target.dict")
    if WEIR_FUZZ_TARGET=$target "$(fuzz_program)" -max_total_time="$seconds" -max_len=4096 \
        -timeout=10 -artifact_prefix="$findings/$target-" "${options[@]}" "$grown" "$kept" \
        >"$log" 2>&1 && grep -q '^Done ' "$log"; then
        echo "passed: $target: $(grep '^Done ' "$log")"
        echo passed >"$dir/$target.verdict"
    else
        echo "found something: $target"
        echo failed >"$dir/$target.verdict"
    fi
}

# fuzz_finding TARGET: prints the error, and the command that repeats it.
fuzz_finding() {
    local target=$1 dir
    dir=$(build_dir fuzz)
    grep -E 'ERROR:|runtime error|what\(\)|SUMMARY' "$dir/$target.log" || tail -n 20 "$dir/$target.log"
    echo "see $dir/$target.log; the input is in $dir/findings/, and repeated by"
    echo "  WEIR_FUZZ_TARGET=$target $(fuzz_program)" \
        "$(ls -t "$dir/findings/$target-"* 2>/dev/null | head -n 1)"
}
