# SPDX-License-Identifier: MIT
#
# weir_unite_examples(<variable> <source>...): one program, weir_united_examples, of those of the
# examples that can be compiled together, and in <variable> the names of these. Compiled alone, an
# example takes most of its time for what all of them instantiate, and for its own link: together
# they take a third.
#
# Each becomes a namespace, and its main a function there; the program runs the example by whose
# name it is called, and build/PRESET/examples/<name> is a link to it. The includes of all stand
# before; whether an example has all that it needs is tested by project.files_compile_alone.
#
# An example stays alone if it includes a file beside it, needs a library that the others do not,
# starts its own program, prints the names of its functions, or does not end with its main.

set(WEIR_EXAMPLES_AT_MOST 12)  # compiled as one; who edits one waits for all of these

function(weir_unite_examples variable)
    set(together "")
    set(upper "")
    foreach(source IN LISTS ARGN)
        file(READ "${source}" text)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
        if(text MATCHES "\n#include (\"|<boost/|<weir/(program|testing)/)|\n#(if|define)" OR
           text MATCHES "/proc/self/exe|dump_tasks\\(|\\.debug = true" OR
           NOT text MATCHES "\nint main\\([^\n]*\n([ /][^\n]*\n|\n)*}\n$")
            continue()
        endif()
        # Those that need no more than what is precompiled are kept apart from the others.
        if(text MATCHES "\n#include <weir/(io|http|ws|db|crawl|service)/")
            list(APPEND upper "${source}")
        else()
            list(APPEND together "${source}")
        endif()
    endforeach()

    set(united "")
    set(names "")
    foreach(list IN ITEMS together upper)
        while(${list})
            # As even as can be.
            list(LENGTH ${list} count)
            math(EXPR parts "(${count} + ${WEIR_EXAMPLES_AT_MOST} - 1) / ${WEIR_EXAMPLES_AT_MOST}")
            math(EXPR size "(${count} + ${parts} - 1) / ${parts}")
            list(SUBLIST ${list} 0 ${size} part)
            list(REMOVE_ITEM ${list} ${part})
            set(file "${CMAKE_CURRENT_BINARY_DIR}/united/${list}_${parts}.cpp")
            _weir_write_united_examples("${file}" ${part})
            list(APPEND united "${file}")
            foreach(source IN LISTS part)
                cmake_path(GET source STEM name)
                list(APPEND names ${name})
            endforeach()
        endwhile()
    endforeach()
    if(names)
        add_executable(weir_united_examples ${united} precompiled/united.cpp)
        set_target_properties(weir_united_examples PROPERTIES OUTPUT_NAME united_examples)
        target_include_directories(weir_united_examples PRIVATE precompiled)
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            # It takes a namespace in a file that #line names for one in an included file.
            target_compile_options(weir_united_examples PRIVATE -Wno-subobject-linkage)
        endif()
        foreach(name IN LISTS names)
            file(CREATE_LINK united_examples "${CMAKE_CURRENT_BINARY_DIR}/${name}" SYMBOLIC)
        endforeach()
    endif()
    set(${variable} ${names} PARENT_SCOPE)
endfunction()

function(_weir_write_united_examples file)
    set(includes "#include \"united.hpp\"")
    set(units "")
    foreach(source IN LISTS ARGN)
        file(STRINGS "${source}" lines REGEX "^#include ")
        list(APPEND includes ${lines})
        cmake_path(GET source STEM name)
        file(READ "${source}" text)
        string(REGEX REPLACE "\n#include [^\n]*" "\n" text "${text}")
        string(REPLACE "\nint main(" "\nint example_main(" text "${text}")
        # Only a function that is main may end without a value.
        string(REGEX REPLACE "}\n$" "return 0; }\n" text "${text}")
        string(APPEND units "namespace of_${name} {\n#line 1 \"${source}\"\n${text}"
            "static united_example example(\"${name}\", [](int count, char** arguments) {\n"
            "    return start_example(example_main, count, arguments);\n});\n}\n")
    endforeach()
    list(REMOVE_DUPLICATES includes)
    list(JOIN includes "\n" includes)
    file(WRITE "${file}.new" "${includes}\n\n${units}")
    file(COPY_FILE "${file}.new" "${file}" ONLY_IF_DIFFERENT)
endfunction()
