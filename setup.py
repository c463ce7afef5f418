"""Builds the wheel: the C library (by CMake, unless EIGENPAIR_BUILD names a folder where it is built already), the extension
by cffi, and both with the program in one package. `pip install .`, or with Debian alone
`pip wheel . --no-build-isolation --no-deps`."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import cffi  # noqa: F401  without it setuptools would build a wheel that has no extension, and say nothing
from setuptools import setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "python"))
WORK = ROOT / "build" / "python"


def library_folder():
    """The folder with libeigenpair.so and the program, built if need be."""
    given = os.environ.get("EIGENPAIR_BUILD")
    folder = pathlib.Path(given).resolve() if given else WORK / "cmake"
    if not given:
        node = shutil.which("npm") is not None
        subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release", "-DEP_BUILD_TESTS=OFF",
                        f"-DEP_REPORT={'ON' if node else 'OFF'}"], check=True)
        subprocess.run(["cmake", "--build", str(folder), "-j", str(os.cpu_count()), "--target", "eigenpair", "ep_program"],
                       check=True)
    return folder


class build_with_library(build_ext):
    def run(self):
        built = library_folder()
        for extension in self.extensions:
            extension.library_dirs.append(str(built))
        super().run()
        package = pathlib.Path(self.get_ext_fullpath("eigenpair._library")).parent
        package.mkdir(parents=True, exist_ok=True)
        shutil.copyfile((built / "libeigenpair.so.0").resolve(), package / "libeigenpair.so.0")
        shutil.copy2(built / "eigenpair", package / "program")
        write_parameters(package)


def write_parameters(package):
    """_parameters.pyi: types of the estimator's parameters, from the tables of the library that was just built."""
    code = "from eigenpair import _estimator, _options; print(_options.stub(_estimator.TABLE, 'Parameters'), end='')"
    paths = [str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    text = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True, cwd=package.parent,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}).stdout
    (package / "_parameters.pyi").write_text(text)


def version():
    return re.search(r"project\(eigenpair VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


WORK.mkdir(parents=True, exist_ok=True)
setup(
    version=version(),
    packages=["eigenpair"],
    package_dir={"": "python"},
    package_data={"eigenpair": ["py.typed"]},
    cffi_modules=["python/ffi_build.py:ffibuilder"],
    cmdclass={"build_ext": build_with_library},
    options={"bdist_wheel": {"py_limited_api": "cp39"}, "build": {"build_base": "build/python"},
             "egg_info": {"egg_base": "build/python"}},
)
