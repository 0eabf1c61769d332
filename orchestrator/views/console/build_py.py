"""The build step that puts the page's third-party modules into the wheel.

pyproject.toml names it. setuptools loads this file by its path, so it imports nothing of Kraftgate.
"""

import subprocess
import sys

from setuptools.command.build_py import build_py


class BuildPy(build_py):  # type: ignore[misc]  # setuptools has no types
    """setuptools' own step, after the modules are installed."""

    def run(self) -> None:
        """Run the step; if the modules cannot be installed, end the build with one line."""
        module = f"{__name__.rpartition('.')[0]}.third_party"
        done = subprocess.run([sys.executable, "-m", module], check=False)
        if done.returncode != 0:
            # Not an Exception: an editable install only prints a warning for those.
            sys.exit(done.returncode)
        super().run()
