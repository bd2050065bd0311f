"""A browser signs in with a link that comes by mail. Needs pytest-playwright."""

from playwright.sync_api import expect


def test_a_visitor_signs_in_with_the_link(page, restante_inbox):
    page.goto("/")
    page.get_by_label("Email").fill(restante_inbox.address)
    page.get_by_role("button", name="Send me a link").click()

    message = restante_inbox.wait_for_message(subject="your link")
    page.goto(message.link("/sign-in"))

    expect(page.get_by_text(f"Welcome, {restante_inbox.address}")).to_be_visible()


def test_each_mail_looks_the_same(page, restante_inbox):
    pictures = []
    for _ in range(2):
        page.goto("/")
        page.get_by_label("Email").fill(restante_inbox.address)
        page.get_by_role("button", name="Send me a link").click()
        restante_inbox.wait_for_message().open_in(page)
        pictures.append(page.screenshot(full_page=True))

    assert pictures[0] == pictures[1]


def test_the_mail_looks_right(page, restante_inbox):
    page.goto("/")
    page.get_by_label("Email").fill(restante_inbox.address)
    page.get_by_role("button", name="Send me a link").click()

    restante_inbox.wait_for_message().open_in(page)
    page.get_by_role("link", name="Sign in").click()

    expect(page.get_by_text(f"Welcome, {restante_inbox.address}")).to_be_visible()
