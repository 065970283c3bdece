# SPDX-License-Identifier: MIT
#
# Compiles SOURCE with COMPILER to PROGRAM, without optimisation, runs it, and compares what came of
# it, `works` or `broken`, with EXPECTED. A compiler that crashes, a program that crashes and one
# that does not end are broken.

get_filename_component(name "${SOURCE}" NAME_WE)
set(found broken)
execute_process(COMMAND "${COMPILER}" -std=c++20 -O0 -o "${PROGRAM}" "${SOURCE}"
    RESULT_VARIABLE compiled OUTPUT_VARIABLE log ERROR_VARIABLE log TIMEOUT 60)
if(compiled STREQUAL "0")
    execute_process(COMMAND "${PROGRAM}" RESULT_VARIABLE ran OUTPUT_VARIABLE log ERROR_VARIABLE log
        TIMEOUT 30)
    if(ran STREQUAL "0")
        set(found works)
    endif()
elseif(NOT log MATCHES "internal compiler error|PLEASE submit a bug report|array used as initializer" AND NOT compiled MATCHES "timeout")
    message(FATAL_ERROR "${name} is not a valid program:\n${log}")
endif()

message(STATUS "${name}: ${found}")
if(EXPECTED STREQUAL "anything" OR EXPECTED STREQUAL found)
    return()
endif()
if(found STREQUAL "works")
    message(FATAL_ERROR "${name} works with ${COMPILER} now. Take it off the list in"
        " tests/compilers/CMakeLists.txt, and see docs/compilers.md.")
endif()
message(FATAL_ERROR "${name} is broken with ${COMPILER}:\n${log}")
