# SPDX-License-Identifier: MIT
#
# The commands that run tests: test, semantics, soak.

# What a build of all tests takes on the disk.
tests_megabytes=2500

# Sanitizers make everything some ten times slower.
test_timeout() {
    case $1 in
        asan | tsan) echo 300 ;;
        *) echo 120 ;;
    esac
}

# Its last line is always 'N passed, N failed, N skipped'; a build that fails is one failed.
command_test() {
    local preset=gcc-release regex='' ctest_options=()
    while (($#)); do
        case $1 in
            --preset)
                preset=${2:?--preset needs a name}
                shift
                ;;
            --preset=*) preset=${1#--preset=} ;;
            -R | --tests-regex)
                regex=${2:?-R needs a regular expression}
                ctest_options+=(-R "$2")
                shift
                ;;
            *) ctest_options+=("$1") ;;
        esac
        shift
    done
    check_preset "$preset"
    # shellcheck disable=SC2046
    ensure_packages $(packages_of_preset "$preset")
    check_build "$preset" "$tests_megabytes"
    if ! configure "$preset" -DWEIR_TEST_TIMEOUT="$(test_timeout "$preset")"; then
        build_failed "$preset"
    elif chooses_by_number "${ctest_options[@]}"; then
        build "$preset" || build_failed "$preset" || return 1
        run_ctest "$preset" "${ctest_options[@]}"
    else
        run_in_order "$preset" "$regex" "${ctest_options[@]}"
    fi
}

build_failed() {
    say "The build failed ($1)."
    echo "0 passed, 1 failed, 0 skipped"
    return 1
}

# chooses_by_number [CTEST_OPTION...]: the options do not go with stages, which are lists of
# numbers themselves.
chooses_by_number() {
    [[ " $* " =~ \ (-I|--tests-information|-U|--union|--rerun-failed|-N|--show-only)[\ =] ]]
}

# run_in_order PRESET REGEX [CTEST_OPTION...]: builds what the tests need and runs them: those that
# failed last time, those closest to the changes, then the others, which are built only then (see
# test_plan.py). With a REGEX only programs are built that can have tests of such names.
run_in_order() {
    local preset=$1 regex=$2 dir rest=rest started targets=all first='' results=() status=0
    shift 2
    dir=$(build_dir "$preset")
    started=$(date +%s)
    rm -f "$dir"/test_results*.xml
    list_tests "$preset" "$@"
    if [[ -n $regex ]]; then
        targets=$(plan targets "$dir" "$dir/test_list.txt" "$regex") || targets=all
        [[ $targets == all ]] || rest=matching
    fi
    first=$(plan first "$dir" "$dir/test_list.txt") || true
    if [[ -n $first ]]; then
        # shellcheck disable=SC2086
        build "$preset" $first || build_failed "$preset" || return 1
        list_tests "$preset" "$@"
        run_stage failed "$preset" "$@"
        run_stage affected "$preset" "$@"
    fi
    if [[ -n $targets ]]; then
        # shellcheck disable=SC2086
        build "$preset" $targets || build_failed "$preset" || return 1
        list_tests "$preset" "$@"
    fi
    run_stage "$rest" "$preset" "$@"
    if ((${#results[@]} == 0)); then
        run_ctest "$preset" "$@"  # reports that it finds no test
        return
    fi
    plan record "$dir" "$started" "${results[@]}"
    python3 "$root/tools/dev/count_results.py" "${results[@]}" --ctest-status "$status"
}

plan() {
    python3 "$root/tools/dev/test_plan.py" "$@"
}

# list_tests PRESET [CTEST_OPTION...]: the tests that ctest would run, into test_list.txt.
list_tests() {
    local preset=$1
    shift
    (cd "$root" && ctest --preset "$preset" -N "$@") >"$(build_dir "$preset")/test_list.txt" 2>&1 ||
        true
}

# run_stage STAGE PRESET [CTEST_OPTION...]: part of run_in_order, whose results and status it
# changes.
run_stage() {
    local stage=$1 preset=$2 dir headline file jobs
    shift 2
    jobs=$(test_jobs_to_use)
    dir=$(build_dir "$preset")
    file=$dir/test_results_$stage.xml
    if ((status)) && [[ " $* " == *' --stop-on-failure '* ]]; then
        return
    fi
    headline=$(plan stage "$dir" "$dir/test_list.txt" "$jobs" "$stage" "${results[@]}")
    [[ -n $headline ]] || return 0
    say "$bold$headline$plain"
    (cd "$root" && ctest --preset "$preset" --parallel "$jobs" --output-junit "$file" \
        -I "$dir/test_stage.txt" "$@") || status=$?
    results+=("$file")
}

# run_ctest PRESET [CTEST_OPTION...]: runs the tests and counts their results.
run_ctest() {
    local preset=$1 results status=0
    shift
    results=$(build_dir "$preset")/test_results.xml
    rm -f "$results"
    (cd "$root" && ctest --preset "$preset" --parallel "$(test_jobs_to_use)" \
        --output-junit "$results" "$@") || status=$?
    python3 "$root/tools/dev/count_results.py" "$results" --ctest-status "$status"
}

command_semantics() {
    ensure_packages run test
    configure gcc-release && build gcc-release weir_semantics_tests ||
        die "the semantics tests do not build."
    python3 "$root/tools/dev/semantics_report.py" \
        --program "$(build_dir gcc-release)/tests/weir_semantics_tests" \
        --ids "$root/tests/semantics/ids.txt" --jobs "$(jobs_to_use)" "$@"
}

# Every test that explores schedules runs 1000 of them, stress tests run at full length. Tests of
# the project itself are left out, since ./dev test has run them. The configuration Soak has the
# test that runs the commands of the README in a fresh clone. Options go to ctest, and ask for tests
# only; without any, faults are tried too.
command_soak() {
    local status=0
    ensure_packages run test soak
    configure gcc-release -DWEIR_TEST_TIMEOUT=3600 && build gcc-release || die "the build failed."
    if (($# == 0)); then
        mutate --count 300 --at-least 85 || status=1
    fi
    WEIR_SCHEDULES=${WEIR_SCHEDULES:-1000} WEIR_STRESS=${WEIR_STRESS:-1} \
        run_ctest gcc-release -C Soak --label-exclude '^(project|examples)$' "$@" || status=$?
    return "$status"
}
