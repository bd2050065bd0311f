"""Real SDKs for Python send to a running server: RESTANTE_URL, RESTANTE_API_KEY."""

import base64
import json
import os
import urllib.request
from email.message import EmailMessage as MimeMessage
from email.mime.image import MIMEImage

import boto3
import django
import resend
import sendgrid
from anymail.exceptions import AnymailAPIError
from anymail.message import AnymailMessage
from botocore.config import Config
from botocore.exceptions import ClientError
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from postmarker.core import PostmarkClient
from postmarker.exceptions import ClientError as PostmarkError
from python_http_client.exceptions import HTTPError
from sendgrid.helpers.mail import Attachment, Bcc, Cc, Header, Mail, ReplyTo, To

URL = os.environ["RESTANTE_URL"]
KEY = os.environ["RESTANTE_API_KEY"]
FILE = bytes(range(256)) + b"a\nb\r\nc\rd"
IMAGE = base64.b64decode("iVBORw0KGgo=")
VARIABLES = {"code": "482913"}
HTML = '<p>Grüße <img src="cid:logo"> <a href="https://app.example/in">in</a>'
TEXT = "Your code is 482913."
SUBJECT = "Grüße 🐌"

settings.configure(
    ANYMAIL={
        "AMAZON_SES_CLIENT_PARAMS": {
            "endpoint_url": f"{URL}/send/ses",
            "region_name": "us-east-1",
            "aws_access_key_id": "AKIAIOSFODNN7EXAMPLE",
            "aws_secret_access_key": "secret",
        },
        "RESEND_API_KEY": "re_dummy",
        "RESEND_API_URL": f"{URL}/send/resend/",
        "SENDGRID_API_KEY": "SG.dummy",
        "SENDGRID_API_URL": f"{URL}/send/sendgrid/v3/",
        "SENDGRID_GENERATE_MESSAGE_ID": False,
        "POSTMARK_SERVER_TOKEN": "dummy",
        "POSTMARK_API_URL": f"{URL}/send/postmark/",
        "MAILGUN_API_KEY": "key-dummy",
        "MAILGUN_SENDER_DOMAIN": "app.example",
        "MAILGUN_API_URL": f"{URL}/send/mailgun/v3",
    },
    DEFAULT_CHARSET="utf-8",
    USE_TZ=True,
)
django.setup()


