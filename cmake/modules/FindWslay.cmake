# SPDX-License-Identifier: MIT
#
# wslay, which Debian ships without a CMake package: makes the target Wslay::Wslay.

find_path(Wslay_INCLUDE_DIR wslay/wslay.h)
find_library(Wslay_LIBRARY wslay)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Wslay REQUIRED_VARS Wslay_LIBRARY Wslay_INCLUDE_DIR)
mark_as_advanced(Wslay_INCLUDE_DIR Wslay_LIBRARY)
if(Wslay_FOUND AND NOT TARGET Wslay::Wslay)
    # GLOBAL: a project that takes Weir in with FetchContent links this too.
    add_library(Wslay::Wslay UNKNOWN IMPORTED GLOBAL)
    set_target_properties(Wslay::Wslay PROPERTIES
        IMPORTED_LOCATION "${Wslay_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${Wslay_INCLUDE_DIR}")
endif()
