# SPDX-License-Identifier: MIT
#
# weir_compile_together(<target>): compiles several sources of the target as one where WEIR_UNITY is
# on. The headers that they share are then read once, which takes a third of the processor time of a
# build from nothing. Sources of a layer therefore have no names in common in their unnamed
# namespaces.

option(WEIR_UNITY "Compile several sources as one: a faster build from nothing" OFF)
set(WEIR_UNITY_SIZE 24 CACHE STRING "Sources that are compiled as one, at most; 0: all of a target")

function(weir_compile_together target)
    if(NOT WEIR_UNITY)
        return()
    endif()
    set(size ${WEIR_UNITY_SIZE})
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
    _weir_precompile(${target})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # It takes what an included source has in an unnamed namespace for a mistake.
        target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
endfunction()

# _weir_precompile(<target>): what most sources of the layers above the core include is read once
# for all of these; the service, the largest, has a precompiled header of its own. Reading took a
# sixth of the processor time of a build from nothing.
function(_weir_precompile target)
    set(folder "${PROJECT_SOURCE_DIR}/cmake/precompiled")
    if(target STREQUAL "weir_service")
        target_precompile_headers(${target} PRIVATE "${folder}/service.hpp")
    elseif(target MATCHES "^weir_(flow|io|http|ws|db|crawl)$")
        if(NOT TARGET weir_precompiled)
            add_library(weir_precompiled OBJECT "${folder}/empty.cpp")
            target_link_libraries(weir_precompiled PRIVATE weir_core)
            target_precompile_headers(weir_precompiled PRIVATE "${folder}/layers.hpp")
            # What a compiler accepts it for: the same language, and code of the same kind.
            set_target_properties(weir_precompiled PROPERTIES CXX_EXTENSIONS OFF)
            if(BUILD_SHARED_LIBS)
                set_target_properties(weir_precompiled PROPERTIES POSITION_INDEPENDENT_CODE ON)
            endif()
            if(NOT PROJECT_IS_TOP_LEVEL)
                set_target_properties(weir_precompiled PROPERTIES EXCLUDE_FROM_ALL TRUE)
            endif()
        endif()
        target_precompile_headers(${target} REUSE_FROM weir_precompiled)
    endif()
endfunction()
