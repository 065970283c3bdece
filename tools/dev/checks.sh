# SPDX-License-Identifier: MIT
#
# What can keep a build or the service from working, each found early and said in one sentence.

oldest_gcc=12
oldest_cmake=3.25

# check_build PRESET MEGABYTES: the compiler and CMake are new enough, the disk has room.
check_build() {
    case $1 in
        gcc-*) check_gcc ;;
    esac
    check_cmake
    check_disk "$1" "$2"
}

check_gcc() {
    local version
    command -v g++ >/dev/null ||
        die "there is no C++ compiler: g++ is not in PATH; install GCC $oldest_gcc or newer."
    version=$(g++ -dumpfullversion -dumpversion 2>/dev/null) ||
        die "the compiler does not work: 'g++ -dumpfullversion' fails."
    is_at_least "$version" "$oldest_gcc" ||
        die "the compiler is too old: g++ is version $version, and Weir needs $oldest_gcc or newer."
}

check_cmake() {
    local version
    version=$(cmake --version 2>/dev/null | sed -n 's/^cmake version //p')
    is_at_least "$version" "$oldest_cmake" ||
        die "CMake is too old: it is version $version, and Weir needs $oldest_cmake or newer."
}

# is_at_least VERSION LEAST
is_at_least() {
    [[ $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]
}

# check_disk PRESET MEGABYTES: that much is free where the build goes; a tenth if it has been built
# before.
check_disk() {
    local free needed=$2
    [[ -e $(build_dir "$1")/.ninja_log ]] && needed=$(($2 / 10))
    free=$(($(df -Pk "$root" | awk 'NR == 2 { print $4 }') / 1024))
    ((free >= needed)) ||
        die "the disk is too full: $free MB are free for $root, and the build needs $needed MB."
}

# check_port OPTION...: nothing listens yet at the address of `weir serve` with these options.
check_port() {
    local port=${WEIR_PORT:-8080} listen=${WEIR_LISTEN:-}
    while (($#)); do
        case $1 in
            -l | --listen) listen=${2:-} ;;
            --listen=*) listen=${1#*=} ;;
            -p | --port) port=${2:-} listen='' ;;
            --port=*) port=${1#*=} listen='' ;;
            -c | --config | --config=* | --check | -h | --help) return ;;
        esac
        shift
    done
    case $listen in
        '' | 127.0.0.1 | localhost) ;;
        127.0.0.1:* | localhost:*) port=${listen##*:} ;;
        *[!0-9]*) return ;;  # `weir serve` finds out itself
        *) port=$listen ;;
    esac
    [[ $port =~ ^[0-9]+$ ]] && ((port > 0 && port < 65536)) || return 0
    if timeout 2 bash -c "exec 3<>/dev/tcp/127.0.0.1/$port" 2>/dev/null; then
        die "another program uses port $port (a running ./dev run?): stop it, or choose another" \
            "port: ./dev run --port $((port < 65535 ? port + 1 : port - 1))"
    fi
}

# explain_failure LOG: one sentence if the log shows why a build failed.
explain_failure() {
    if grep -q 'No space left on device' "$1"; then
        say "dev: the disk is full: make room on $(df -P "$root" | awk 'NR == 2 { print $6 }')" \
            "and run the command again; what is built is kept."
    elif grep -Eq 'Killed signal terminated program|out of memory' "$1"; then
        say "dev: the memory is used up: run the command again with fewer jobs, WEIR_JOBS=1."
    elif grep -q 'is not able to compile a simple test program' "$1"; then
        say "dev: the compiler does not work: it cannot compile an empty program, see above."
    fi
}
