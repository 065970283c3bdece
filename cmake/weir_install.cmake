# SPDX-License-Identifier: MIT
#
# Installs the layers, each as a component of the package `weir` with an export file of its own, so
# that find_package(weir COMPONENTS core) looks for nothing that core does not need. A layer is
# installed if it has been built by then: `cmake --install` works after any target.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

function(weir_install_layers)
    get_property(layers GLOBAL PROPERTY WEIR_LAYERS)

    set(WEIR_LAYER_TABLE "")
    foreach(layer IN LISTS layers)
        add_subdirectory("${PROJECT_SOURCE_DIR}/cmake/install_layer"
            "${PROJECT_BINARY_DIR}/install/${layer}")
        get_property(stack GLOBAL PROPERTY WEIR_STACK_OF_${layer})
        get_property(packages GLOBAL PROPERTY WEIR_PACKAGES_OF_${layer})
        list(JOIN stack " " stack)
        list(JOIN packages " " packages)
        string(APPEND WEIR_LAYER_TABLE
            "set(_weir_stack_of_${layer} ${stack})\n"
            "set(_weir_packages_of_${layer} ${packages})\n")
    endforeach()

    configure_package_config_file(
        "${PROJECT_SOURCE_DIR}/cmake/weir-config.cmake.in"
        "${PROJECT_BINARY_DIR}/weir-config.cmake"
        INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/weir")
    # Before 1.0 a minor version may break its users.
    write_basic_package_version_file("${PROJECT_BINARY_DIR}/weir-config-version.cmake"
        COMPATIBILITY SameMinorVersion)
endfunction()
