# SPDX-License-Identifier: MIT
#
# What has to be built before a test can run, for `./dev test`, which builds no more than the tests
# that were chosen need:
#
#   weir_test_program_has(<prefix> <target> <source>...)   a GoogleTest program, whose tests have
#                                                          names that begin with <prefix>
#   weir_test_needs(<prefix> [<target>...])                other tests with such names
#
# Tests that no line describes need everything. The table is test_targets.txt in the build folder, a
# line each: kind, prefix, targets or target and sources, separated by tabs.

function(weir_test_program_has prefix target)
    set(line "program" "${prefix}" "${target}")
    foreach(source IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH source)
        list(APPEND line "${source}")
    endforeach()
    list(JOIN line "\t" line)
    set_property(GLOBAL APPEND_STRING PROPERTY WEIR_TEST_TARGETS "${line}\n")
endfunction()

function(weir_test_needs prefix)
    set(line "other" "${prefix}" ${ARGN})
    list(JOIN line "\t" line)
    set_property(GLOBAL APPEND_STRING PROPERTY WEIR_TEST_TARGETS "${line}\n")
endfunction()

function(weir_write_test_targets)
    get_property(table GLOBAL PROPERTY WEIR_TEST_TARGETS)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/test_targets.txt" CONTENT "${table}" @ONLY)
endfunction()
