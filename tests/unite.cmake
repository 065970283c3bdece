# SPDX-License-Identifier: MIT
#
# weir_unite(<variable> <target> <source>...): sources that together are the ones given, in fewer
# files. What several tests use is then instantiated and translated once, which took about half the
# processor time where it was measured; who changes one file compiles more, so it is for builds from
# nothing.
#
# Each source becomes a namespace of its own, so that names in one do not meet those in another. For
# that the headers of all are included before, outside. A source that stands in a namespace of the
# library's, such as weir::service::testing, is copied into a namespace inside that one. A source
# stays alone where this would change what it means: it defines what a header beside it declares,
# specialises templates, includes on conditions or behind a macro of its own, replaces operator new,
# or says so by naming this file.

set(WEIR_UNITED_AT_MOST 12)  # some 400 MB of memory each, with sanitizers

function(weir_unite variable target)
    if(NOT WEIR_UNITY)
        set(${variable} ${ARGN} PARENT_SCOPE)
        return()
    endif()
    set(result "")
    set(together "")
    foreach(source IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH source)
        _weir_stays_alone(alone "${source}")
        if(alone)
            list(APPEND result "${source}")
        else()
            list(APPEND together "${source}")
        endif()
    endforeach()

    # As even as can be: the largest decides how long the last one takes.
    list(LENGTH together count)
    math(EXPR parts "(${count} + ${WEIR_UNITED_AT_MOST} - 1) / ${WEIR_UNITED_AT_MOST}")
    while(parts GREATER 0)
        list(LENGTH together count)
        math(EXPR size "(${count} + ${parts} - 1) / ${parts}")
        list(SUBLIST together 0 ${size} part)
        list(REMOVE_ITEM together ${part})
        set(united "${CMAKE_CURRENT_BINARY_DIR}/united/${target}_${parts}.cpp")
        _weir_write_united("${united}" ${part})
        list(APPEND result "${united}")
        math(EXPR parts "${parts} - 1")
    endwhile()
    set(${variable} ${result} PARENT_SCOPE)
endfunction()

function(_weir_stays_alone variable source)
    if(NOT EXISTS "${source}" OR source MATCHES "^${CMAKE_BINARY_DIR}/")
        set(${variable} TRUE PARENT_SCOPE)  # made by the build
        return()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    cmake_path(REPLACE_EXTENSION source hpp OUTPUT_VARIABLE header)
    file(READ "${source}" text)
    set(alone FALSE)
    if(EXISTS "${header}" OR text MATCHES
       "\n(extern|template <>|void\\* operator new|int main|#if[^\n]*\n#include|#else|#define[^\n]*\n#include)" OR
       text MATCHES "tests/unite.cmake")
        set(alone TRUE)
    endif()
    set(${variable} ${alone} PARENT_SCOPE)
endfunction()

function(_weir_write_united united)
    set(includes "")
    set(units "")
    set(number 0)
    foreach(source IN LISTS ARGN)
        cmake_path(GET source PARENT_PATH folder)
        file(STRINGS "${source}" lines REGEX "^#include ")
        foreach(line IN LISTS lines)
            string(REGEX REPLACE "^#include [<\"]([^>\"]*)[>\"].*" "\\1" name "${line}")
            if(line MATCHES "\"" AND EXISTS "${folder}/${name}")
                cmake_path(ABSOLUTE_PATH name BASE_DIRECTORY "${folder}" NORMALIZE)
                set(line "#include \"${name}\"")
            endif()
            list(APPEND includes "${line}")
        endforeach()
        _weir_unit(unit "${source}" ${number})
        string(APPEND units "${unit}")
        math(EXPR number "${number} + 1")
    endforeach()
    list(REMOVE_DUPLICATES includes)
    list(JOIN includes "\n" includes)
    file(WRITE "${united}.new" "${includes}\n\n${units}")
    file(COPY_FILE "${united}.new" "${united}" ONLY_IF_DIFFERENT)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # It takes what an included file has in an unnamed namespace for a mistake.
        set_source_files_properties("${united}" PROPERTIES COMPILE_OPTIONS -Wno-subobject-linkage)
    endif()
endfunction()

# _weir_unit(<variable> <source> <number>): the source as a part of a united one.
function(_weir_unit variable source number)
    file(READ "${source}" text)
    set(inside "\nnamespace (weir::[a-z_]+(::[a-z_]+)*) {")
    if(text MATCHES "${inside}")
        string(REGEX REPLACE "${inside}" "\nnamespace \\1::unit_${number} {" text "${text}")
        string(REGEX REPLACE "\n#include [^\n]*" "\n" text "${text}")
        set(${variable} "#line 1 \"${source}\"\n${text}" PARENT_SCOPE)
        return()
    endif()
    # Names of a namespace that a header and this source share are found as before.
    set(unit "")
    file(STRINGS "${source}" spaces REGEX "^namespace [a-z_:]+ {")
    list(REMOVE_DUPLICATES spaces)
    foreach(space IN LISTS spaces)
        string(REGEX REPLACE "^namespace ([a-z_:]+) {.*" "\\1" space "${space}")
        string(APPEND unit "namespace ${space} {}\n"
            "namespace unit_${number}::${space} { using namespace ::${space}; }\n")
    endforeach()
    set(${variable} "${unit}namespace unit_${number} {\n#include \"${source}\"\n}\n" PARENT_SCOPE)
endfunction()
