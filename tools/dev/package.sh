# SPDX-License-Identifier: MIT
#
# The command package: Debian packages of the library and the program.

# Writes weir_VERSION_ARCH.deb and libweir-dev_VERSION_ARCH.deb to build/package; lintian reports
# what is wrong with them. The same commit gives the same files.
command_package() {
    ensure_packages run package
    local folder date packages=()
    folder=$(build_dir package)
    date=$(git -C "$root" log -1 --format=%ct 2>/dev/null) && export SOURCE_DATE_EPOCH=$date
    # Another umask would end up in the packages.
    umask 022
    configure package && build package || die "the packages do not build."
    rm -f "$folder"/*.deb
    (cd "$folder" && cpack >"$folder/cpack.log" 2>&1) || {
        cat "$folder/cpack.log" >&2
        die "CPack failed."
    }
    packages=("$folder"/*.deb)
    lintian --fail-on error "${packages[@]}" || die "lintian reports errors."
    say "Install them with: apt install ./build/package/*.deb"
    printf '%s\n' "${packages[@]}"
}
