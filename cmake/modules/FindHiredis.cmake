# SPDX-License-Identifier: MIT
#
# hiredis, which Debian ships without a CMake package: makes the target Hiredis::Hiredis.

find_path(Hiredis_INCLUDE_DIR hiredis/hiredis.h)
find_library(Hiredis_LIBRARY hiredis)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hiredis REQUIRED_VARS Hiredis_LIBRARY Hiredis_INCLUDE_DIR)
mark_as_advanced(Hiredis_INCLUDE_DIR Hiredis_LIBRARY)
if(Hiredis_FOUND AND NOT TARGET Hiredis::Hiredis)
    # GLOBAL: a project that takes Weir in with FetchContent links this too.
    add_library(Hiredis::Hiredis UNKNOWN IMPORTED GLOBAL)
    set_target_properties(Hiredis::Hiredis PROPERTIES
        IMPORTED_LOCATION "${Hiredis_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${Hiredis_INCLUDE_DIR}")
endif()
