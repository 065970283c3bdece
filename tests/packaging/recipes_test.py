#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The vcpkg port, the Conan recipe and the Containerfile name options, layers, packages and files
that the build has. Conan itself is not needed: small classes stand in for it."""

import importlib.util
import json
import pathlib
import re
import sys
import types
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
PACKAGING = ROOT / "packaging"
BUILD = (ROOT / "CMakeLists.txt").read_text()
VERSION = re.search(r"VERSION (\d+\.\d+\.\d+)", BUILD)[1]


def layers_of_build():
    """{layer: (the layers under it, its CMake packages)}"""
    found = {}
    for name, body in re.findall(r"^weir_add_layer\((\w+)(.*?)\)$", BUILD, re.M | re.S):
        words = {"LAYERS": [], "PACKAGES": []}
        keyword = None
        for word in body.split():
            if re.fullmatch(r"[A-Z_]{4,}", word):
                keyword = word
            elif keyword in words and not word.startswith("$"):
                words[keyword].append(word)
        found[name] = (words["LAYERS"], words["PACKAGES"])
    return found


def options_of_build():
    texts = [BUILD, *(path.read_text() for path in (ROOT / "cmake").glob("*.cmake"))]
    return set(re.findall(r"(?:option\(|set\()(WEIR_\w+)", "".join(texts)))


LAYERS = layers_of_build()


def packaged_below(name):
    """The layers under it that have packages; one without packages is made where those under it
    are."""
    found = set()
    for lower in LAYERS[name][0]:
        found |= {lower} if LAYERS[lower][1] else packaged_below(lower)
    return found


class Vcpkg(unittest.TestCase):
    def setUp(self):
        self.manifest = json.loads((PACKAGING / "vcpkg/weir/vcpkg.json").read_text())
        self.port = (PACKAGING / "vcpkg/weir/portfile.cmake").read_text()

    def test_version(self):
        self.assertEqual(self.manifest["version"], VERSION)

    def test_each_layer_with_packages_is_a_feature(self):
        optional = {name for name, (_, packages) in LAYERS.items() if packages and name != "core"}
        self.assertEqual(set(self.manifest["features"]), optional)

    def test_features_bring_the_layers_below(self):
        for name, feature in self.manifest["features"].items():
            below = {lower for each in feature["dependencies"]
                     if isinstance(each, dict) and each["name"] == "weir"
                     for lower in each["features"]}
            reached = set(below)
            for lower in below:
                reached |= set(LAYERS[lower][0])
            with self.subTest(name):
                self.assertLessEqual(packaged_below(name) - {"core"}, reached)

    def test_hides_a_package_of_each_feature(self):
        hidden = dict(re.findall(r"(\w+) CMAKE_DISABLE_FIND_PACKAGE_(\w+)", self.port))
        self.assertEqual(set(hidden), set(self.manifest["features"]))
        for feature, package in hidden.items():
            self.assertIn(package, LAYERS[feature][1])

    def test_options_exist(self):
        self.assertLessEqual(set(re.findall(r"-D(WEIR_\w+)", self.port)), options_of_build())


def stand_in(name, **members):
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module


def load_conanfile():
    nothing = lambda *_, **__: None
    stand_in("conan", ConanFile=object)
    stand_in("conan.errors", ConanInvalidConfiguration=Exception)
    stand_in("conan.tools")
    stand_in("conan.tools.build", check_min_cppstd=nothing)
    stand_in("conan.tools.cmake", CMake=None, CMakeDeps=None, CMakeToolchain=None,
             cmake_layout=nothing)
    stand_in("conan.tools.files", copy=nothing, rmdir=nothing,
             load=lambda _, path: pathlib.Path(path).read_text())
    path = PACKAGING / "conan" / "conanfile.py"
    spec = importlib.util.spec_from_file_location("conanfile", path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


class Options(dict):
    get_safe = dict.get
    __getattr__ = dict.get


class Conan(unittest.TestCase):
    def setUp(self):
        self.module = load_conanfile()

    def recipe(self, **options):
        recipe = self.module.Weir()
        recipe.recipe_folder = str(PACKAGING / "conan")
        recipe.options = Options(recipe.default_options, **options)
        return recipe

    def test_version(self):
        recipe = self.recipe()
        recipe.set_version()
        self.assertEqual(recipe.version, VERSION)

    def test_layers_are_those_of_the_build(self):
        self.assertEqual({name: layer["layers"] for name, layer in self.module.LAYERS.items()},
                         {name: lower for name, (lower, _) in LAYERS.items()})
        for name, layer in self.module.LAYERS.items():
            if "hide" in layer:
                self.assertIn(layer["hide"], LAYERS[name][1])

    def test_requires_packages_of_wanted_layers(self):
        def required(**options):
            recipe = self.recipe(**options)
            found = []
            recipe.requires = lambda name, **_: found.append(name.partition("/")[0])
            recipe.requirements()
            return set(found)

        self.assertEqual(required(io=False), set())
        self.assertEqual(required(), {"openssl", "c-ares", "liburing"})
        self.assertLessEqual({"date", "wslay", "boost", "sqlite3", "openssl"},
                             required(io=False, service=True))

    def test_options_and_linker_flag_exist(self):
        text = (PACKAGING / "conan" / "conanfile.py").read_text()
        options = {f"WEIR_BUILD_{part}" for part in ("TESTS", "PROGRAM", "EXAMPLES", "BENCH")}
        self.assertLessEqual(options | {"WEIR_UNITY"}, options_of_build())
        self.assertIn(re.search(r"--undefined=\w+", text)[0], BUILD)
        for folder in re.findall(r'"(\w+)/\*"', text):
            self.assertTrue((ROOT / folder).is_dir())


class Container(unittest.TestCase):
    def test_uses_what_exists(self):
        text = (PACKAGING / "Containerfile").read_text()
        presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
        for preset in re.findall(r"--preset (\w+)", text):
            self.assertIn(preset, [each["name"] for each in presets])
        for what in re.findall(r"install-deps (\w+)", text):
            self.assertRegex((ROOT / "tools/dev/packages.sh").read_text(), rf"\b{what}\) lists=")
        for target in re.findall(r"--target (\w+)", text):
            self.assertIn(f"add_executable({target} ",
                          (ROOT / "tools/weir/CMakeLists.txt").read_text())
        package = (PACKAGING / "debian/cpack.cmake").read_text()
        chosen = re.findall(r"CPACK_COMPONENTS_ALL=(\w+)", text)
        self.assertEqual(len(chosen), 1)
        self.assertIn(f"cpack_add_component({chosen[0]} GROUP program)", package)
        instructions = re.findall(r"^([A-Z]+) ", text, re.M)
        self.assertEqual(instructions.count("FROM"), 2)
        self.assertLess(instructions.index("USER"), instructions.index("ENTRYPOINT"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
