# SPDX-License-Identifier: MIT
#
# Brotli, which Debian ships without a CMake package: makes the target Brotli::Brotli, both to
# encode and to decode.

find_path(Brotli_INCLUDE_DIR brotli/encode.h)
find_library(Brotli_ENCODER brotlienc)
find_library(Brotli_DECODER brotlidec)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Brotli
    REQUIRED_VARS Brotli_ENCODER Brotli_DECODER Brotli_INCLUDE_DIR)
mark_as_advanced(Brotli_INCLUDE_DIR Brotli_ENCODER Brotli_DECODER)
if(Brotli_FOUND AND NOT TARGET Brotli::Brotli)
    # GLOBAL: a project that takes Weir in with FetchContent links this too.
    add_library(Brotli::Brotli UNKNOWN IMPORTED GLOBAL)
    set_target_properties(Brotli::Brotli PROPERTIES
        IMPORTED_LOCATION "${Brotli_ENCODER}"
        IMPORTED_LINK_INTERFACE_LIBRARIES "${Brotli_DECODER}"
        INTERFACE_INCLUDE_DIRECTORIES "${Brotli_INCLUDE_DIR}")
endif()
