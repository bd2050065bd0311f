"""What the tests share. Each server is a real one, with its own data."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from watched import Watched

from restante import Restante, Server
from restante._binary import find_binary
from restante._connection import connect

pytest_plugins = ["pytester"]

# The settings of the person who runs the tests must not change them.
for name in [name for name in os.environ if name.startswith("RESTANTE_") and name != "RESTANTE_BIN"]:
    del os.environ[name]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[Restante]:
    # Without `server`, which is shared, so that closing the client does not stop it.
    with Restante(connection=replace(connect(None, None, None, server), server=None)) as client:
        yield client


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """The servers that a test starts."""
    watched = Watched(tmp_path, find_binary())
    monkeypatch.setenv("RESTANTE_BIN", str(watched.program))
    monkeypatch.setenv("TMPDIR", str(watched.temporary))
    yield watched
    watched.close()
