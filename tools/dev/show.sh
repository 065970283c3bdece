# SPDX-License-Identifier: MIT
#
# The commands that show results: run, bench, docs; and those that process sources: format, tidy.

# What the program takes to build from nothing with GCC 12.
program_megabytes=400
program_cpu_seconds=205

# The main command: runs the task service, on a database of its own below build/. Options go to
# `weir serve`.
command_run() {
    local program database=$root/build/run/tasks.db
    program=$(build_dir gcc-release)/tools/weir/weir
    check_port "$@"
    step 1 4 "Packages"
    ensure_packages run
    check_build gcc-release "$program_megabytes"
    step 2 4 "Configuring"
    # Tests and examples that cannot be built are no news to somebody who wants the service.
    configure gcc-release | sed -E '/weir: no |weir::testing/d' >&2 ||
        die "CMake could not configure the build; its output is above."
    step 3 4 "Building the program$(build_estimate "$program")"
    build gcc-release weir || die "the program does not build."
    step 4 4 "Starting the service; ^C stops it, and its tasks stay in ${database#"$PWD/"}"
    mkdir -p "$root/build/run"
    exec "${program#"$PWD/"}" serve --database "${database#"$PWD/"}" "$@"
}

# build_estimate FILE: how long the build takes if the file is not there yet.
build_estimate() {
    [[ -e $1 ]] ||
        echo ", about $(duration $((program_cpu_seconds / $(jobs_to_use)))) from nothing"
}

# Several nodes on a database of their own, below build/.
command_cluster() {
    ensure_packages run cluster
    check_build gcc-release "$program_megabytes"
    { configure gcc-release && build gcc-release weir; } >&2 || die "the program does not build."
    exec python3 "$root/tools/dev/cluster/cluster.py" --folder "$root/build/cluster" \
        --program "$(build_dir gcc-release)/tools/weir/weir" "$@"
}

# A tour of the examples.
command_examples() {
    ensure_packages run
    configure gcc-release && build gcc-release weir_examples || die "the examples do not build."
    local source name program
    for source in "$root"/examples/*.cpp; do
        name=$(basename "$source" .cpp)
        program=$(build_dir gcc-release)/examples/$name
        # An example is not built if its libraries are missing; configuring has reported that.
        [[ -x $program ]] || continue
        play_example "$name" "$(headline_of "$source")" "$program"
    done
}

# The first line of comment that is not the licence.
headline_of() {
    sed -n '/SPDX/d; s,^// *\(..*\),\1,p' "$1" | head -n 1
}

play_example() {
    local name=$1 headline=$2 program=$3
    printf '\n%s== %s%s  %s\n' "$bold" "$name" "$plain" "$headline"
    "$program" || die "example '$name' ended with $?."
}

command_bench() {
    ensure_packages run bench
    configure gcc-release && build gcc-release weir_bench >&2 || die "the benchmarks do not build."
    (cd "$root" && python3 bench/run.py "$@")
}

# The documentation as a site, by Debian's own Python, which has the packages.
command_docs() {
    case ${1:---html} in
        --html) ;;
        *) die "docs knows: --html; not '$1'." ;;
    esac
    ensure_packages docs
    local site=$root/build/site
    /usr/bin/python3 "$root/tools/dev/site/build.py" "$root" "$site" &&
        python3 "$root/tests/docs/site_links.py" "$site" || die "the documentation has errors."
}

# The C++ files that git knows, or would take.
cpp_files() {
    git -C "$root" ls-files --cached --others --exclude-standard -- '*.hpp' '*.cpp' |
        while read -r file; do [[ -e $root/$file ]] && echo "$file"; done
}

command_format() {
    ensure_packages format
    local mode=(-i)
    if [[ ${1:-} == --check ]]; then
        mode=(--dry-run --Werror)
    fi
    (cd "$root" && cpp_files | xargs -r -d '\n' clang-format-19 "${mode[@]}")
}

command_tidy() {
    ensure_packages run test clang tidy
    configure clang >&2 || die "configuring failed."
    local files=("$@")
    ((${#files[@]})) || mapfile -t files < <(cpp_files | grep '^src/.*\.cpp$')
    (cd "$root" && printf '%s\n' "${files[@]}" |
        xargs -r -d '\n' -n 1 -P "$(jobs_to_use)" clang-tidy-19 --quiet -p "$(build_dir clang)")
}
