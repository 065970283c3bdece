# SPDX-License-Identifier: MIT
#
# Bundles the page with esbuild and the charts of dygraphs, and embeds it into weir::program.
# Without one of the two it has no page.

option(WEIR_DASHBOARD "Build the dashboard into the program, where esbuild and dygraphs exist" ON)
if(NOT WEIR_DASHBOARD)
    return()
endif()
find_program(WEIR_ESBUILD esbuild)
find_path(WEIR_DYGRAPHS dygraphs/src/dygraph.js PATHS /usr/share/javascript
    DOC "The folder that contains the folder dygraphs")
find_file(WEIR_DYGRAPHS_LICENSE NAMES copyright LICENSE.txt NO_DEFAULT_PATH
    PATHS /usr/share/doc/libjs-dygraphs "${WEIR_DYGRAPHS}/dygraphs")
if(NOT WEIR_ESBUILD OR NOT WEIR_DYGRAPHS OR NOT WEIR_DYGRAPHS_LICENSE)
    message(STATUS "weir: the program has no dashboard, esbuild or dygraphs is missing"
        " (Debian: apt install esbuild libjs-dygraphs)")
    return()
endif()

set(here "${CMAKE_CURRENT_LIST_DIR}")
set(page "${CMAKE_CURRENT_BINARY_DIR}/dashboard_page")
file(GLOB page_sources CONFIGURE_DEPENDS "${here}/src/*")
file(GLOB_RECURSE dygraphs_sources "${WEIR_DYGRAPHS}/dygraphs/src/*.js")
add_custom_command(
    OUTPUT "${page}/app.js" "${page}/app.css"
    COMMAND "${CMAKE_COMMAND}" -E env "NODE_PATH=${WEIR_DYGRAPHS}"
        "${WEIR_ESBUILD}" "${here}/src/main.ts" "--outfile=${page}/app.js" --bundle --minify
        --format=esm --target=es2022 --legal-comments=eof --log-level=warning
    DEPENDS ${page_sources} ${dygraphs_sources} "${here}/tsconfig.json"
    COMMENT "Bundling the dashboard"
    VERBATIM)
# The bundle ends with the copyright notices of its parts; the licence they refer to is beside it.
add_custom_command(
    OUTPUT "${page}/index.html" "${page}/icon.svg" "${page}/licenses.txt"
    COMMAND "${CMAKE_COMMAND}" -E copy "${here}/index.html" "${here}/icon.svg" "${page}"
    COMMAND "${CMAKE_COMMAND}" -E copy "${WEIR_DYGRAPHS_LICENSE}" "${page}/licenses.txt"
    DEPENDS "${here}/index.html" "${here}/icon.svg" "${WEIR_DYGRAPHS_LICENSE}"
    VERBATIM)
file(MAKE_DIRECTORY "${page}")
# A target of its own, which links nothing: commands of a target that links the layers would wait
# for these, and the sources of weir::program for the commands.
add_library(weir_dashboard OBJECT EXCLUDE_FROM_ALL)
target_compile_features(weir_dashboard PRIVATE cxx_std_20)
target_include_directories(weir_dashboard PRIVATE "${PROJECT_SOURCE_DIR}/include")
weir_embed_assets(weir_dashboard "${page}" FILES app.css app.js icon.svg index.html licenses.txt)
set_target_properties(weir_dashboard PROPERTIES POSITION_INDEPENDENT_CODE ON)
# Its objects, and not the target, which the installed package does not have.
target_sources(weir_program PRIVATE $<TARGET_OBJECTS:weir_dashboard>)
target_include_directories(weir_program PRIVATE
    "${CMAKE_CURRENT_BINARY_DIR}/weir_dashboard_assets")
target_compile_definitions(weir_program PRIVATE WEIR_HAVE_DASHBOARD=1)
