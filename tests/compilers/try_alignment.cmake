# SPDX-License-Identifier: MIT
#
# Compiles one case of SOURCE, WHAT, with a type that is aligned to 16 bytes, which must work, and
# with one that is aligned to 32, which must fail and say why.

foreach(alignment IN ITEMS 16 32)
    execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only "-DIN_${WHAT}"
            "-DALIGNMENT=${alignment}" "-I${INCLUDE}" "${SOURCE}"
        RESULT_VARIABLE result OUTPUT_VARIABLE log ERROR_VARIABLE log)
    if(alignment EQUAL 16 AND NOT result STREQUAL "0")
        message(FATAL_ERROR "does not compile with an alignment of 16:\n${log}")
    elseif(alignment EQUAL 32 AND result STREQUAL "0")
        message(FATAL_ERROR "compiles, though the value would be misaligned")
    elseif(alignment EQUAL 32 AND NOT log MATCHES "aligned to more than 16 bytes")
        message(FATAL_ERROR "fails without the explanation:\n${log}")
    endif()
endforeach()
