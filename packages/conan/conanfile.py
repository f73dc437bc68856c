"""cairn for Conan 2:   conan create packages/conan -s compiler.cppstd=20

Options: shared, fPIC, asserts (CAIRN_ASSERTS: a package of its own for each value, so that a program never
gets the other one). The version is CMakeLists.txt's.
"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir


class Cairn(ConanFile):
    name = "cairn"
    license = "MIT"
    description = "Memory for real-time C++: allocators, handles and data layouts"
    topics = ("memory", "allocator", "real-time", "games", "slot-map", "arena")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "asserts": [True, False]}
    default_options = {"shared": False, "fPIC": True, "asserts": True}

    def set_version(self):
        cmake = load(self, os.path.join(self.recipe_folder, "../../CMakeLists.txt"))
        self.version = re.search(r"project\(cairn VERSION ([0-9.]+)", cmake)[1]

    def export_sources(self):
        tree = os.path.join(self.recipe_folder, "../..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "malloc/*", "testing/*",
                        "debuggers/*"):
            copy(self, pattern, tree, self.export_sources_folder)

    def config_options(self):
        if self.settings.os == "Windows":
            del self.options.fPIC

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["CAIRN_TESTS"] = False
        toolchain.cache_variables["CAIRN_ASSERTS"] = bool(self.options.asserts)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan writes these for its users, from package_info().
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "cairn")
        self.cpp_info.set_property("cmake_target_name", "cairn::cairn")
        self.cpp_info.set_property("pkg_config_name", "cairn")
        self.cpp_info.libs = ["cairn"]
        self.cpp_info.defines = [f"CAIRN_ASSERTS={int(bool(self.options.asserts))}"]
        if self.options.shared:
            self.cpp_info.defines.append("CAIRN_SHARED=1")
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
