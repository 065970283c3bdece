# SPDX-License-Identifier: MIT
#
# weir_write_pkg_config(<layer> <file>): writes the layer's file for pkg-config. Its paths are
# relative to where it lies, so that an installation can be moved.
#
# Libraries that a layer uses are required in the open where Weir is a static library, since its
# user then links them. A shared library has linked them itself: Requires.private.

function(weir_write_pkg_config layer file)
    get_property(lower GLOBAL PROPERTY WEIR_LAYERS_UNDER_${layer})
    list(TRANSFORM lower PREPEND weir-)
    get_property(needed GLOBAL PROPERTY WEIR_PKG_CONFIG_OF_${layer})
    set(modules ${needed})
    list(FILTER modules EXCLUDE REGEX "^-")
    set(flags ${needed})
    list(FILTER flags INCLUDE REGEX "^-")

    get_target_property(kind weir_${layer} TYPE)
    if(kind STREQUAL "SHARED_LIBRARY")
        set(requires ${lower})
        set(requires_private ${modules})
        set(libs_private ${flags})
        set(flags "")
    else()
        set(requires ${lower} ${modules})
        set(requires_private "")
        set(libs_private "")
    endif()

    set(cflags "")
    if(layer STREQUAL "core" AND WEIR_COROUTINE_PROBE_BROKEN)
        # pkg-config cannot probe its user's compiler: assume the one that built the library.
        set(cflags " -DWEIR_COROUTINE_TEMPORARIES_BROKEN=1")
    endif()
    set(absolute "/weir")
    file(RELATIVE_PATH up "${absolute}/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "${absolute}")
    string(REGEX REPLACE "/$" "" up "${up}")
    foreach(list IN ITEMS requires requires_private flags libs_private)
        list(JOIN ${list} " " ${list})
    endforeach()
    string(CONCAT text
        "prefix=\${pcfiledir}/${up}\n"
        "libdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}\n"
        "includedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}\n"
        "\n"
        "Name: weir-${layer}\n"
        "Description: ${PROJECT_DESCRIPTION}: the layer ${layer}\n"
        "Version: ${PROJECT_VERSION}\n"
        "Requires: ${requires}\n"
        "Requires.private: ${requires_private}\n"
        "Libs: -L\${libdir} -lweir_${layer} ${flags}\n"
        "Libs.private: ${libs_private}\n"
        "Cflags: -I\${includedir}${cflags}\n")
    string(REGEX REPLACE "[A-Z][a-z.]+: *\n" "" text "${text}")  # fields without a value
    string(REGEX REPLACE " +\n" "\n" text "${text}")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${text}" @ONLY)
endfunction()
