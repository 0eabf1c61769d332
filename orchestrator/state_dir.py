"""The state directory that the configuration names, ready to be written."""

from pathlib import Path

from orchestrator.config import Config
from orchestrator.errors import ConfigError
from streams.state_dir import UnsafeStateDir, prepare


def prepared(config: Config) -> Path:
    """Return the state directory: created or checked, and private to this user.

    Raises:
        ConfigError: it cannot be created, or other users can change it.
    """
    path = config.state_dir
    try:
        prepare(path)
    except UnsafeStateDir as error:
        raise ConfigError([f"{config.path}: `state_dir`: {error}"]) from error
    except OSError as error:
        raise ConfigError(
            [f"{config.path}: `state_dir` {path} cannot be used: {error.strerror}"]
        ) from error
    return path
