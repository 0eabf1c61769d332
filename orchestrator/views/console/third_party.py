"""The page's third-party modules: npm packages that `package-lock.json` locks by version and hash.

The build installs them with npm and copies the files that the page loads to `static/vendor`; the
wheel contains the copies, so that the page needs no internet. This module imports only modules
that are available before Kraftgate's dependencies are installed.
"""

import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from orchestrator.errors import KraftgateError, ThirdPartyError

FOLDER: Final = Path(__file__).parent
PLACE: Final = FOLDER / "static" / "vendor"
FILES: Final = {
    "preact.mjs": "preact/dist/preact.mjs",
    "hooks.mjs": "preact/hooks/dist/hooks.mjs",
    "htm.mjs": "htm/dist/htm.mjs",
    "LICENSE.preact": "preact/LICENSE",
    "LICENSE.htm": "htm/LICENSE",
}
"""The file of the page, and the file of the package."""
_MANIFEST: Final = "package.json"
_LOCK: Final = "package-lock.json"
_BARE_IMPORT: Final = b'from"preact"'
_PATH_IMPORT: Final = b'from"./preact.mjs"'
_NPM_S_MAX: Final = 300.0
_ERROR_LINES_MAX: Final = 6
_NPM_PREFIX: Final = re.compile(r"^npm (error|ERR!)")


def ensure() -> None:
    """Copy the modules to `static/vendor`, unless those of the lock are there already.

    Raises:
        ThirdPartyError: npm is missing or failed, or a package does not match the lock.
    """
    if _problem() is not None:
        PLACE.mkdir(exist_ok=True)
        with installed(FOLDER) as packages:
            for name, path in FILES.items():
                _write(PLACE / name, _module(packages / path))
        _write(PLACE / _LOCK, (FOLDER / _LOCK).read_bytes())


def check() -> None:
    """Check that the page can load its modules.

    Raises:
        ThirdPartyError: a module is missing, or the modules are not those of the lock.
    """
    if problem := _problem():
        raise ThirdPartyError(
            f"{problem}. In a clone, run `make console`; otherwise reinstall kraftgate."
        )


@contextlib.contextmanager
def installed(folder: Path) -> Iterator[Path]:
    """Install the packages that the lock in `folder` names; yield their `node_modules`.

    npm's own settings name the registry. No package's install script runs.

    Raises:
        ThirdPartyError: npm is missing or failed, or a package does not match the lock.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise ThirdPartyError("npm is not installed. Run: apt-get install npm")
    with tempfile.TemporaryDirectory(prefix="kraftgate-npm-") as scratch:
        for name in (_MANIFEST, _LOCK):
            shutil.copyfile(folder / name, Path(scratch) / name)
        _npm_ci(npm, Path(scratch), folder / _LOCK)
        yield Path(scratch) / "node_modules"


def _npm_ci(npm: str, scratch: Path, lock: Path) -> None:
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        done = subprocess.run(
            command,
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_NPM_S_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ThirdPartyError(
            f"`npm ci` did not end within {_NPM_S_MAX:.0f} s. Check npm's registry and try again."
        ) from error
    if done.returncode == 0:
        return
    lines = [_NPM_PREFIX.sub("", line).strip() for line in done.stderr.splitlines()]
    for line in lines:
        if "checksum failed" in line:
            raise ThirdPartyError(
                f"{lock}: a package does not match the lock: {line}"
                " Do not install it: find out why the package changed."
            )
    output = "; ".join(line for line in lines[:_ERROR_LINES_MAX] if line)
    raise ThirdPartyError(
        f"{lock}: `npm ci` failed with exit code {done.returncode}: {output}."
        " Check npm's registry and proxy settings and try again."
    )


def _problem() -> str | None:
    """Return what is wrong with the copied modules; None: the page can load them."""
    for name in (*FILES, _LOCK):
        if not (PLACE / name).is_file():
            return f"{PLACE / name}: a file of the console is missing"
    if (PLACE / _LOCK).read_bytes() != (FOLDER / _LOCK).read_bytes():
        return f"{PLACE}: the console's modules are not those of {FOLDER / _LOCK}"
    return None


def _module(path: Path) -> bytes:
    """Return the file's content, with an import that a page can resolve.

    hooks.mjs imports "preact" by name, which needs an inline import map; the page's
    Content-Security-Policy forbids that.
    """
    return path.read_bytes().replace(_BARE_IMPORT, _PATH_IMPORT)


def _write(path: Path, content: bytes) -> None:
    """Replace the file atomically: another process may write or serve it at the same time."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as scratch:
        scratch.write(content)
    written = Path(scratch.name)
    written.chmod(0o644)
    written.replace(path)


if __name__ == "__main__":
    try:
        ensure()
    except KraftgateError as error:
        sys.exit(f"kraftgate: {error}")
