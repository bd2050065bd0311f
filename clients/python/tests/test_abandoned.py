"""What a killed run leaves behind is removed by the next one, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from restante import Server
from restante._abandoned import prefix, remove_abandoned

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there, directories of other processes are left alone")


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_directories_of_dead_runs_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead, alive = tmp_path / f"{prefix()}{ended_process()}-a", tmp_path / f"{prefix()}{os.getpid()}-b"
    other, own = tmp_path / "restante-py-notes", tmp_path / f"{prefix()}notes-c"
    # Of a process in another container, which shares the directory and not the process ids.
    elsewhere = tmp_path / f"restante-py-{os.getuid()}-999999999-{ended_process()}-d"
    for directory in (dead, alive, other, own, elsewhere):
        (directory / "data").mkdir(parents=True)
        (directory / "data" / "lock").touch()
    remove_abandoned()
    assert sorted(tmp_path.iterdir()) == sorted([alive, other, own, elsewhere])


def test_a_directory_with_a_running_server_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Server() as server:
        directory = server.log_path.parent
        # As if its process had ended, and the server had not seen that yet.
        seen = tmp_path / f"{prefix()}{ended_process()}-d"
        seen.symlink_to(directory, target_is_directory=True)
        remove_abandoned()
        assert seen.exists()
        assert (directory / "data").exists()
