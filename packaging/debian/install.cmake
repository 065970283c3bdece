# SPDX-License-Identifier: MIT
#
# The files that only the Debian packages have: the service, its user and its options; licence and
# changelog where Debian wants them.

install(FILES debian/weir.service DESTINATION lib/systemd/system COMPONENT executable)
install(FILES debian/weir.sysusers RENAME weir.conf DESTINATION lib/sysusers.d COMPONENT executable)
install(FILES weir.toml DESTINATION /etc COMPONENT executable)

file(READ "${PROJECT_SOURCE_DIR}/LICENSE" licence)
string(REGEX MATCH "Copyright [^\n]*" copyright "${licence}")
string(REGEX REPLACE "^.*Copyright [^\n]*\n\n" "" licence "${licence}")
string(STRIP "${licence}" licence)
string(REPLACE "\n\n" "\n.\n" licence "${licence}")
string(REPLACE "\n" "\n " licence " ${licence}")
file(CONFIGURE OUTPUT copyright @ONLY CONTENT [[
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: weir
Comment: The dashboard in /usr/bin/weir contains dygraphs, Copyright (c) 2006 to 2023
 Dan Vanderkam and others, under the same licence: /licenses.txt of the service.

Files: *
Copyright: @copyright@
License: Expat

License: Expat
@licence@
]])

# The program contains dygraphs, as a part of its dashboard.
if(WEIR_DASHBOARD AND WEIR_ESBUILD AND WEIR_DYGRAPHS_LICENSE)
    install(FILES "${WEIR_DYGRAPHS_LICENSE}" RENAME copyright.dygraphs
        DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/weir" COMPONENT executable)
endif()

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(CONFIGURE OUTPUT changelog.Debian @ONLY CONTENT [[
weir (@PROJECT_VERSION@-@WEIR_DEBIAN_REVISION@) unstable; urgency=medium

  * The changes are listed in CHANGELOG.md of the sources.

 -- @WEIR_MAINTAINER@  @date@
]])
set(changelog "${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian")
execute_process(COMMAND gzip -9nkf "${changelog}" COMMAND_ERROR_IS_FATAL ANY)

foreach(place IN ITEMS "weir executable" "libweir-dev core")
    separate_arguments(place)
    list(GET place 0 package)
    list(GET place 1 component)
    install(FILES "${CMAKE_CURRENT_BINARY_DIR}/copyright" "${changelog}.gz"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}" COMPONENT ${component})
endforeach()
