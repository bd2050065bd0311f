//! The same message as a request to each API.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::Post;

/// The bytes of the attachment.
pub const FILE: &[u8] = b"a\nb\r\nc\rd\0\x7f \xc3\xa4";
/// The bytes of the image.
pub const IMAGE: &[u8] = b"PNG\0";
pub const TEXT: &str = "Ihre Zahl: Grüße.\nYour code is 482913.";
pub const HTML: &str = "<p>Grüße <a href=\"https://app.example/in\">in</a> <img src=\"cid:logo.png\">Your code is 482913.";

/// A way to send.
pub struct Api {
    pub name: &'static str,
    pub via: &'static str,
    pub request: fn(&Letter) -> Post,
}

pub const API: [Api; 10] = [
    Api {
        name: "resend",
        via: "resend",
        request: resend,
    },
    Api {
        name: "sendgrid",
        via: "sendgrid",
        request: sendgrid,
    },
    Api {
        name: "postmark",
        via: "postmark",
        request: postmark,
    },
    Api {
        name: "postmark at the root",
        via: "postmark",
        request: postmark_at_root,
    },
    Api {
        name: "mailgun",
        via: "mailgun",
        request: mailgun,
    },
    Api {
        name: "mailgun mime",
        via: "mailgun",
        request: mailgun_mime,
    },
    Api {
        name: "ses",
        via: "ses",
        request: ses,
    },
    Api {
        name: "ses raw",
        via: "ses",
        request: ses_raw,
    },
    Api {
        name: "ses v1 raw",
        via: "ses",
        request: ses_v1_raw,
    },
    Api {
        name: "ses v1 raw at the root",
        via: "ses",
        request: ses_v1_raw_at_root,
    },
];

/// What is sent.
#[derive(Clone)]
pub struct Letter {
    pub from: String,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub reply_to: String,
    pub subject: String,
    pub text: String,
    pub html: String,
    pub header: (String, String),
    pub file_name: String,
    pub file_type: String,
    pub content: String,
}

impl Letter {
    pub fn to(address: &str) -> Self {
        Self {
            from: "\"Zoë, Shop\" <shop@app.example>".to_owned(),
            to: vec![address.to_owned()],
            cc: Vec::new(),
            bcc: Vec::new(),
            reply_to: "help@app.example".to_owned(),
            subject: "Grüße 🐌".to_owned(),
            text: TEXT.to_owned(),
            html: HTML.to_owned(),
            header: ("X-Order".to_owned(), "4711".to_owned()),
            file_name: "größe.bin".to_owned(),
            file_type: "application/octet-stream".to_owned(),
            content: BASE64_STANDARD.encode(FILE),
        }
    }

    fn header_object(&self) -> Value {
        json!({&self.header.0: self.header.1})
    }

    /// The message as a whole.
    pub fn raw(&self) -> String {
        let encoded = |text: &str| BASE64_STANDARD.encode(text);
        let from = self
            .from
            .replace("\"Zoë, Shop\"", "=?utf-8?B?Wm/DqywgU2hvcA==?=");
        format!(
            "From: {from}\nTo: {}\nCc: {}\nBcc: {}\nReply-To: {}\nSubject: =?utf-8?B?{}?=\n{}: {}\nMIME-Version: 1.0\n\
             Content-Type: multipart/mixed; boundary=X\n\n--X\nContent-Type: multipart/alternative; boundary=Y\n\n\
             --Y\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n{}\n\
             --Y\nContent-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: base64\n\n{}\n--Y--\n\
             --X\nContent-Type: {}\nContent-Disposition: attachment; filename*=utf-8''gr%C3%B6%C3%9Fe.bin\n\
             Content-Transfer-Encoding: base64\n\n{}\n--X\nContent-Type: image/png\nContent-ID: <logo.png>\n\
             Content-Disposition: inline\nContent-Transfer-Encoding: base64\n\n{}\n--X--\n",
            self.to.join(", "),
            self.cc.join(", "),
            self.bcc.join(", "),
            self.reply_to,
            encoded(&self.subject),
            self.header.0,
            self.header.1,
            encoded(&self.text),
            encoded(&self.html),
            self.file_type,
            self.content,
            BASE64_STANDARD.encode(IMAGE)
        )
    }
}

