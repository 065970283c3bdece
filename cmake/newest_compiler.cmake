# SPDX-License-Identifier: MIT
#
# A toolchain file for the presets newest-gcc and newest-clang: it sets CMAKE_CXX_COMPILER to the
# newest compiler of the family WEIR_NEWEST_COMPILER, `gcc` or `clang`, that is in the PATH. These
# presets show what a coming compiler does with Weir before Debian makes it the default.

# weir_find_newest(<variable> <command>): the command in the PATH with the highest major version, by
# its name (`g++-13`) or, without a number in the name, by what it says of itself.
function(weir_find_newest variable command)
    string(REPLACE "+" "\\+" pattern "${command}")
    set(newest "")
    set(newest_version -1)
    string(REPLACE ":" ";" folders "$ENV{PATH}")
    foreach(folder IN LISTS folders)
        file(GLOB candidates "${folder}/${command}" "${folder}/${command}-*")
        foreach(candidate IN LISTS candidates)
            cmake_path(GET candidate FILENAME name)
            if(name MATCHES "^${pattern}-([0-9]+)$")
                set(version "${CMAKE_MATCH_1}")
            elseif(name STREQUAL command)
                execute_process(COMMAND "${candidate}" -dumpversion
                    OUTPUT_VARIABLE version ERROR_QUIET)
                string(REGEX MATCH "^[0-9]+" version "${version}")
            else()
                continue()  # g++-12.real and the like
            endif()
            if(version GREATER newest_version)
                set(newest "${candidate}")
                set(newest_version "${version}")
            endif()
        endforeach()
    endforeach()
    set(${variable} "${newest}" PARENT_SCOPE)
endfunction()

if(WEIR_NEWEST_COMPILER STREQUAL "gcc")
    weir_find_newest(found g++)
elseif(WEIR_NEWEST_COMPILER STREQUAL "clang")
    weir_find_newest(found clang++)
else()
    message(FATAL_ERROR "WEIR_NEWEST_COMPILER is '${WEIR_NEWEST_COMPILER}', not gcc or clang")
endif()
if(NOT found)
    message(FATAL_ERROR "no ${WEIR_NEWEST_COMPILER} is installed")
endif()
if(NOT DEFINED CMAKE_CXX_COMPILER)
    message(STATUS "weir: the newest ${WEIR_NEWEST_COMPILER} is ${found}")
    set(CMAKE_CXX_COMPILER "${found}")
elseif(NOT CMAKE_CXX_COMPILER STREQUAL found)
    message(FATAL_ERROR "${found} is newer than ${CMAKE_CXX_COMPILER}, which this build folder was"
        " configured with: delete the folder")
endif()
# try_compile reads this file again, in a project of its own.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WEIR_NEWEST_COMPILER)
