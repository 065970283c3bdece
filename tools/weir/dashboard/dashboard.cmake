# SPDX-License-Identifier: MIT
#
# Builds the page with npm when CMake runs, again where a source of it is newer, and makes it part
# of the program. Anything that is missing (npm, the network for its first download) costs the page,
# not the program.

option(WEIR_DASHBOARD "Build the dashboard into the program, where there is npm" ON)
if(NOT WEIR_DASHBOARD)
    return()
endif()
set(page_files index.html icon.svg build.mjs package.json package-lock.json)
find_program(WEIR_NPM npm)
find_program(WEIR_NODE NAMES node nodejs)
if(NOT WEIR_NPM OR NOT WEIR_NODE)
    message(STATUS "weir: the program has no dashboard, npm is missing (Debian: apt install npm)")
    return()
endif()

set(here "${CMAKE_CURRENT_LIST_DIR}")
file(GLOB page_sources CONFIGURE_DEPENDS "${here}/src/*")
list(TRANSFORM page_files PREPEND "${here}/" OUTPUT_VARIABLE page_paths)
list(APPEND page_sources ${page_paths})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_sources})
set(state "")
foreach(source IN LISTS page_sources)
    file(SHA256 "${source}" hash)
    string(APPEND state "${hash}\n")
endforeach()
string(SHA256 state "${state}")

set(work "${CMAKE_CURRENT_BINARY_DIR}/dashboard")
set(page "${CMAKE_CURRENT_BINARY_DIR}/dashboard_page")
set(stamp "${work}/built_from")
set(built_from "")
if(EXISTS "${stamp}")
    file(READ "${stamp}" built_from)
endif()
if(NOT built_from STREQUAL state)
    # npm writes beside package.json: that must not be the source folder.
    file(MAKE_DIRECTORY "${work}")
    file(COPY "${here}/src" ${page_paths} DESTINATION "${work}")
    execute_process(COMMAND "${WEIR_NPM}" ci --ignore-scripts --no-audit --no-fund
        WORKING_DIRECTORY "${work}" RESULT_VARIABLE failed OUTPUT_VARIABLE log ERROR_VARIABLE log
        TIMEOUT 300)
    if(NOT failed)
        execute_process(COMMAND "${WEIR_NODE}" build.mjs "${page}"
            WORKING_DIRECTORY "${work}" RESULT_VARIABLE failed OUTPUT_VARIABLE log ERROR_VARIABLE log)
    endif()
    if(failed)
        message(STATUS "weir: the program has no dashboard, npm could not build it: ${log}")
        return()
    endif()
    file(WRITE "${stamp}" "${state}")
endif()
weir_embed_assets(weir_program "${page}")
target_compile_definitions(weir_program PRIVATE WEIR_HAVE_DASHBOARD=1)
