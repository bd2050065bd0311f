"""How the workers of pytest-xdist get the connection of their run."""

from __future__ import annotations

import socket
import threading
from multiprocessing import AuthenticationError

import pytest

from restante._run import Desk, Options, Run, WorkerRun


def test_a_connection_that_says_nothing_delays_no_worker() -> None:
    options = Options("http://127.0.0.1:1", "key", 1.0)
    directions = Desk(Run(options)).directions()
    worker = WorkerRun(options, directions)
    with socket.create_connection(directions["address"]):
        asking = threading.Thread(target=worker.connection, daemon=True)
        asking.start()
        asking.join(timeout=30)
        assert not asking.is_alive()
    assert worker.connection().url == "http://127.0.0.1:1"


def test_a_worker_needs_the_key_of_the_run() -> None:
    options = Options("http://127.0.0.1:1", "key", 1.0)
    directions = Desk(Run(options)).directions()
    stranger = WorkerRun(options, {**directions, "key": "00" * 32})
    with pytest.raises(AuthenticationError):
        stranger.connection()
