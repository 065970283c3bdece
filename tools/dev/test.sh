# SPDX-License-Identifier: MIT
#
# The commands that run tests: test, semantics, soak.

# Sanitizers make everything some ten times slower.
test_timeout() {
    case $1 in
        asan | tsan) echo 300 ;;
        *) echo 120 ;;
    esac
}

# Its last line is always 'N passed, N failed, N skipped'; a build that fails is one failed.
command_test() {
    local preset=gcc-release ctest_options=()
    while (($#)); do
        case $1 in
            --preset)
                preset=${2:?--preset needs a name}
                shift
                ;;
            --preset=*) preset=${1#--preset=} ;;
            *) ctest_options+=("$1") ;;
        esac
        shift
    done
    check_preset "$preset"
    # shellcheck disable=SC2046
    ensure_packages $(packages_of_preset "$preset")
    if ! configure "$preset" -DWEIR_TEST_TIMEOUT="$(test_timeout "$preset")" || ! build "$preset"; then
        say "The build failed ($preset)."
        echo "0 passed, 1 failed, 0 skipped"
        return 1
    fi
    run_ctest "$preset" "${ctest_options[@]}"
}

# run_ctest PRESET [CTEST_OPTION...]: runs the tests and counts their results.
run_ctest() {
    local preset=$1 results status=0
    shift
    results=$(build_dir "$preset")/test_results.xml
    rm -f "$results"
    (cd "$root" && ctest --preset "$preset" --parallel "$(jobs_to_use)" \
        --output-junit "$results" "$@") || status=$?
    python3 "$root/tools/dev/count_results.py" "$results" --ctest-status "$status"
}

command_semantics() {
    ensure_packages run test
    configure gcc-release && build gcc-release weir_semantics_tests >&2 ||
        die "the semantics tests do not build."
    python3 "$root/tools/dev/semantics_report.py" \
        --program "$(build_dir gcc-release)/tests/weir_semantics_tests" \
        --ids "$root/tests/semantics/ids.txt" --jobs "$(jobs_to_use)" "$@"
}

# Every test that explores schedules runs 1000 of them, stress tests run at full length. Tests of
# the project itself are left out, since ./dev test has run them. The configuration Soak has the
# test that runs the commands of the README in a fresh clone.
command_soak() {
    ensure_packages run test soak
    configure gcc-release -DWEIR_TEST_TIMEOUT=3600 && build gcc-release || die "the build failed."
    WEIR_SCHEDULES=${WEIR_SCHEDULES:-1000} WEIR_STRESS=${WEIR_STRESS:-1} \
        run_ctest gcc-release -C Soak --label-exclude '^(project|examples)$' "$@"
}
