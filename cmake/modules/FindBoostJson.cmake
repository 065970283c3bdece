# SPDX-License-Identifier: MIT
#
# Boost.JSON, and with it the headers of Boost that weir::http uses (Beast, Asio's buffers): makes
# the target BoostJson::BoostJson.

find_path(BoostJson_INCLUDE_DIR boost/json.hpp)
find_library(BoostJson_LIBRARY boost_json)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BoostJson REQUIRED_VARS BoostJson_LIBRARY BoostJson_INCLUDE_DIR)
mark_as_advanced(BoostJson_INCLUDE_DIR BoostJson_LIBRARY)
if(BoostJson_FOUND AND NOT TARGET BoostJson::BoostJson)
    # GLOBAL: a project that takes Weir in with FetchContent links this too.
    add_library(BoostJson::BoostJson UNKNOWN IMPORTED GLOBAL)
    set_target_properties(BoostJson::BoostJson PROPERTIES
        IMPORTED_LOCATION "${BoostJson_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${BoostJson_INCLUDE_DIR}")
endif()
