# SPDX-License-Identifier: MIT
#
# Compiles SOURCE with one of its cases, WHAT: it must fail with a helpful message.

execute_process(
    COMMAND "${COMPILER}" -std=c++20 -fsyntax-only "-DAWAIT_${WHAT}" "-I${INCLUDE}" "${SOURCE}"
    RESULT_VARIABLE result OUTPUT_VARIABLE log ERROR_VARIABLE log)
if(result STREQUAL "0")
    message(FATAL_ERROR "compiles")
elseif(NOT log MATCHES "awaited only in Weir's own|awaited in a coroutine of the library")
    message(FATAL_ERROR "fails without the explanation:\n${log}")
endif()
