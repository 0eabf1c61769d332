"""The page's third-party modules: the lock's, or one error."""

import base64
import hashlib
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from orchestrator.config.load import load_config
from orchestrator.config.models import ConsoleAddress
from orchestrator.errors import ThirdPartyError
from orchestrator.views.console import third_party
from orchestrator.views.console.web.serving import served

IMPORTS = re.compile(rb"""(?:from|import)\s*["']([^"']+)["']""")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own place with the modules, which a test may damage."""
    place = tmp_path / "vendor"
    place.mkdir()
    for each in third_party.PLACE.iterdir():
        (place / each.name).write_bytes(each.read_bytes())
    monkeypatch.setattr(third_party, "PLACE", place)
    return place


@pytest.fixture
def no_npm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")


@pytest.mark.usefixtures("no_npm", "place")
def test_modules_of_the_lock_are_kept() -> None:
    third_party.check()
    third_party.ensure()


def test_a_module_imports_only_files_of_its_folder(place: Path) -> None:
    """The page has no import map: its policy forbids an inline one."""
    for each in place.glob("*.mjs"):
        for name in IMPORTS.findall(each.read_bytes()):
            assert name.startswith(b"./")
            assert (place / name.decode()).is_file()


@pytest.mark.parametrize("name", [*third_party.FILES, "package-lock.json"])
def test_a_missing_file_is_one_error_with_the_fix(place: Path, name: str) -> None:
    (place / name).unlink()
    with pytest.raises(ThirdPartyError) as caught:
        third_party.check()
    assert str(caught.value) == (
        f"{place / name}: a file of the console is missing."
        " In a clone, run `make console`; otherwise reinstall kraftgate."
    )


def test_modules_of_another_lock_are_refused(place: Path) -> None:
    (place / "package-lock.json").write_text("{}")
    with pytest.raises(ThirdPartyError, match=r"the console's modules are not those of .*make"):
        third_party.check()


@pytest.mark.usefixtures("store")
def test_the_console_does_not_start_without_its_modules(place: Path, config_file: Path) -> None:
    (place / "preact.mjs").unlink()
    wanted = ConsoleAddress.model_validate({"listen": "127.0.0.1:0"})
    with (
        pytest.raises(ThirdPartyError, match=r"preact\.mjs"),
        served(load_config(config_file), wanted),
    ):
        pytest.fail("it was served")


@pytest.mark.usefixtures("no_npm")
def test_without_npm_the_error_names_its_package(place: Path) -> None:
    (place / "htm.mjs").unlink()
    with pytest.raises(ThirdPartyError, match=r"^npm is not installed\. Run: apt-get install npm$"):
        third_party.ensure()


@pytest.mark.slow
def test_a_package_that_does_not_match_the_lock_is_one_error(tmp_path: Path) -> None:
    """The real npm, with a package that lies on the disk."""
    package, other = _package(tmp_path / "it.tgz"), hashlib.sha512(b"another").digest()
    folder = _locked(tmp_path, package, other)
    with pytest.raises(ThirdPartyError) as caught, third_party.installed(folder):
        pytest.fail("it was installed")
    said = str(caught.value)
    assert said.startswith(f"{folder}/package-lock.json: a package does not match the lock: ")
    assert base64.b64encode(other).decode() in said
    assert "\n" not in said


@pytest.mark.slow
def test_a_package_that_matches_the_lock_is_installed(tmp_path: Path) -> None:
    package = _package(tmp_path / "it.tgz")
    folder = _locked(tmp_path, package, hashlib.sha512(package.read_bytes()).digest())
    with third_party.installed(folder) as packages:
        assert (packages / "it/it.mjs").read_text() == "export const it = 1;"


@pytest.mark.slow
def test_another_failure_of_npm_is_one_error(tmp_path: Path) -> None:
    package = _package(tmp_path / "it.tgz")
    folder = _locked(tmp_path, package, hashlib.sha512(package.read_bytes()).digest())
    package.unlink()
    with pytest.raises(ThirdPartyError) as caught, third_party.installed(folder):
        pytest.fail("it was installed")
    assert "`npm ci` failed with exit code" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_wheel_holds_the_modules(tmp_path: Path) -> None:
    """By the build's own reading of pyproject.toml, which also names the step that fetches them."""
    root = Path(third_party.__file__).parents[third_party.__name__.count(".")]
    asked = (
        "from setuptools import Distribution;"
        "found = Distribution({'script_name': 'setup.py'}); found.parse_config_files();"
        f"found.get_command_obj('egg_info').egg_base = {str(tmp_path)!r};"
        "step = found.get_command_obj('build_py'); step.ensure_finalized();"
        "print(type(step).__module__);"
        "[print(f'{part[1]}/{name}') for part in step.data_files for name in part[3]]"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=root, capture_output=True, text=True, check=True
    )
    held = done.stdout.splitlines()
    assert third_party.__name__.replace("third_party", "build_py") in held
    wanted = {str((third_party.PLACE / name).relative_to(root)) for name in third_party.FILES}
    assert wanted <= {str(Path(each)) for each in held}


def test_a_lock_names_versions_and_hashes_and_no_host() -> None:
    text = (third_party.FOLDER / "package-lock.json").read_text("utf-8")
    assert "://" not in text
    packages = {name: each for name, each in json.loads(text)["packages"].items() if name}
    assert packages
    assert all(each["integrity"].startswith("sha512-") for each in packages.values())


def _package(path: Path) -> Path:
    source = path.parent / "source"
    source.mkdir()
    (source / "it.mjs").write_text("export const it = 1;")
    (source / "package.json").write_text(json.dumps({"name": "it", "version": "1.0.0"}))
    with tarfile.open(path, "w:gz") as archive:
        archive.add(source, "package")
    return path


def _locked(tmp_path: Path, package: Path, digest: bytes) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    wanted = {"dependencies": {"it": f"file:{package}"}}
    found = {
        "version": "1.0.0",
        "resolved": f"file:{package}",
        "integrity": f"sha512-{base64.b64encode(digest).decode()}",
    }
    lock = {"lockfileVersion": 3, "packages": {"": wanted, "node_modules/it": found}}
    (folder / "package.json").write_text(json.dumps(wanted))
    (folder / "package-lock.json").write_text(json.dumps(lock))
    return folder
