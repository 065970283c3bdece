# SPDX-License-Identifier: MIT
#
# An overlay port of the clone that it lies in:
#
#   vcpkg install 'weir[http,testing]' --overlay-ports=<clone>/packaging/vcpkg

cmake_path(GET CURRENT_PORT_DIR PARENT_PATH SOURCE_PATH)
cmake_path(GET SOURCE_PATH PARENT_PATH SOURCE_PATH)
cmake_path(GET SOURCE_PATH PARENT_PATH SOURCE_PATH)

# A layer is left out where one of its packages is missing: of each layer that is no feature, one is
# hidden, since another port may have installed it.
vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    INVERTED_FEATURES
        io CMAKE_DISABLE_FIND_PACKAGE_CAres
        http CMAKE_DISABLE_FIND_PACKAGE_BoostJson
        ws CMAKE_DISABLE_FIND_PACKAGE_Wslay
        db CMAKE_DISABLE_FIND_PACKAGE_LibPQ
        service CMAKE_DISABLE_FIND_PACKAGE_date
        program CMAKE_DISABLE_FIND_PACKAGE_spdlog
        testing CMAKE_DISABLE_FIND_PACKAGE_GTest)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${FEATURE_OPTIONS}
        -DWEIR_UNITY=ON
        -DWEIR_BUILD_TESTS=OFF
        -DWEIR_BUILD_PROGRAM=OFF
        -DWEIR_BUILD_EXAMPLES=OFF
        -DWEIR_BUILD_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/weir)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/debug/include"
    "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
