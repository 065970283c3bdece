#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds and runs a copy of examples/starter in a temporary folder, as a user would.
#
#   try_starter.sh WAY SOURCE_DIR BUILD_DIR CXX_COMPILER
#
# The ways: fetch_content; or an installation of all that was built (installed_package), of what is
# there when only the program was built (installed_after_run), or from the preset `library`
# (installed_library). The last two take the archives of BUILD_DIR instead of building them again.
set -euo pipefail

way=$1 source_dir=$2 build_dir=$3 compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source_dir/examples/starter" "$work/starter"

configure() {
    cmake -S "$work/starter" -B "$work/build" -G Ninja \
        -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release "$@"
}

# configure_with_install_of BUILD_DIR
configure_with_install_of() {
    cmake --install "$1" --prefix "$work/prefix" >"$work/install.log"
    configure -DCMAKE_PREFIX_PATH="$work/prefix" -DWEIR_SOURCE_DIR=
}

configure_with_installed_package() {
    configure_with_install_of "$build_dir"
}

configure_with_installed_after_run() {
    cmake -S "$source_dir" --preset gcc-release -B "$work/after_run" \
        -DCMAKE_CXX_COMPILER="$compiler" -DWEIR_DASHBOARD=OFF -DWEIR_TEST_AREAS=consumer
    local built
    for built in $(ninja -C "$build_dir" -t inputs weir | grep '^libweir_[a-z_]*\.a$'); do
        cp "$build_dir/$built" "$work/after_run/"
    done
    cp "$build_dir/tools/weir/weir" "$work/after_run/tools/weir/"
    configure_with_install_of "$work/after_run"
}

configure_with_installed_library() {
    cmake -S "$source_dir" --preset library -B "$work/library" -DCMAKE_CXX_COMPILER="$compiler"
    cp "$build_dir"/libweir_*.a "$work/library/"
    configure_with_install_of "$work/library"
}

# As a shared library, which the installed package is not: both kinds get tried.
configure_with_fetch_content() {
    configure -DCMAKE_DISABLE_FIND_PACKAGE_weir=ON -DWEIR_SOURCE_DIR="$source_dir" \
        -DBUILD_SHARED_LIBS=ON -DWEIR_UNITY=ON
    # The headers give no warnings in the build of their user.
    grep -q -- "-isystem $source_dir/include" "$work/build/build.ninja"
}

# check_message_for_missing COMPONENT: a component that is not installed must be named, not end in a
# missing target later.
check_message_for_missing() {
    rm -rf "$work/missing"
    mkdir "$work/missing"
    cat >"$work/missing/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(missing LANGUAGES CXX)
find_package(weir REQUIRED COMPONENTS core ${MISSING})
CMAKE
    if cmake -S "$work/missing" -B "$work/missing/build" -G Ninja \
        -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix" -DMISSING="$1" \
        >"$work/missing.log" 2>&1; then
        echo "find_package accepted '$1', which is not installed" >&2
        return 1
    fi
    grep -q "without '$1'" "$work/missing.log" || {
        echo "find_package failed without naming the missing component:" >&2
        cat "$work/missing.log" >&2
        return 1
    }
}

# The layer with third-party libraries: the package finds them itself.
build_with_io() {
    mkdir "$work/io"
    cat >"$work/io/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(uses_io LANGUAGES CXX)
find_package(weir REQUIRED COMPONENTS io)
add_executable(uses_io main.cpp)
target_link_libraries(uses_io PRIVATE weir::io)
CMAKE
    cat >"$work/io/main.cpp" <<'CPP'
#include <weir/io/io.hpp>
#include <weir/run.hpp>

weir::task<> meet() {
    weir::io::listener door = weir::io::listen(weir::io::address::loopback(0));
    weir::io::socket client = co_await weir::io::connect(door.local_address());
    weir::io::socket server = co_await door.accept();
}

int main() {
    return weir::run_main(meet());
}
CPP
    cmake -S "$work/io" -B "$work/io/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix"
    cmake --build "$work/io/build"
    "$work/io/build/uses_io"
}

