# SPDX-License-Identifier: BSD-3-Clause
"""conan create packaging/conan, in the unpacked archive of a release (it has the configure script).

The libraries that the tool is built with are the system's: Conan is asked to see to Debian's packages of them.
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, load, rm, rmdir
from conan.tools.gnu import Autotools, AutotoolsToolchain
from conan.tools.layout import basic_layout
from conan.tools.system import package_manager


class Libcprof(ConanFile):
    name = "libcprof"
    description = "In-process profiler for native programs: CPU time, wall-clock time, heap, lock waits, I/O and events"
    license = "BSD-3-Clause"
    topics = ("profiler", "pprof")
    settings = "os", "arch", "compiler", "build_type"
    package_type = "shared-library"
    top = ("..", "..")

    def set_version(self):
        configure = load(self, os.path.join(self.recipe_folder, *self.top, "configure.ac"))
        self.version = re.search(r"AC_INIT\(\[libcprof\], *\[([0-9.]+)\]", configure).group(1)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("libcprof runs on Linux, x86_64 and aarch64")

    def configure(self):
        self.settings.rm_safe("compiler.libcxx")
        self.settings.rm_safe("compiler.cppstd")

    def export_sources(self):
        copy(self, "*", os.path.join(self.recipe_folder, *self.top), self.export_sources_folder,
             excludes=("b/*", "build/*", "build-ci/*", ".git/*"))

    def layout(self):
        basic_layout(self, src_folder=".")

    def system_requirements(self):
        package_manager.Apt(self).install(["libunwind-dev", "zlib1g-dev", "libiberty-dev", "protobuf-c-compiler",
                                           "libprotobuf-c-dev", "libdw-dev", "libpcre2-dev"], check=True)

    def generate(self):
        AutotoolsToolchain(self).generate()

    def build(self):
        autotools = Autotools(self)
        autotools.configure(args=["--disable-static"])
        autotools.make()

    def package(self):
        copy(self, "COPYING", self.source_folder, os.path.join(self.package_folder, "licenses"))
        Autotools(self).install(target="install-strip")
        rm(self, "*.la", os.path.join(self.package_folder, "lib"))
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.libs = ["cprof"]
        self.cpp_info.includedirs.append(os.path.join("include", "libcprof"))
        self.cpp_info.set_property("pkg_config_name", "libcprof")
        self.cpp_info.set_property("cmake_file_name", "cprof")
        self.cpp_info.set_property("cmake_target_name", "cprof::cprof")
