# SPDX-License-Identifier: MIT
#
# The Debian packages `weir`, the program as a service, and `libweir-dev`, all layers of the
# library. Included at the end of the project, when the layers are known; `./dev package` runs
# CPack.

set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE "${WEIR_DEBIAN_REVISION}")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${WEIR_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package begins with its own
set(CPACK_SET_DESTDIR ON)  # for /etc
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME weir)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS
    "systemd | systemd-standalone-sysusers | systemd-sysusers, tzdata, ca-certificates")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "durable service for background tasks
Weir takes background tasks over HTTP, keeps them in one file, and runs each
to its end, even if the service is killed meanwhile. Tasks deliver HTTP
requests or run programs, with retries, schedules, priorities and limits.
A web dashboard shows them live.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA
    "${CMAKE_CURRENT_LIST_DIR}/conffiles"
    "${CMAKE_CURRENT_LIST_DIR}/postinst"
    "${CMAKE_CURRENT_LIST_DIR}/prerm"
    "${CMAKE_CURRENT_LIST_DIR}/postrm")

get_property(libraries GLOBAL PROPERTY WEIR_DEBIAN)
list(REMOVE_DUPLICATES libraries)
list(JOIN libraries ", " libraries)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libweir-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libstdc++-12-dev | libstdc++-dev, ${libraries}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SUGGESTS "cmake, pkg-config")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "structured concurrency for C++20: development files
Weir has the model of Python's asyncio on a single-threaded event loop: tasks,
groups, cancellation, timeouts, locks, queues and generators; rate limiters,
circuit breakers, retries and pools; sockets, TLS, HTTP, WebSocket,
PostgreSQL, SQLite and Redis; and a test kit with simulated time.

This package has the headers, the static libraries, and files for CMake and
pkg-config.")

get_property(layers GLOBAL PROPERTY WEIR_LAYERS)
set(CPACK_COMPONENTS_ALL executable ${layers})
include(CPack)
cpack_add_component_group(program)
cpack_add_component_group(library)
cpack_add_component(executable GROUP program)
foreach(layer IN LISTS layers)
    cpack_add_component(${layer} GROUP library)
endforeach()
