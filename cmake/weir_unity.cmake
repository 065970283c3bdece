# SPDX-License-Identifier: MIT
#
# weir_compile_together(<target> [<count>]): compiles several sources of the target as one where
# WEIR_UNITY is on; at most <count> if given and smaller than WEIR_UNITY_SIZE. The headers that they
# share are then read once, which takes a third of the processor time of a build from nothing.
# Sources of a layer therefore have no names in common in their unnamed namespaces.

option(WEIR_UNITY "Compile several sources as one: a faster build from nothing" OFF)
set(WEIR_UNITY_SIZE 24 CACHE STRING "Sources that are compiled as one, at most; 0: all of a target")

function(weir_compile_together target)
    if(NOT WEIR_UNITY)
        return()
    endif()
    set(size ${WEIR_UNITY_SIZE})
    if(ARGN AND ARGN LESS size)
        set(size ${ARGN})
    endif()
    if(size GREATER 0)
        # Even parts: the largest decides how long the last one takes.
        get_target_property(sources ${target} SOURCES)
        list(LENGTH sources count)
        math(EXPR parts "(${count} + ${size} - 1) / ${size}")
        math(EXPR size "(${count} + ${parts} - 1) / ${parts}")
    endif()
    set_target_properties(${target} PROPERTIES
        UNITY_BUILD ON
        UNITY_BUILD_BATCH_SIZE ${size})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # It takes what an included source has in an unnamed namespace for a mistake.
        target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
endfunction()
