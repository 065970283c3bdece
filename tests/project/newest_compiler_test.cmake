# SPDX-License-Identifier: MIT
#
# cmake -DFOLDER=<folder> -P newest_compiler_test.cmake: cmake/newest_compiler.cmake takes the
# compiler with the highest number of those in the PATH, which are pretended ones in the folder.

cmake_minimum_required(VERSION 3.25)

function(pretend path version)
    file(WRITE "${path}" "#!/bin/sh\necho ${version}\n")
    file(CHMOD "${path}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

function(expect_newest family expected)
    unset(CMAKE_CXX_COMPILER)
    set(WEIR_NEWEST_COMPILER ${family})
    include("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../cmake/newest_compiler.cmake")
    if(NOT CMAKE_CXX_COMPILER STREQUAL "${FOLDER}/${expected}")
        message(FATAL_ERROR "${family}: found ${CMAKE_CXX_COMPILER}, expected ${expected}")
    endif()
endfunction()

file(REMOVE_RECURSE "${FOLDER}")
set(ENV{PATH} "${FOLDER}/one:${FOLDER}/two:/nowhere")

pretend("${FOLDER}/one/g++" 12)
pretend("${FOLDER}/one/g++-9" 9)
pretend("${FOLDER}/one/g++-99.real" 99)
pretend("${FOLDER}/one/x86_64-linux-gnu-g++-99" 99)
expect_newest(gcc one/g++)
pretend("${FOLDER}/two/g++-13" 13)
expect_newest(gcc two/g++-13)
pretend("${FOLDER}/two/g++" 15.2.0)
expect_newest(gcc two/g++)

pretend("${FOLDER}/one/clang++-19" 19)
pretend("${FOLDER}/two/clang++-22" 22)
expect_newest(clang two/clang++-22)
