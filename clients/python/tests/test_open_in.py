"""A message in a browser, with Playwright's async interface; examples/playwright has the synchronous one."""

import asyncio
import os

from mail import mail
from playwright.async_api import async_playwright

from restante import AsyncRestante, Restante, Server

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
IMAGE = "https://images.invalid/pixel.gif"
HTML = """<h1>Hello</h1><script>document.title = "ran"</script><img src="{image}">
<a href="data:text/html,Welcome">No link of a mail</a> <a href="{url}/v1/health">Health</a>"""


def test_a_message_is_shown_as_a_mail_client_shows_it(client: Restante, server: Server) -> None:
    async def show(message_id: str) -> None:
        async with AsyncRestante(server.started.url, server.api_key) as restante, async_playwright() as playwright:
            # CHROMIUM=/usr/bin/chromium takes a browser that is there already.
            browser = await playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM"), args=FLAGS)
            page = await browser.new_page()
            blocked: dict[str, str | None] = {}
            page.on("requestfailed", lambda request: blocked.update({request.url: request.failure}))
            await (await restante.message(message_id)).open_in(page)
            assert await page.get_by_role("heading").inner_text() == "Hello"
            assert await page.title() != "ran"
            assert blocked == {IMAGE: "csp"}
            await page.get_by_role("link", name="Health").click()
            await page.wait_for_url("**/v1/health")
            await browser.close()

    inbox = client.create_inbox()
    mail(client.smtp, inbox.address, "Hello", "Hello", HTML.format(url=client.url, image=IMAGE))
    asyncio.run(show(inbox.wait_for_message().id))
