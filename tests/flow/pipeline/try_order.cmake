# SPDX-License-Identifier: MIT
#
# Compiles SOURCE with CASE defined. It must fail and say SAYS; where SAYS is empty, it must
# compile.

execute_process(
    COMMAND "${COMPILER}" -std=c++20 -fsyntax-only "-D${CASE}" "-I${INCLUDE}" "${SOURCE}"
    RESULT_VARIABLE result OUTPUT_VARIABLE log ERROR_VARIABLE log)
if(SAYS STREQUAL "")
    if(NOT result STREQUAL "0")
        message(FATAL_ERROR "does not compile:\n${log}")
    endif()
elseif(result STREQUAL "0")
    message(FATAL_ERROR "compiles, though the order makes no sense")
elseif(NOT log MATCHES "${SAYS}")
    message(FATAL_ERROR "fails without the explanation '${SAYS}':\n${log}")
endif()
