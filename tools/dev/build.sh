# SPDX-License-Identifier: MIT
#
# Configuring and building a preset of CMakePresets.json.

build_dir() {
    echo "$root/build/$1"
}

# packages_of_preset PRESET: the package lists that building and testing with it needs.
packages_of_preset() {
    case $1 in
        clang | asan | tsan) echo run test clang ;;
        newest-clang) echo run test newest ;;
        *) echo run test ;;
    esac
}

check_preset() {
    case $1 in
        gcc-release | gcc-debug | clang | asan | tsan | newest-gcc | newest-clang) ;;
        *)
            die "there is no preset '$1'; there are gcc-release, gcc-debug, clang, asan, tsan," \
                "newest-gcc, newest-clang."
            ;;
    esac
}

# configure PRESET [CMAKE_OPTION...]: prints the lines about weir and the benchmarks, or all output
# if it fails.
configure() {
    local preset=$1 log
    shift
    log=$(build_dir "$preset")/configure.log
    mkdir -p "${log%/*}"
    cmake -S "$root" --preset "$preset" "$@" >"$log" 2>&1 || {
        cat "$log" >&2
        explain_failure "$log"
        return 1
    }
    grep -E '^-- (weir|bench)' "$log" || true
}

# build PRESET [TARGET...]: with WEIR_JOBS jobs, or one per processor by default.
build() {
    local preset=$1 log
    shift
    log=$(build_dir "$preset")/build.log
    # The placeholders that all versions of ninja have; show_build makes an estimate of them.
    NINJA_STATUS='[%f/%t %e] ' cmake --build "$(build_dir "$preset")" --target "${@:-all}" \
        --parallel "$(jobs_to_use)" 2>&1 | show_build "$log" || {
        explain_failure "$log"
        return 1
    }
}

jobs_to_use() {
    echo "${WEIR_JOBS:-$(nproc)}"
}

# Tests run at once: many wait for a process, a browser or a clock, so that one per core would leave
# the cores idle for a third of the time.
test_jobs_to_use() {
    local cores
    cores=$(nproc)
    echo "${WEIR_JOBS:-$((cores + (cores + 1) / 2))}"
}
