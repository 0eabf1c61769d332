"""The build step that puts the page's third-party modules into the wheel.

pyproject.toml names it. setuptools loads this file by its path, so it imports nothing of Kraftgate.
"""

import subprocess
import sys

from setuptools.command.build_py import build_py


class BuildPy(build_py):  # type: ignore[misc]  # setuptools has no types
    """setuptools' own step, once the modules are there."""

    def run(self) -> None:
        """Run it; end the build with the error's one line when the modules cannot be had."""
        module = f"{__name__.rpartition('.')[0]}.third_party"
        done = subprocess.run([sys.executable, "-m", module], check=False)
        if done.returncode != 0:
            # Not an Exception: an editable install only warns of those.
            sys.exit(done.returncode)
        super().run()