fn resend(letter: &Letter) -> Post {
    let image = json!({"type": "Buffer", "data": IMAGE});
    let body = json!({
        "from": letter.from, "to": letter.to, "cc": letter.cc, "bcc": letter.bcc, "reply_to": letter.reply_to,
        "subject": letter.subject, "text": letter.text, "html": letter.html, "headers": letter.header_object(),
        "attachments": [
            {"filename": letter.file_name, "content": letter.content, "content_type": letter.file_type},
            {"filename": "logo.png", "content": image, "content_type": "image/png", "content_id": "logo.png"},
        ],
        "tags": [{"name": "kind", "value": "welcome"}],
        "an unknown field": 1,
    });
    Post::json("/send/resend/emails", &body)
}

fn sendgrid(letter: &Letter) -> Post {
    let people = |list: &[String]| {
        list.iter()
            .map(|address| json!({"email": address}))
            .collect::<Vec<_>>()
    };
    let (name, address) = letter.from.rsplit_once(" <").unwrap_or(("", &letter.from));
    let body = json!({
        "personalizations": [{"to": people(&letter.to), "cc": people(&letter.cc), "bcc": people(&letter.bcc)}],
        "from": {"email": address.trim_end_matches('>'), "name": name.trim_matches('"')},
        "reply_to": {"email": letter.reply_to, "name": null},
        "subject": letter.subject,
        "content": [{"type": "text/plain", "value": letter.text}, {"type": "text/html", "value": letter.html}],
        "headers": letter.header_object(),
        "attachments": [
            {"content": letter.content, "type": letter.file_type, "filename": letter.file_name},
            {"content": BASE64_STANDARD.encode(IMAGE), "type": "image/png", "filename": "logo.png",
                "disposition": "inline", "content_id": "logo.png"},
        ],
        "categories": ["welcome"], "custom_args": {"user": "1"}, "mail_settings": {"sandbox_mode": {"enable": true}},
    });
    Post::json("/send/sendgrid/v3/mail/send", &body)
}

fn postmark(letter: &Letter) -> Post {
    Post::json("/send/postmark/email", &postmark_body(letter))
}

fn postmark_at_root(letter: &Letter) -> Post {
    Post::json("/email", &postmark_body(letter))
}

pub fn postmark_body(letter: &Letter) -> Value {
    json!({
        "From": letter.from, "To": letter.to.join(","), "Cc": letter.cc.join(","), "Bcc": letter.bcc.join(","),
        "ReplyTo": letter.reply_to, "Subject": letter.subject, "TextBody": letter.text, "HtmlBody": letter.html,
        "Headers": [{"Name": letter.header.0, "Value": letter.header.1}],
        "Attachments": [
            {"Name": letter.file_name, "Content": letter.content, "ContentType": letter.file_type},
            {"Name": "logo.png", "Content": BASE64_STANDARD.encode(IMAGE), "ContentType": "image/png",
                "ContentID": "cid:logo.png"},
        ],
        "Tag": "welcome", "Metadata": {"user": "1"}, "MessageStream": "outbound", "TrackOpens": true,
    })
}

fn mailgun(letter: &Letter) -> Post {
    let mut form = Form::default();
    form.field("from", &letter.from)
        .field("subject", &letter.subject);
    for (name, list) in [("to", &letter.to), ("cc", &letter.cc), ("bcc", &letter.bcc)] {
        for address in list {
            form.field(name, address);
        }
    }
    form.field("text", &letter.text)
        .field("html", &letter.html)
        .field("h:Reply-To", &letter.reply_to);
    form.field(&format!("h:{}", letter.header.0), &letter.header.1)
        .field("o:tag", "welcome")
        .field("v:user", "1");
    let content = BASE64_STANDARD.decode(&letter.content).unwrap_or_default();
    form.file("attachment", &letter.file_name, &letter.file_type, &content);
    form.file("inline", "logo.png", "image/png", IMAGE);
    form.post("/send/mailgun/v3/app.example/messages")
}

