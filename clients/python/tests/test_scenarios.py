"""What every client must do: each scenario of clients/scenarios.json, sync, on asyncio and on trio."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from scenarios import Scenario

from restante import Server

SCENARIOS = json.loads((Path(__file__).parents[2] / "scenarios.json").read_text())["scenarios"]


@pytest.mark.parametrize("style", ["sync", "asyncio", "trio"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario["name"] for scenario in SCENARIOS])
def test_scenario(scenario: Any, style: str, server: Server, tmp_path: Path) -> None:
    with nullcontext() if style == "sync" else start_blocking_portal(style) as portal:
        Scenario(scenario, server, portal).play(tmp_path)
