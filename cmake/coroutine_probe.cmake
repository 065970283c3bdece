# SPDX-License-Identifier: MIT
#
# weir_probe_coroutine_temporaries(<variable>): TRUE in <variable> where the compiler destroys the
# temporaries of a co_await expression twice (GCC PR99576 and PR101367). Weir's combinators then
# reject temporary callables that are not trivially destructible instead of crashing.
#
# The answer belongs to the compiler that compiles the co_await, so the installed package asks again
# when its user's compiler is another one than the one that built the library.

function(weir_probe_coroutine_temporaries variable)
    set(key "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
    if(NOT WEIR_COROUTINE_PROBE_COMPILER STREQUAL key)
        set(WEIR_COROUTINE_PROBE_COMPILER "${key}" CACHE INTERNAL "compiler that was probed")
        _weir_run_coroutine_probe(broken)
        set(WEIR_COROUTINE_PROBE_BROKEN "${broken}" CACHE INTERNAL "what the probe found")
        if(broken)
            message(STATUS "weir: ${key} destroys some temporaries of co_await expressions twice;"
                " name lambdas that own data before awaiting a call that takes them")
        endif()
    endif()
    set(${variable} "${WEIR_COROUTINE_PROBE_BROKEN}" PARENT_SCOPE)
endfunction()

function(_weir_run_coroutine_probe variable)
    if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
        _weir_guess_coroutine_temporaries(broken)
    else()
        unset(WEIR_COROUTINE_PROBE_EXIT CACHE)
        try_run(WEIR_COROUTINE_PROBE_EXIT probe_compiles
            "${CMAKE_BINARY_DIR}/CMakeFiles/weir_coroutine_probe"
            "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/coroutine_probe.cpp"
            CXX_STANDARD 20
            CXX_STANDARD_REQUIRED ON
            COMPILE_OUTPUT_VARIABLE log)
        if(NOT probe_compiles)
            message(FATAL_ERROR "weir needs C++20 coroutines, and ${CMAKE_CXX_COMPILER} did not"
                " compile a small program that uses them:\n${log}")
        endif()
        # Anything but 0, a crash included, means that temporaries cannot be trusted.
        set(broken FALSE)
        if(NOT WEIR_COROUTINE_PROBE_EXIT STREQUAL "0")
            set(broken TRUE)
        endif()
    endif()
    set(${variable} ${broken} PARENT_SCOPE)
endfunction()

# For cross builds, where the probe cannot run. On the safe side: a GCC that is wrongly suspected
# only makes the user name a lambda.
function(_weir_guess_coroutine_temporaries variable)
    set(broken FALSE)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
        set(broken TRUE)
    endif()
    set(${variable} ${broken} PARENT_SCOPE)
endfunction()