# A page that becomes part of the program, with what the package brings for it.
build_with_http() {
    if [[ -z $(find "$work/prefix" -name weir-http-targets.cmake) ]]; then
        echo "weir::http was not built: nothing to try"
        return
    fi
    mkdir -p "$work/http/web"
    echo "<p>embedded" >"$work/http/web/index.html"
    cat >"$work/http/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(uses_http LANGUAGES CXX)
find_package(weir REQUIRED COMPONENTS http)
add_executable(uses_http main.cpp)
target_link_libraries(uses_http PRIVATE weir::http)
weir_embed_assets(uses_http web)
CMAKE
    cat >"$work/http/main.cpp" <<'CPP'
#include "web.hpp"

#include <weir/run.hpp>

#include <cstdio>

weir::task<> ask() {
    weir::http::handler site = weir::http::assets(web());
    weir::http::request asked(weir::http::method::get, "/");
    const weir::http::response answer = co_await site(asked);
    std::printf("%s", std::string(answer.body().text()).c_str());
}

int main() {
    return weir::run_main(ask());
}
CPP
    cmake -S "$work/http" -B "$work/http/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix"
    cmake --build "$work/http/build"
    [[ $("$work/http/build/uses_http") == "<p>embedded" ]]
}

# The whole program with a handler: its library, with all under it, from the package.
build_with_program() {
    if [[ -z $(find "$work/prefix" -name weir-program-targets.cmake) ]]; then
        echo "weir::program was not built: nothing to try"
        return
    fi
    mkdir "$work/program"
    cp "$source_dir/examples/service_program.cpp" "$work/program/main.cpp"
    cat >"$work/program/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(greeter LANGUAGES CXX)
find_package(weir REQUIRED COMPONENTS program)
add_executable(greeter main.cpp)
target_link_libraries(greeter PRIVATE weir::program)
CMAKE
    cmake -S "$work/program" -B "$work/program/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH="$work/prefix"
    cmake --build "$work/program/build"
    local greeter=$work/program/build/greeter socket=$work/program/greeter.sock
    [[ $("$greeter" --version) == "greeter 1.0" ]]
    "$greeter" serve --listen "unix:$socket" --database "$work/program/tasks.db" >/dev/null &
    local service=$!
    local tries=0
    until [[ -S $socket ]]; do
        ((++tries < 300)) && kill -0 "$service" || { echo "greeter does not listen" >&2; exit 1; }
        sleep 0.1
    done
    local kinds=$(curl -sS --unix-socket "$socket" http://localhost/kinds)
    kill "$service"
    wait "$service"
    [[ $kinds == *'"greet"'* && $kinds == *'"http"'* ]] || { echo "kinds: $kinds" >&2; exit 1; }
}

# A program on weir::io with pkg-config and a compiler, where pkg-config is installed.
build_with_pkg_config() {
    if ! command -v pkg-config >/dev/null; then
        echo "pkg-config is not installed: not tried"
        return
    fi
    local modules=$(find "$work/prefix" -name pkgconfig -type d)
    local flags=(env PKG_CONFIG_PATH="$modules" pkg-config)
    local file
    for file in "$modules"/weir-*.pc; do
        "${flags[@]}" --cflags --libs "$(basename "$file" .pc)" >/dev/null
    done
    # shellcheck disable=SC2046
    "$compiler" -std=c++20 "$work/io/main.cpp" -o "$work/io/with_pkg_config" \
        $("${flags[@]}" --cflags --libs weir-io)
    "$work/io/with_pkg_config"
}

# check_program: it runs, and its manual pages are where `man` looks.
check_program() {
    "$work/prefix/bin/weir" --version
    [[ -e $work/prefix/share/man/man1/weir.1 && -e $work/prefix/share/man/man5/weir.toml.5 ]]
}

"configure_with_$way"
cmake --build "$work/build"
"$work/build/starter"
if [[ $way == installed_after_run ]]; then
    check_message_for_missing testing
    check_program
else
    ctest --test-dir "$work/build" --output-on-failure --no-tests=error
fi
if [[ $way == installed_* ]]; then
    check_message_for_missing no_such_part
    build_with_io
    build_with_pkg_config
fi
if [[ $way == installed_package ]]; then
    build_with_http
    build_with_program
fi