fn mailgun_mime(letter: &Letter) -> Post {
    let mut form = Form::default();
    for address in letter.to.iter().chain(&letter.cc).chain(&letter.bcc) {
        form.field("to", address);
    }
    form.file(
        "message",
        "message.mime",
        "message/rfc822",
        letter.raw().as_bytes(),
    );
    form.post("/send/mailgun/v3/app.example/messages.mime")
}

pub fn ses_body(letter: &Letter) -> Value {
    json!({
        "FromEmailAddress": letter.from,
        "Destination": {"ToAddresses": letter.to, "CcAddresses": letter.cc, "BccAddresses": letter.bcc},
        "ReplyToAddresses": [letter.reply_to],
        "Content": {"Simple": {
            "Subject": {"Data": letter.subject, "Charset": "UTF-8"},
            "Body": {"Text": {"Data": letter.text}, "Html": {"Data": letter.html}},
            "Headers": [{"Name": letter.header.0, "Value": letter.header.1}],
            "Attachments": [
                {"RawContent": letter.content, "FileName": letter.file_name, "ContentType": letter.file_type,
                    "ContentDisposition": "ATTACHMENT"},
                {"RawContent": BASE64_STANDARD.encode(IMAGE), "FileName": "logo.png", "ContentType": "image/png",
                    "ContentDisposition": "INLINE", "ContentId": "logo.png"},
            ],
        }},
        "EmailTags": [{"Name": "kind", "Value": "welcome"}],
        "ConfigurationSetName": "set",
    })
}

fn ses(letter: &Letter) -> Post {
    Post::json("/send/ses/v2/email/outbound-emails", &ses_body(letter))
}

fn ses_raw(letter: &Letter) -> Post {
    let body = json!({"Content": {"Raw": {"Data": BASE64_STANDARD.encode(letter.raw())}}});
    Post::json("/send/ses/v2/email/outbound-emails", &body)
}

fn ses_v1_raw(letter: &Letter) -> Post {
    let data = BASE64_STANDARD.encode(letter.raw());
    query(&[
        ("Action", "SendRawEmail"),
        ("RawMessage.Data", &data),
        ("Version", "2010-12-01"),
    ])
}

fn ses_v1_raw_at_root(letter: &Letter) -> Post {
    Post {
        path: "/".to_owned(),
        ..ses_v1_raw(letter)
    }
}

/// A request to the endpoint of Mailpit, which needs a key.
pub fn mailpit(to: &str) -> Post {
    let body = json!({"From": {"Email": "shop@app.example"}, "To": [{"Email": to}], "Subject": "s", "Text": TEXT});
    Post::json("/mailpit/api/v1/send", &body)
}

/// A request to version 1 of SES.
pub fn query(fields: &[(&str, &str)]) -> Post {
    let mut body = form_urlencoded::Serializer::new(String::new());
    let body = body.extend_pairs(fields).finish();
    let content_type = "application/x-www-form-urlencoded; charset=utf-8".to_owned();
    Post {
        path: "/send/ses/".to_owned(),
        content_type,
        body: body.into(),
    }
}

/// A form with files.
#[derive(Default)]
pub struct Form(Vec<u8>);

impl Form {
    pub fn field(&mut self, name: &str, value: &str) -> &mut Self {
        let head =
            format!("--B\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
        self.0.extend_from_slice(head.as_bytes());
        self
    }

    pub fn file(&mut self, field: &str, name: &str, content_type: &str, content: &[u8]) {
        let head = format!(
            "--B\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\
             Content-Type: {content_type}\r\n\r\n"
        );
        self.0.extend_from_slice(head.as_bytes());
        self.0.extend_from_slice(content);
        self.0.extend_from_slice(b"\r\n");
    }

    pub fn post(self, path: &str) -> Post {
        let body = [self.0, b"--B--\r\n".to_vec()].concat();
        Post {
            path: path.to_owned(),
            content_type: "multipart/form-data; boundary=B".to_owned(),
            body,
        }
    }
}
