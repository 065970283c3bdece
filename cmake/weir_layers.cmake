# SPDX-License-Identifier: MIT
#
# Weir is a stack of layers, each one library target made from folders of src/ and of include/weir/.
#
#   weir_add_layer(<name>
#       FOLDERS <folder>...    where the layer's sources are, relative to the project
#       HEADERS <glob>...      its public headers, relative to include/weir
#       LAYERS <name>...       the layers under it
#       LINK <target>...       third-party targets it needs; find them before the call
#       USES <target>...       header-only targets that its sources need and its users do not
#       PACKAGES <package>...  the CMake packages these come from, for users of the installed Weir
#       PKG_CONFIG <module>... their modules for pkg-config, and flags for those that have none
#       DEBIAN <package>...    Debian packages that bring them, for the message and the package)
#
# makes `weir_<name>` with the alias `weir::<name>`, or says why not: a layer whose libraries are
# missing is left out and the rest still builds. So are layers that WEIR_ONLY_LAYERS does not name.
# The layers made are in the global property WEIR_LAYERS.

set(WEIR_ONLY_LAYERS "" CACHE STRING "Layers to build, such as core, as a list; empty: all")

# For whoever takes Weir in with FetchContent; the installed package brings it as well.
include("${CMAKE_CURRENT_LIST_DIR}/weir_embed_assets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/weir_unity.cmake")

function(weir_add_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 layer "" ""
        "FOLDERS;HEADERS;LAYERS;LINK;USES;PACKAGES;PKG_CONFIG;DEBIAN")

    if(WEIR_ONLY_LAYERS AND NOT name IN_LIST WEIR_ONLY_LAYERS)
        message(STATUS "weir::${name} is off, not one of WEIR_ONLY_LAYERS")
        return()
    endif()
    list(TRANSFORM layer_LAYERS PREPEND weir:: OUTPUT_VARIABLE lower_layers)
    _weir_missing_targets(missing ${lower_layers} ${layer_LINK} ${layer_USES})
    _weir_missing_targets(missing_libraries ${layer_LINK} ${layer_USES})
    if(missing)
        list(JOIN missing ", " missing)
        if(missing_libraries AND layer_DEBIAN)
            list(JOIN layer_DEBIAN " " packages)
            string(APPEND missing " (Debian: apt install ${packages})")
        endif()
        message(STATUS "weir::${name} is off, missing: ${missing}")
        return()
    endif()

    list(TRANSFORM layer_FOLDERS PREPEND "${PROJECT_SOURCE_DIR}/")
    list(TRANSFORM layer_FOLDERS APPEND "/*.cpp" OUTPUT_VARIABLE patterns)
    list(TRANSFORM layer_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/weir/")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
    file(GLOB headers CONFIGURE_DEPENDS ${layer_HEADERS})
    if(NOT sources)
        message(STATUS "weir::${name} is off: it has no sources yet")
        return()
    endif()

    add_library(weir_${name} ${sources})
    add_library(weir::${name} ALIAS weir_${name})
    if(NOT PROJECT_IS_TOP_LEVEL)
        # Inside another project only the layers that it links are built, and their headers give
        # no warnings.
        set_target_properties(weir_${name} PROPERTIES EXCLUDE_FROM_ALL TRUE SYSTEM TRUE)
    endif()
    target_sources(weir_${name} PUBLIC
        FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${headers})
    target_include_directories(weir_${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_compile_features(weir_${name} PUBLIC cxx_std_20)
    target_link_libraries(weir_${name} PUBLIC ${lower_layers} ${layer_LINK})
    foreach(used IN LISTS layer_USES)
        target_link_libraries(weir_${name} PRIVATE "$<BUILD_INTERFACE:${used}>")
    endforeach()
    set_target_properties(weir_${name} PROPERTIES
        EXPORT_NAME ${name}
        CXX_EXTENSIONS OFF
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

    weir_compile_together(weir_${name})

    set_property(GLOBAL APPEND PROPERTY WEIR_LAYERS ${name})
    _weir_stack(stack ${name} "${layer_LAYERS}")
    set_property(GLOBAL PROPERTY WEIR_STACK_OF_${name} "${stack}")
    set_property(GLOBAL PROPERTY WEIR_PACKAGES_OF_${name} "${layer_PACKAGES}")
    set_property(GLOBAL PROPERTY WEIR_LAYERS_UNDER_${name} "${layer_LAYERS}")
    set_property(GLOBAL PROPERTY WEIR_PKG_CONFIG_OF_${name} "${layer_PKG_CONFIG}")
    set_property(GLOBAL APPEND PROPERTY WEIR_DEBIAN ${layer_DEBIAN})
endfunction()

function(_weir_missing_targets variable)
    set(missing "")
    foreach(target IN LISTS ARGN)
        if(NOT TARGET ${target})
            list(APPEND missing ${target})
        endif()
    endforeach()
    set(${variable} "${missing}" PARENT_SCOPE)
endfunction()

# The layer and everything under it, lowest first: the order in which a package loads them.
function(_weir_stack variable name layers)
    set(stack "")
    foreach(layer IN LISTS layers)
        get_property(lower GLOBAL PROPERTY WEIR_STACK_OF_${layer})
        list(APPEND stack ${lower})
    endforeach()
    list(APPEND stack ${name})
    list(REMOVE_DUPLICATES stack)
    set(${variable} "${stack}" PARENT_SCOPE)
endfunction()
