# SPDX-License-Identifier: MIT
"""Conan 2 recipe of the library, for the clone that it lies in:

    conan create packaging/conan --build=missing -o 'weir/*:http=True'
"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

# Each layer: those under it, its packages in Conan, their components, and the CMake package that is
# hidden where the layer is not wanted.
LAYERS = {
    "core": {"layers": []},
    "flow": {"layers": ["core"]},
    "io": {
        "layers": ["core"],
        "requires": ["openssl/[>=3 <4]", "c-ares/[>=1.18 <2]", "liburing/[>=2.3 <3]"],
        "components": ["openssl::openssl", "c-ares::c-ares", "liburing::liburing"],
        "hide": "CAres",
    },
    "http": {
        "layers": ["flow", "io"],
        "requires": ["boost/[>=1.81 <2]", "libcurl/[>=7.80 <9]", "zlib/[>=1.2.11 <2]",
                     "brotli/[>=1.0 <2]", "libidn2/[>=2.0 <3]"],
        "components": ["boost::headers", "boost::json", "libcurl::libcurl", "zlib::zlib",
                       "brotli::brotli", "libidn2::libidn2"],
        "hide": "BoostJson",
    },
    "ws": {
        "layers": ["http"],
        "requires": ["wslay/[>=1.1 <2]"],
        "components": ["wslay::wslay"],
        "hide": "Wslay",
    },
    "db": {
        "layers": ["flow", "io"],
        "requires": ["libpq/[>=14]", "sqlite3/[>=3.40 <4]", "hiredis/[>=1.0 <2]"],
        "components": ["libpq::libpq", "sqlite3::sqlite3", "hiredis::hiredis"],
        "hide": "LibPQ",
    },
    "crawl": {"layers": ["http", "db"]},
    "service": {
        "layers": ["http", "ws", "db", "crawl"],
        "requires": ["date/[>=3.0 <4]"],
        "components": ["date::date"],
        "hide": "date",
    },
    "program": {
        "layers": ["service"],
        "requires": ["spdlog/[>=1.10 <2]", "cli11/[>=2.3 <3]"],
        "components": ["spdlog::spdlog", "cli11::cli11"],
        "hide": "spdlog",
    },
    "testing": {
        "layers": ["core"],
        "requires": ["gtest/[>=1.12 <2]"],
        "components": ["gtest::gtest"],
        "hide": "GTest",
    },
    "testing_io": {"layers": ["testing", "io"]},
}
OPTIONAL = [name for name, layer in LAYERS.items() if "hide" in layer]


class Weir(ConanFile):
    name = "weir"
    description = "Structured concurrency and flow control for C++20"
    license = "MIT"
    topics = ("coroutines", "structured-concurrency", "rate-limiting", "asyncio")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False],
               **{name: [True, False] for name in OPTIONAL}}
    default_options = {"shared": False, "fPIC": True,
                       **{name: name == "io" for name in OPTIONAL}}

    def set_version(self):
        text = load(self, os.path.join(self._clone, "CMakeLists.txt"))
        self.version = re.search(r"VERSION (\d+\.\d+\.\d+)", text).group(1)

    @property
    def _clone(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*",
                        "tools/weir/dashboard/*"):
            copy(self, pattern, self._clone, self.export_sources_folder)

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def layout(self):
        cmake_layout(self)

    def _has(self, name):
        """A layer that is wanted by itself or by one above it."""
        layer = LAYERS[name]
        if "hide" not in layer:
            return all(self._has(lower) for lower in layer["layers"])
        return bool(self.options.get_safe(name)) or any(
            name in above["layers"] and self._has(other)
            for other, above in LAYERS.items() if "hide" in above)

    def requirements(self):
        for name, layer in LAYERS.items():
            if self._has(name):
                for requirement in layer.get("requires", []):
                    self.requires(requirement, transitive_headers=True)

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Weir is for Linux")
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["WEIR_UNITY"] = "ON"
        for part in ("TESTS", "PROGRAM", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"WEIR_BUILD_{part}"] = "OFF"
        for name in OPTIONAL:
            if not self._has(name):
                hidden = LAYERS[name]["hide"]
                toolchain.cache_variables[f"CMAKE_DISABLE_FIND_PACKAGE_{hidden}"] = "ON"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # Conan makes its own from package_info().
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "weir")
        for name, layer in LAYERS.items():
            if not self._has(name):
                continue
            component = self.cpp_info.components[name]
            component.set_property("cmake_target_name", f"weir::{name}")
            component.set_property("pkg_config_name", f"weir-{name}")
            component.libs = [f"weir_{name}"]
            component.requires = layer["layers"] + layer.get("components", [])
            if name == "core":
                component.system_libs = ["pthread"]
            if name == "io" and not self.options.shared:
                # Nothing else makes the linker take io_uring from the archive.
                component.exelinkflags = ["-Wl,--undefined=_ZN4weir6detail16try_uring_driverEv"]
