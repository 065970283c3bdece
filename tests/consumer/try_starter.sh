#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds and runs a copy of examples/starter in a temporary folder, as a user would.
#
#   try_starter.sh installed_package|fetch_content SOURCE_DIR BUILD_DIR CXX_COMPILER
set -euo pipefail

way=$1 source_dir=$2 build_dir=$3 compiler=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source_dir/examples/starter" "$work/starter"

configure() {
    cmake -S "$work/starter" -B "$work/build" -G Ninja \
        -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release "$@"
}

configure_with_installed_package() {
    cmake --install "$build_dir" --prefix "$work/prefix" >"$work/install.log"
    configure -DCMAKE_PREFIX_PATH="$work/prefix" -DWEIR_SOURCE_DIR=
}

# As a shared library, which the installed package is not: both kinds get tried.
configure_with_fetch_content() {
    configure -DCMAKE_DISABLE_FIND_PACKAGE_weir=ON -DWEIR_SOURCE_DIR="$source_dir" \
        -DBUILD_SHARED_LIBS=ON
}

# A component that is not there must be named, not end in a missing target later.
check_message_for_missing_component() {
    mkdir "$work/missing"
    cat >"$work/missing/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(missing LANGUAGES CXX)
find_package(weir REQUIRED COMPONENTS core no_such_part)
CMAKE
    if cmake -S "$work/missing" -B "$work/missing/build" -G Ninja \
        -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix" \
        >"$work/missing.log" 2>&1; then
        echo "find_package accepted a component that does not exist" >&2
        return 1
    fi
    grep -q "without 'no_such_part'" "$work/missing.log" || {
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

"configure_with_$way"
cmake --build "$work/build"
"$work/build/starter"
ctest --test-dir "$work/build" --output-on-failure --no-tests=error
if [[ $way == installed_package ]]; then
    check_message_for_missing_component
    build_with_io
    build_with_http
fi
