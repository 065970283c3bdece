# SPDX-License-Identifier: MIT
#
# cmake -DPROGRAM=<program> -DARGUMENTS=<list> -DINPUT=<file> -DEXPECTED=<file> -P
# run_example.cmake: runs the program with that input, and fails where it does or where its output
# is not the text of the file. A missing file is no input, and expects nothing.

if(NOT EXISTS "${INPUT}")
    set(INPUT /dev/null)
endif()
execute_process(COMMAND "${PROGRAM}" ${ARGUMENTS}
    INPUT_FILE "${INPUT}"
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors
    RESULT_VARIABLE result)
if(NOT result STREQUAL "0")
    message(FATAL_ERROR "ended with ${result}\n--- output ---\n${output}--- errors ---\n${errors}")
endif()
if(NOT EXISTS "${EXPECTED}")
    return()
endif()

# Quoted whole: a list would lose its semicolons.
file(READ "${EXPECTED}" expected)
if(NOT "${output}" STREQUAL "${expected}")
    execute_process(COMMAND mktemp OUTPUT_VARIABLE actual OUTPUT_STRIP_TRAILING_WHITESPACE)
    file(WRITE "${actual}" "${output}")
    execute_process(COMMAND diff -u --label expected --label actual "${EXPECTED}" "${actual}"
        OUTPUT_VARIABLE difference)
    file(REMOVE "${actual}")
    message(FATAL_ERROR "the output differs from ${EXPECTED}:\n${difference}")
endif()
