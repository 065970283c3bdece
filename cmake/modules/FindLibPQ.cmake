# SPDX-License-Identifier: MIT
#
# libpq, PostgreSQL's client library: makes the target LibPQ::LibPQ.

find_path(LibPQ_INCLUDE_DIR libpq-fe.h PATH_SUFFIXES postgresql)
find_library(LibPQ_LIBRARY pq)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibPQ REQUIRED_VARS LibPQ_LIBRARY LibPQ_INCLUDE_DIR)
mark_as_advanced(LibPQ_INCLUDE_DIR LibPQ_LIBRARY)
if(LibPQ_FOUND AND NOT TARGET LibPQ::LibPQ)
    # GLOBAL: a project that takes Weir in with FetchContent links this too.
    add_library(LibPQ::LibPQ UNKNOWN IMPORTED GLOBAL)
    set_target_properties(LibPQ::LibPQ PROPERTIES
        IMPORTED_LOCATION "${LibPQ_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${LibPQ_INCLUDE_DIR}")
endif()
