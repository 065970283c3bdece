# SPDX-License-Identifier: MIT
#
# c-ares, which Debian ships without a CMake package: makes the target CAres::CAres.

find_path(CAres_INCLUDE_DIR ares.h)
find_library(CAres_LIBRARY cares)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CAres REQUIRED_VARS CAres_LIBRARY CAres_INCLUDE_DIR)
mark_as_advanced(CAres_INCLUDE_DIR CAres_LIBRARY)
if(CAres_FOUND AND NOT TARGET CAres::CAres)
    # GLOBAL: a project that takes Weir in with FetchContent links this too.
    add_library(CAres::CAres UNKNOWN IMPORTED GLOBAL)
    set_target_properties(CAres::CAres PROPERTIES
        IMPORTED_LOCATION "${CAres_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${CAres_INCLUDE_DIR}")
endif()
