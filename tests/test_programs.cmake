# SPDX-License-Identifier: MIT
#
# weir_add_test_program(<target> <area> <source>...): a GoogleTest program whose tests ctest finds,
# with the area as label and as prefix of their names.

include(GoogleTest)
include("${CMAKE_CURRENT_LIST_DIR}/unite.cmake")

# Every test program links all layers there are, so that they can share one precompiled header;
# except the program, whose tests call it.
add_library(weir_test_base INTERFACE)
get_property(layers GLOBAL PROPERTY WEIR_LAYERS)
list(REMOVE_ITEM layers program)
list(TRANSFORM layers PREPEND weir:: OUTPUT_VARIABLE layer_targets)
target_link_libraries(weir_test_base INTERFACE ${layer_targets} GTest::gtest_main)
target_include_directories(weir_test_base INTERFACE
    "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/src")
if(TARGET weir_io)
    target_compile_definitions(weir_test_base INTERFACE WEIR_TEST_WITH_IO=1)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # A time stamp in the precompiled header would make each one new to ccache (WEIR_CCACHE).
    target_compile_options(weir_test_base INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()
# Tests are compiled far more often than they are run, so only the library is optimised in full.
# Tests with coroutines of many shapes are optimised a little, since that is where optimisers make
# mistakes, though it takes twice as long. So are those that calculate longer than the compiler
# takes for it.
set(WEIR_OPTIMISED_TESTS "^(core_combine|core_model|sync|compilers|flow_decision|service_world)")

# weir_make_test_pch(<target> <header> <option>...): a precompiled header for programs with these
# options.
function(weir_make_test_pch target header)
    add_library(${target} OBJECT support/precompiled.cpp)
    target_link_libraries(${target} PRIVATE weir_test_base)
    target_compile_options(${target} PRIVATE ${ARGN})
    target_precompile_headers(${target} PRIVATE ${header})
endfunction()
set(WEIR_TEST_OPTIONS "")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set(WEIR_TEST_OPTIONS -O0)
    weir_make_test_pch(weir_test_optimised_pch support/precompiled.hpp -O1)
endif()
weir_make_test_pch(weir_test_pch support/precompiled.hpp ${WEIR_TEST_OPTIONS})
if(service IN_LIST layers)
    weir_make_test_pch(weir_test_service_pch support/precompiled_service.hpp ${WEIR_TEST_OPTIONS})
endif()

# Loops that do not say which driver they want get this one, where it is set: epoll or uring.
set(WEIR_TEST_DRIVER "" CACHE STRING "Driver of the tests' loops; empty: the default")

function(weir_add_test_program target area)
    weir_test_program_has("${area}." ${target} ${ARGN})
    weir_unite(sources ${target} ${ARGN})
    add_executable(${target} ${sources})
    target_link_libraries(${target} PRIVATE weir_test_base)
    set(pch weir_test_pch)
    if(TARGET weir_test_optimised_pch AND area MATCHES "${WEIR_OPTIMISED_TESTS}")
        set(pch weir_test_optimised_pch)
    elseif(TARGET weir_test_service_pch AND area MATCHES "^service_")
        set(pch weir_test_service_pch)
    endif()
    target_precompile_headers(${target} REUSE_FROM ${pch})
    get_target_property(options ${pch} COMPILE_OPTIONS)
    if(options)
        target_compile_options(${target} PRIVATE ${options})
    endif()
    set(filter "")
    if(area STREQUAL "service_store")
        set(filter TEST_FILTER "-*/postgres:Postgres*")  # see CMakeLists.txt
    endif()
    # Asked for their tests when ctest starts, not while building: a program that crashes there
    # fails the test run and not the build.
    gtest_discover_tests(${target}
        DISCOVERY_MODE PRE_TEST
        DISCOVERY_TIMEOUT 60
        TEST_PREFIX "${area}."
        ${filter}
        PROPERTIES TIMEOUT ${WEIR_TEST_TIMEOUT} LABELS ${area}
            ENVIRONMENT "WEIR_DRIVER=${WEIR_TEST_DRIVER}")
endfunction()
