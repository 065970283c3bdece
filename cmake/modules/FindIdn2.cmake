# SPDX-License-Identifier: MIT
#
# libidn2, which Debian ships without a CMake package: makes the target Idn2::Idn2.

find_path(Idn2_INCLUDE_DIR idn2.h)
find_library(Idn2_LIBRARY idn2)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Idn2 REQUIRED_VARS Idn2_LIBRARY Idn2_INCLUDE_DIR)
mark_as_advanced(Idn2_INCLUDE_DIR Idn2_LIBRARY)
if(Idn2_FOUND AND NOT TARGET Idn2::Idn2)
    # GLOBAL: a project that takes Weir in with FetchContent links this too.
    add_library(Idn2::Idn2 UNKNOWN IMPORTED GLOBAL)
    set_target_properties(Idn2::Idn2 PROPERTIES
        IMPORTED_LOCATION "${Idn2_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${Idn2_INCLUDE_DIR}")
endif()
