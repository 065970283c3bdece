# SPDX-License-Identifier: MIT
#
# The command package: Debian packages of the library and the program.

# Writes weir_VERSION_ARCH.deb and libweir-dev_VERSION_ARCH.deb to build/package. The same commit
# gives the same files.
command_package() {
    local is_checked=0 folder date
    case ${1:-} in
        '') ;;
        --check) is_checked=1 ;;
        *) die "package knows the option --check; not '$1'." ;;
    esac
    ensure_packages run package
    ((!is_checked)) || ensure_packages package-check
    folder=$(build_dir package)
    if date=$(git -C "$root" log -1 --format=%ct 2>/dev/null); then
        export SOURCE_DATE_EPOCH=$date
    fi
    umask 022  # the packages have the modes of the files that are installed
    configure package && build package || die "the packages do not build."
    rm -f "$folder"/*.deb
    (cd "$folder" && cpack >"$folder/cpack.log" 2>&1) || {
        cat "$folder/cpack.log" >&2
        die "CPack failed."
    }
    ((!is_checked)) || check_packages "$folder"
    say "Install them with: apt install ./build/package/*.deb"
    printf '%s\n' "$folder"/*.deb
}

# check_library PREFIX: a program with a handler can be built from the package of the library.
check_library() {
    local work
    work=$(mktemp -d)
    cp "$root/examples/service_program.cpp" "$work/main.cpp"
    cat >"$work/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(greeter LANGUAGES CXX)
find_package(weir REQUIRED COMPONENTS program)
add_executable(greeter main.cpp)
target_link_libraries(greeter PRIVATE weir::program)
CMAKE
    cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$1" >"$work/log" 2>&1 &&
        cmake --build "$work/build" >>"$work/log" 2>&1 &&
        [[ $("$work/build/greeter" --version) == "greeter 1.0" ]] || {
        cat "$work/log" >&2
        die "libweir-dev: examples/service_program.cpp does not build from it."
    }
    rm -rf "$work"
}

# check_packages FOLDER: lintian reports no errors, systemd accepts the unit, and the library can be
# used.
check_packages() {
    local unpacked problems
    lintian --allow-root --fail-on error "$1"/*.deb || die "lintian reports errors."
    unpacked=$(mktemp -d)
    dpkg-deb --extract "$1"/weir_*.deb "$unpacked"
    # The unit names the program where it is going to be installed.
    sed -i "s,=/usr/bin/weir,=$unpacked/usr/bin/weir," "$unpacked/usr/lib/systemd/system/weir.service"
    problems=$(systemd-analyze verify --man=no "$unpacked/usr/lib/systemd/system/weir.service" 2>&1) ||
        die "systemd-analyze verify: $problems"
    [[ -z $problems ]] || die "systemd-analyze verify: $problems"
    dpkg-deb --extract "$1"/libweir-dev_*.deb "$unpacked"
    check_library "$unpacked/usr"
    rm -rf "$unpacked"
}