def api(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {KEY}"}
    request = urllib.request.Request(f"{URL}/v1{path}", data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def call(method, path, body=None):
    return json.loads(api(method, path, body))


def received(inbox):
    return call("GET", f"/inboxes/{inbox['id']}/messages/wait?timeout=10000")


class Boto:
    """boto3, version 2 of the API."""

    name, via, retries, never = "boto3 sesv2", "ses", True, 400
    service = "sesv2"

    def __init__(self):
        self.client = boto3.client(
            self.service,
            endpoint_url=f"{URL}/send/ses",
            region_name="us-east-1",
            aws_access_key_id="AKIAIOSFODNN7EXAMPLE",
            aws_secret_access_key="secret",
            config=Config(retries={"mode": "standard", "max_attempts": 3}),
        )

    def simple(self, to, subject):
        self.client.send_email(
            FromEmailAddress="shop@app.example",
            Destination={"ToAddresses": [to]},
            Content={"Simple": {"Subject": {"Data": subject}, "Body": {"Text": {"Data": "Hello"}}}},
        )

    def whole(self, to, cc, bcc):
        self.client.send_email(
            FromEmailAddress="=?utf-8?q?Zo=C3=AB?= <shop@app.example>",
            Destination={"ToAddresses": [to], "CcAddresses": [cc], "BccAddresses": [bcc]},
            ReplyToAddresses=["help@app.example"],
            Content={
                "Simple": {
                    "Subject": {"Data": SUBJECT},
                    "Body": {"Text": {"Data": TEXT}, "Html": {"Data": HTML}},
                    "Headers": [{"Name": "X-Order", "Value": "4711"}],
                    "Attachments": [
                        {"RawContent": FILE, "FileName": "größe.bin", "ContentType": "application/octet-stream"},
                        {
                            "RawContent": IMAGE,
                            "FileName": "logo.png",
                            "ContentType": "image/png",
                            "ContentDisposition": "INLINE",
                            "ContentId": "logo",
                        },
                    ],
                }
            },
        )

    def template(self, to):
        self.client.send_email(
            FromEmailAddress="shop@app.example",
            Destination={"ToAddresses": [to]},
            Content={"Template": {"TemplateName": "welcome", "TemplateData": json.dumps(VARIABLES)}},
        )

    def batch(self, addresses):
        template = {"TemplateContent": {"Subject": "{{subject}}", "Text": "Hello"}, "TemplateData": "{}"}
        data = [json.dumps({"subject": f"Batch {number}"}) for number in range(len(addresses))]
        entries = [
            {
                "Destination": {"ToAddresses": [to]},
                "ReplacementEmailContent": {"ReplacementTemplate": {"ReplacementTemplateData": one}},
            }
            for to, one in zip(addresses, data)
        ]
        self.client.send_bulk_email(
            FromEmailAddress="shop@app.example", DefaultContent={"Template": template}, BulkEmailEntries=entries
        )

    def status(self, error):
        assert isinstance(error, ClientError), error
        return error.response["ResponseMetadata"]["HTTPStatusCode"]


class BotoV1(Boto):
    """boto3, version 1 of the API, with a whole message."""

    name, service = "boto3 ses", "ses"
    batch = template = None

    def simple(self, to, subject):
        self.client.send_email(
            Source="shop@app.example",
            Destination={"ToAddresses": [to]},
            Message={"Subject": {"Data": subject}, "Body": {"Text": {"Data": "Hello"}}},
        )

    def whole(self, to, cc, bcc):
        message = MimeMessage()
        message["From"], message["To"], message["Cc"], message["Bcc"] = "Zoë <shop@app.example>", to, cc, bcc
        message["Subject"], message["Reply-To"], message["X-Order"] = SUBJECT, "help@app.example", "4711"
        message.set_content(TEXT)
        message.add_alternative(HTML, subtype="html")
        message.get_payload()[1].add_related(IMAGE, "image", "png", cid="<logo>", disposition="inline")
        message.add_attachment(FILE, maintype="application", subtype="octet-stream", filename="größe.bin")
        self.client.send_raw_email(RawMessage={"Data": message.as_bytes()})


class Resend:
    name, via, retries, later, never = "resend", "resend", False, 429, 403

    def __init__(self):
        resend.api_key, resend.api_url = "re_dummy", f"{URL}/send/resend"

    def simple(self, to, subject):
        resend.Emails.send({"from": "shop@app.example", "to": to, "subject": subject, "text": "Hello"})

    def whole(self, to, cc, bcc):
        attachments = [
            {"filename": "größe.bin", "content": list(FILE), "content_type": "application/octet-stream"},
            {
                "filename": "logo.png",
                "content": base64.b64encode(IMAGE).decode(),
                "content_type": "image/png",
                "content_id": "logo",
            },
        ]
        resend.Emails.send(
            {
                "from": "Zoë <shop@app.example>",
                "to": [to],
                "cc": [cc],
                "bcc": [bcc],
                "reply_to": "help@app.example",
                "subject": SUBJECT,
                "text": TEXT,
                "html": HTML,
                "headers": {"X-Order": "4711"},
                "attachments": attachments,
            }
        )

    def batch(self, addresses):
        emails = [
            {"from": "shop@app.example", "to": to, "subject": f"Batch {number}", "text": "Hello"}
            for number, to in enumerate(addresses)
        ]
        resend.Batch.send(emails)

    def template(self, to):
        resend.Emails.send({"from": "a@app.example", "to": to, "template": {"id": "welcome", "variables": VARIABLES}})

    def status(self, error):
        assert isinstance(error, resend.exceptions.ResendError), error
        return int(error.code)


class SendGrid:
    name, via, retries, later, never = "sendgrid", "sendgrid", False, 429, 403

    def __init__(self):
        self.client = sendgrid.SendGridAPIClient("SG.dummy", host=f"{URL}/send/sendgrid")

    def simple(self, to, subject):
        self.client.send(Mail("shop@app.example", to, subject, plain_text_content="Hello"))

    def whole(self, to, cc, bcc):
        mail = Mail(("shop@app.example", "Zoë"), To(to), SUBJECT, TEXT, HTML)
        mail.add_cc(Cc(cc))
        mail.add_bcc(Bcc(bcc))
        mail.reply_to = ReplyTo("help@app.example")
        mail.add_header(Header("X-Order", "4711"))
        encoded = [base64.b64encode(content).decode() for content in (FILE, IMAGE)]
        mail.add_attachment(Attachment(encoded[0], "größe.bin", "application/octet-stream", "attachment"))
        mail.add_attachment(Attachment(encoded[1], "logo.png", "image/png", "inline", "logo"))
        self.client.send(mail)

    def batch(self, addresses):
        to = [To(address, subject=f"Batch {number}") for number, address in enumerate(addresses)]
        self.client.send(Mail("shop@app.example", to, "Batch", plain_text_content="Hello", is_multiple=True))

    def template(self, to):
        mail = Mail("a@app.example", To(to))
        mail.template_id, mail.dynamic_template_data = "d-welcome", VARIABLES
        self.client.send(mail)

    def status(self, error):
        assert isinstance(error, HTTPError), error
        return error.status_code


class Postmark:
    """postmarker knows only a host, so it uses the paths at the root."""

    name, via, retries, later, never = "postmarker", "postmark", False, 429, 412

    def __init__(self):
        self.client = PostmarkClient(server_token="dummy", root_api_url=f"{URL}/")

    def simple(self, to, subject):
        self.client.emails.send(From="shop@app.example", To=to, Subject=subject, TextBody="Hello")

    def whole(self, to, cc, bcc):
        attachments = [
            {"Name": name, "Content": base64.b64encode(content).decode(), "ContentType": kind, "ContentID": cid}
            for name, content, kind, cid in [
                ("größe.bin", FILE, "application/octet-stream", None),
                ("logo.png", IMAGE, "image/png", "cid:logo"),
            ]
        ]
        self.client.emails.send(
            From="Zoë <shop@app.example>",
            To=to,
            Cc=cc,
            Bcc=bcc,
            ReplyTo="help@app.example",
            Subject=SUBJECT,
            TextBody=TEXT,
            HtmlBody=HTML,
            Headers={"X-Order": "4711"},
            Attachments=attachments,
        )

    def batch(self, addresses):
        emails = [
            {"From": "shop@app.example", "To": to, "Subject": f"Batch {number}", "TextBody": "Hello"}
            for number, to in enumerate(addresses)
        ]
        self.client.emails.send_batch(*emails)

    def template(self, to):
        self.client.emails.send_with_template(
            From="a@app.example", To=to, TemplateAlias="welcome", TemplateModel=VARIABLES, TemplateId=None
        )

    def status(self, error):
        assert isinstance(error, PostmarkError), error
        return error.error_code


class Anymail:
    """A backend of django-anymail."""

    retries, batch = False, None

    def __init__(self, backend, via, never, later=429):
        self.name, self.via, self.never, self.later = f"django-anymail {backend}", via, never, later
        self.connection = get_connection(f"anymail.backends.{backend}.EmailBackend")
        # boto3 retries, too.
        self.retries = via == "ses"
        if via == "resend":
            self.template = None  # This backend does not have it.

    def simple(self, to, subject):
        EmailMultiAlternatives(subject, "Hello", "shop@app.example", [to], connection=self.connection).send()

    def whole(self, to, cc, bcc):
        message = EmailMultiAlternatives(
            SUBJECT,
            TEXT,
            "Zoë <shop@app.example>",
            [to],
            cc=[cc],
            bcc=[bcc],
            reply_to=["help@app.example"],
            headers={"X-Order": "4711"},
            connection=self.connection,
        )
        message.attach_alternative(HTML, "text/html")
        message.attach("größe.bin", FILE, "application/octet-stream")
        image = MIMEImage(IMAGE, "png")
        image["Content-ID"] = "<logo>"
        image["Content-Disposition"] = 'inline; filename="logo"'
        message.attach(image)
        message.send()

    def template(self, to):
        message = AnymailMessage("", "", "a@app.example", [to], connection=self.connection)
        message.template_id, message.merge_global_data = "d-welcome", VARIABLES
        message.send()

    def status(self, error):
        assert isinstance(error, AnymailAPIError), error
        if self.via == "ses":
            return error.__cause__.response["ResponseMetadata"]["HTTPStatusCode"]
        return error.status_code


def plain(sdk):
    inbox = call("POST", "/inboxes")
    sdk.simple(inbox["address"], "Plain")
    message = received(inbox)
    assert (message["subject"], message["text"], message["html"]) == ("Plain", "Hello", ""), message


def whole(sdk):
    to, cc, bcc = (call("POST", "/inboxes") for _ in range(3))
    sdk.whole(to["address"], cc["address"], bcc["address"])
    for inbox in (to, cc, bcc):
        message = received(inbox)
        details = call("GET", f"/messages/{message['id']}/details")
        assert details["envelope"]["via"] == sdk.via, details
        assert details["from"] == [{"name": "Zoë", "address": "shop@app.example"}], details["from"]
        addresses = [details[field][0]["address"] for field in ("to", "cc", "reply_to")]
        assert addresses == [to["address"], cc["address"], "help@app.example"], addresses
        names = [header["name"] for header in details["headers"]]
        assert "Bcc" not in names and bcc["address"] not in json.dumps(details["headers"]), details
        assert (message["subject"], message["otp"]) == (SUBJECT, "482913"), message
        assert message["links"] == ["https://app.example/in"], message
        assert {"name": "X-Order", "value": "4711"} in details["headers"], details["headers"]
        assert len(details["attachments"]) == 2, details
        for file in details["attachments"]:
            content = api("GET", f"/messages/{message['id']}/attachments/{file['index']}")
            assert content == (IMAGE if file["inline"] else FILE), file
            named = file["content_id"] if file["inline"] else file["filename"]
            assert named == ("logo" if file["inline"] else "größe.bin"), file


def batch(sdk):
    inboxes = [call("POST", "/inboxes") for _ in range(2)]
    sdk.batch([inbox["address"] for inbox in inboxes])
    # SES has no subject for each entry: it is a variable of the template.
    for number, message in enumerate(map(received, inboxes)):
        assert f"Batch {number}" in message["subject"] + message["text"], message


def template(sdk):
    inbox = call("POST", "/inboxes")
    sdk.template(inbox["address"])
    text = json.loads(received(inbox)["text"])
    # SendGrid's ids of templates with variables begin with d-.
    assert text["template"] in ("welcome", "d-welcome") and text["variables"] == VARIABLES, text


def failure(sdk, to):
    try:
        sdk.simple(to, "Refused")
    except Exception as error:
        return sdk.status(error)
    raise AssertionError("the message was accepted")


def refused(sdk):
    inbox = call("POST", "/inboxes")
    assert failure(sdk, f"{inbox['id']}@elsewhere.example") == sdk.never
    summary = call("GET", f"/inboxes/{inbox['id']}/explain")["summary"]
    assert "@elsewhere.example was rejected" in summary and "550 5.7.1" in summary, summary


def retry(sdk):
    """The SDK's own retry, if it has one; else the application's."""
    inbox = call("POST", "/inboxes")
    call("PUT", f"/inboxes/{inbox['id']}/faults", {"faults": [{"at": "data", "do": "defer"}]})
    if not sdk.retries:
        assert failure(sdk, inbox["address"]) == sdk.later
    sdk.simple(inbox["address"], "Again")
    assert received(inbox)["subject"] == "Again"
    assert call("GET", f"/inboxes/{inbox['id']}/faults")["faults"][0]["used"] == 1


SDKS = [
    Boto(),
    BotoV1(),
    Resend(),
    SendGrid(),
    Postmark(),
    Anymail("amazon_ses", "ses", 400),
    Anymail("resend", "resend", 403),
    Anymail("sendgrid", "sendgrid", 403),
    Anymail("postmark", "postmark", 422),
    Anymail("mailgun", "mailgun", 403),
]
for sdk in SDKS:
    for check in (plain, whole, batch, template, refused, retry):
        if getattr(sdk, check.__name__, check) is None:
            continue
        try:
            check(sdk)
        except Exception as error:
            raise AssertionError(f"{sdk.name}, {check.__name__}: {error!r}") from error
print("passed")
