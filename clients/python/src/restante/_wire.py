"""The responses of the server as frozen dataclasses. Written by clients/generate.py."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

__all__ = [
    "Arrived",
    "ArrivedMessages",
    "AttachmentInfo",
    "Authentication",
    "Code",
    "Details",
    "DkimCheck",
    "DmarcCheck",
    "Ended",
    "Envelope",
    "EventFilters",
    "Exchange",
    "Explanation",
    "Fault",
    "FaultState",
    "Header",
    "Health",
    "HtmlFeature",
    "HtmlSupport",
    "InboxData",
    "InboxEvent",
    "Link",
    "ListUnsubscribe",
    "Mailbox",
    "MessageChecks",
    "MessageFields",
    "Otp",
    "Problem",
    "Refused",
    "SendApisUse",
    "Sent",
    "Similar",
    "SmtpUse",
    "SpfCheck",
]


@dataclass(frozen=True)
class Health:
    """The server answers."""

    status: Literal["ok"]


@dataclass(frozen=True)
class InboxData:
    """An address at which a test receives mail."""

    id: str
    address: str
    kind: Literal["temporary", "permanent"]
    created_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True)
class MessageFields:
    """A received message."""

    id: str
    inbox_id: str
    from_: str
    to: str
    subject: str
    text: str
    html: str
    links: tuple[str, ...]
    otp: str
    received_at: datetime


@dataclass(frozen=True)
class Envelope:
    """How a message arrived."""

    from_: str
    to: str
    helo: str | None
    client: str | None
    tls: Literal["TLSv1.2", "TLSv1.3"] | None
    authenticated: bool | None
    via: Literal["smtp", "api", "ses", "resend", "sendgrid", "postmark", "mailgun", "mailpit"] | None


@dataclass(frozen=True)
class Header:
    """A header field."""

    name: str
    value: str


@dataclass(frozen=True)
class Mailbox:
    """A name and an address in a header field."""

    name: str | None
    address: str | None


@dataclass(frozen=True)
class Otp:
    """A one-time code, and how it was recognised."""

    code: str
    rule: Literal[
        "domain_bound",
        "label_before",
        "label_after",
        "alone_below_label",
        "same_sentence",
        "alone_above_label",
        "six_digits",
    ]
    line: str


@dataclass(frozen=True)
class Code:
    """A labelled code in any form, and how it was recognised."""

    code: str
    rule: Literal[
        "domain_bound",
        "label_before",
        "label_after",
        "alone_below_label",
        "same_sentence",
        "alone_above_label",
        "six_digits",
    ]
    line: str


@dataclass(frozen=True)
class Link:
    """A link with its text."""

    url: str
    text: str | None
    source: Literal["html", "text"]


@dataclass(frozen=True)
class AttachmentInfo:
    """An attachment without its bytes."""

    index: int
    filename: str | None
    content_type: str
    size: int
    content_id: str | None
    inline: bool


@dataclass(frozen=True)
class ListUnsubscribe:
    """The List-Unsubscribe header."""

    urls: tuple[str, ...]
    one_click: bool


@dataclass(frozen=True)
class Details:
    """All details of one message."""

    id: str
    inbox_id: str
    size: int
    received_at: datetime
    envelope: Envelope
    headers: tuple[Header, ...]
    from_: tuple[Mailbox, ...]
    to: tuple[Mailbox, ...]
    cc: tuple[Mailbox, ...]
    reply_to: tuple[Mailbox, ...]
    message_id: str | None
    in_reply_to: str | None
    date: datetime | None
    otp: Otp | None
    code: Code | None
    codes: tuple[Code, ...]
    links: tuple[Link, ...]
    attachments: tuple[AttachmentInfo, ...]
    list_unsubscribe: ListUnsubscribe | None


@dataclass(frozen=True)
class Sent:
    """An accepted message."""

    id: str
    status: Literal["queued"]


@dataclass(frozen=True)
class Fault:
    """What fails, and when: `rcpt` is at RCPT TO for this recipient, `data` after the message was received."""

    at: Literal["rcpt", "data"]
    do: Literal["defer", "reject", "disconnect", "reset", "delay", "bounce", "drop", "duplicate"]
    times: int = 1
    reply: str | None = None
    store: bool | None = None
    seconds: int | None = None


@dataclass(frozen=True)
class FaultState:
    """A fault as given, with its uses."""

    at: Literal["rcpt", "data"]
    do: Literal["defer", "reject", "disconnect", "reset", "delay", "bounce", "drop", "duplicate"]
    times: int
    left: int
    used: int
    uses: tuple[datetime, ...]
    reply: str | None = None
    seconds: int | None = None
    store: bool | None = None


@dataclass(frozen=True)
class Ended:
    """How an inbox ended."""

    reason: Literal["expired", "deleted"]
    at: datetime


@dataclass(frozen=True)
class Arrived:
    """A received message, with the filters that exclude it."""

    id: str
    from_: str
    subject: str
    received_at: datetime
    missed_by: tuple[str, ...]


@dataclass(frozen=True)
class ArrivedMessages:
    """How many messages are in the inbox, and the newest."""

    count: int
    latest: tuple[Arrived, ...]


@dataclass(frozen=True)
class Refused:
    """Mail that was rejected."""

    at: datetime
    client: str
    sender: str
    recipient: str
    reply: str


@dataclass(frozen=True)
class Similar:
    """Another inbox that received mail."""

    address: str
    messages: int
    last_received_at: datetime


@dataclass(frozen=True)
class SmtpUse:
    """The use of SMTP."""

    connections_open: int
    last_connection_at: datetime | None
    last_message_at: datetime | None


@dataclass(frozen=True)
class SendApisUse:
    """When each API for sending was last used; null if it was not."""

    ses: datetime | None
    resend: datetime | None
    sendgrid: datetime | None
    postmark: datetime | None
    mailgun: datetime | None


@dataclass(frozen=True)
class Explanation:
    """The explanation of a missing message."""

    summary: str
    report: str
    cause: Literal[
        "inbox_expired",
        "inbox_deleted",
        "late",
        "arrived",
        "unexpected",
        "filter_missed",
        "nothing_new",
        "fault",
        "bare_line_end",
        "inbox_full",
        "other_domain",
        "rejected",
        "typo",
        "other_address",
        "login_failed",
        "tls_failed",
        "wrong_port",
        "no_mail",
        "sent_elsewhere",
        "nothing_connected",
    ]
    inbox: InboxData | None
    ended: Ended | None
    messages: ArrivedMessages
    refused: tuple[Refused, ...]
    similar: tuple[Similar, ...]
    smtp: SmtpUse
    send_apis: SendApisUse


@dataclass(frozen=True)
class EventFilters:
    """The filters of a wait."""

    timeout: int
    subject: str | None = None
    from_: str | None = None
    to: str | None = None
    text: str | None = None
    header: str | None = None
    has: str | None = None
    after: str | None = None
    client: str | None = None


@dataclass(frozen=True)
class Exchange:
    """An SMTP command with its reply. It never contains a password, a body or a key."""

    command: str
    reply: str


@dataclass(frozen=True)
class InboxEvent:
    """One event. A field that its kind does not have is missing."""

    at: datetime
    kind: Literal[
        "created",
        "claimed",
        "wait_started",
        "wait_ended",
        "smtp",
        "send_api",
        "fault_used",
        "stored",
        "refused",
        "sent",
        "expired",
        "deleted",
    ]
    text: str
    filters: EventFilters | None = None
    outcome: str | None = None
    message_id: str | None = None
    failure: str | None = None
    client: str | None = None
    tls: str | None = None
    commands: tuple[Exchange, ...] | None = None


@dataclass(frozen=True)
class Problem:
    """A problem of a message."""

    check: Literal[
        "placeholder",
        "link",
        "text_part",
        "image",
        "size",
        "headers",
        "unsubscribe",
        "html_support",
        "accessibility",
    ]
    severity: Literal["error", "warning"]
    detail: str
    part: Literal["header", "text", "html"] | None
    line: int | None
    source: str | None


@dataclass(frozen=True)
class HtmlFeature:
    """A feature of HTML or CSS. The data is from caniemail.com."""

    slug: str
    title: str
    yes: int
    partly: int
    no: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class HtmlSupport:
    """How many mail clients support the HTML and CSS of a message."""

    support_percent: int
    features: tuple[HtmlFeature, ...]


@dataclass(frozen=True)
class SpfCheck:
    """The result of SPF (RFC 7208)."""

    result: Literal["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"]
    domain: str | None
    client: str | None
    detail: str


@dataclass(frozen=True)
class DkimCheck:
    """The result of a DKIM signature (RFC 6376, RFC 8463)."""

    result: Literal["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"]
    domain: str | None
    selector: str | None
    detail: str


@dataclass(frozen=True)
class DmarcCheck:
    """The result of DMARC (RFC 9989, which replaces RFC 7489)."""

    result: Literal["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"]
    domain: str | None
    policy: Literal["none", "quarantine", "reject"] | None
    spf_aligned: bool
    dkim_aligned: bool
    detail: str


@dataclass(frozen=True)
class Authentication:
    """SPF, DKIM and DMARC of a message, with the present records of the DNS."""

    spf: SpfCheck
    dkim: tuple[DkimCheck, ...]
    dmarc: DmarcCheck


@dataclass(frozen=True)
class MessageChecks:
    """The results of the checks of a message."""

    problems: tuple[Problem, ...]
    html: HtmlSupport | None
    authentication: Authentication | None
