# SPDX-License-Identifier: MIT
#
# Compiles SOURCE as with a compiler that breaks temporary closures, CASE `refused`, where it must
# fail and say what to do; or as with a right one, CASE `accepted`.

if(CASE STREQUAL "refused")
    set(definition -DWEIR_COROUTINE_TEMPORARIES_BROKEN=1)
else()
    set(definition -DWEIR_COROUTINE_TEMPORARIES_BROKEN=0)
endif()
execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only ${definition} "-I${INCLUDE}" "${SOURCE}"
    RESULT_VARIABLE result OUTPUT_VARIABLE log ERROR_VARIABLE log)
if(CASE STREQUAL "accepted" AND NOT result STREQUAL "0")
    message(FATAL_ERROR "does not compile:\n${log}")
elseif(CASE STREQUAL "refused" AND result STREQUAL "0")
    message(FATAL_ERROR "compiles, though it would be destroyed twice")
elseif(CASE STREQUAL "refused" AND NOT log MATCHES "name the lambda first")
    message(FATAL_ERROR "fails without the explanation:\n${log}")
endif()
