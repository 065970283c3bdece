# SPDX-License-Identifier: MIT
#
#   weir_embed_assets(<target> <folder> [NAME <name>] [FILES <file>...])
#
# makes the files of the folder, and of the folders in it, part of the target. "<name>.hpp", which
# the target can include, declares
#
#   std::span<const weir::http::asset> <name>();
#
# for weir::http::assets(). The name is that of the folder unless another is given, in letters,
# digits and underscores. Files whose names begin with a dot are left out. An ETag is the hash of
# what is in the file, so that it stays the same from build to build. It takes CMake alone; the
# files are read again when one of them has changed, or when CMake finds another one.
#
# FILES names the files, relative to the folder, instead of searching for them: the outputs of an
# add_custom_command of the same CMakeLists.txt need not exist before the build.

function(weir_embed_assets target folder)
    cmake_parse_arguments(PARSE_ARGV 2 embed "" "NAME" "FILES")
    cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    string(REGEX REPLACE "/+$" "" folder "${folder}")
    if(NOT embed_FILES AND NOT IS_DIRECTORY "${folder}")
        message(FATAL_ERROR "weir_embed_assets(${target}): there is no folder ${folder}")
    endif()
    if(NOT embed_NAME)
        cmake_path(GET folder FILENAME embed_NAME)
    endif()
    if(NOT embed_NAME MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
        message(FATAL_ERROR "weir_embed_assets(${target} ${folder}): '${embed_NAME}' cannot be the"
            " name of a function; give another one with NAME")
    endif()

    set(made "${CMAKE_CURRENT_BINARY_DIR}/${target}_assets/${embed_NAME}")
    set(files ${embed_FILES})
    if(NOT embed_FILES)
        file(GLOB_RECURSE files LIST_DIRECTORIES FALSE CONFIGURE_DEPENDS RELATIVE "${folder}"
            "${folder}/*")
        list(FILTER files EXCLUDE REGEX "(^|/)\\.")
    endif()
    list(SORT files)
    foreach(file IN LISTS files)
        # A semicolon cuts a name into two that do not exist.
        if(file MATCHES "[]\"\\[$]" OR NOT (embed_FILES OR EXISTS "${folder}/${file}"))
            message(FATAL_ERROR "weir_embed_assets(${target} ${folder}): '${file}' is a name that"
                " CMake cannot handle: no quotes, semicolons, brackets, dollars or backslashes")
        endif()
    endforeach()
    list(TRANSFORM files PREPEND "${folder}/" OUTPUT_VARIABLE depends)
    # Here, and not with the contents: who includes it need not be compiled again when those change.
    file(CONFIGURE OUTPUT "${made}.hpp" @ONLY CONTENT [[
// SPDX-License-Identifier: MIT
// Made by weir_embed_assets.
#pragma once

#include <weir/http/assets.hpp>

#include <span>

std::span<const weir::http::asset> @embed_NAME@();
]])
    # In a file, which changes with the list: a file that is gone is no dependency that could tell.
    list(JOIN files "\n" lines)
    file(CONFIGURE OUTPUT "${made}.list" CONTENT "${lines}\n" @ONLY)
    set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/weir_embed_script.cmake")
    add_custom_command(
        OUTPUT "${made}.cpp"
        COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${folder}" "-DNAME=${embed_NAME}" "-DMADE=${made}"
            -P "${script}"
        DEPENDS "${script}" "${made}.list" ${depends}
        COMMENT "Embedding ${embed_NAME}"
        VERBATIM)
    target_sources(${target} PRIVATE "${made}.cpp" "${made}.hpp")
    target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/${target}_assets")
endfunction()
