# SPDX-License-Identifier: MIT
#
# Installs the layers that were built, each as a component of the package `weir` with an export file
# of its own, so that find_package(weir COMPONENTS core) looks for nothing that core does not need.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

function(weir_install_layers)
    set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weir")
    get_property(layers GLOBAL PROPERTY WEIR_LAYERS)

    set(WEIR_LAYER_TABLE "")
    foreach(layer IN LISTS layers)
        install(TARGETS weir_${layer} EXPORT weir-${layer} COMPONENT ${layer}
            FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
        install(EXPORT weir-${layer} NAMESPACE weir:: DESTINATION "${package_dir}"
            FILE weir-${layer}-targets.cmake COMPONENT ${layer})
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
        INSTALL_DESTINATION "${package_dir}")
    # Before 1.0 a minor version may break its users.
    write_basic_package_version_file("${PROJECT_BINARY_DIR}/weir-config-version.cmake"
        COMPATIBILITY SameMinorVersion)
    install(FILES
        "${PROJECT_BINARY_DIR}/weir-config.cmake"
        "${PROJECT_BINARY_DIR}/weir-config-version.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/coroutine_probe.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/coroutine_probe.cpp"
        "${PROJECT_SOURCE_DIR}/cmake/weir_embed_assets.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/weir_embed_script.cmake"
        DESTINATION "${package_dir}" COMPONENT core)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/cmake/modules"
        DESTINATION "${package_dir}" COMPONENT core)
    install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT core)
endfunction()
