//! The requests of mail providers that send a message, each with a valid body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub const FORM: &str = "application/x-www-form-urlencoded";

/// One request of a provider.
#[derive(Debug)]
pub struct Sender {
    pub path: &'static str,
    /// A body, JSON or a form; `TEXT` stands for the text of a field.
    body: &'static str,
}

/// For an inbox `fuzz`.
pub const SENDERS: [Sender; 10] = [
    Sender {
        path: "/send/ses/v2/email/outbound-emails",
        body: r#"{"FromEmailAddress": "\"TEXT\" <a@app.example>", "Destination": {"ToAddresses":
            ["fuzz@restante.example.com"]}, "Content": {"Simple": {"Subject": {"Data": "TEXT"}, "Body": {"Text":
            {"Data": "TEXT"}, "Html": {"Data": "TEXT"}}, "Headers": [{"Name": "X-Own", "Value": "TEXT"}]}}}"#,
    },
    Sender {
        path: "/send/ses/v2/email/outbound-bulk-emails",
        body: r#"{"FromEmailAddress": "a@app.example", "BulkEmailEntries": [{"Destination": {"ToAddresses":
            ["fuzz@restante.example.com"]}}], "DefaultContent": {"Template": {"TemplateContent": {"Subject":
            "{{name}} TEXT", "Text": "TEXT"}, "TemplateData": "{\"name\": \"you\"}"}}}"#,
    },
    Sender {
        path: "/send/ses/",
        body: "Action=SendEmail&Source=a@app.example&Destination.ToAddresses.member.1=fuzz@restante.example.com\
            &Message.Subject.Data=TEXT&Message.Body.Text.Data=TEXT&Tags.member.1.Name=kind&Tags.member.1.Value=TEXT",
    },
    Sender {
        path: "/send/resend/emails",
        body: r#"{"from": "TEXT <a@app.example>", "to": "fuzz@restante.example.com", "subject": "TEXT", "text": "TEXT",
            "html": "TEXT", "headers": {"X-Own": "TEXT"}, "tags": [{"name": "kind", "value": "TEXT"}]}"#,
    },
    Sender {
        path: "/send/resend/emails/batch",
        body: r#"[{"from": "a@app.example", "to": ["fuzz@restante.example.com"], "subject": "TEXT", "text": "TEXT"}]"#,
    },
    Sender {
        path: "/send/sendgrid/v3/mail/send",
        body: r#"{"personalizations": [{"to": [{"email": "fuzz@restante.example.com", "name": "TEXT"}], "custom_args":
            {"user": "TEXT"}, "substitutions": {"-n-": "TEXT"}}], "from": {"email": "a@app.example", "name": "TEXT"},
            "subject": "-n- TEXT", "headers": {"X-Own": "-n- TEXT"}, "content": [{"type": "text/plain", "value":
            "TEXT"}], "attachments": [{"content": "YQ==", "filename": "TEXT", "content_id": "TEXT"}]}"#,
    },
    Sender {
        path: "/send/postmark/email",
        body: r#"{"From": "a@app.example", "To": "fuzz@restante.example.com", "Subject": "TEXT", "TextBody": "TEXT",
            "Tag": "TEXT", "Headers": [{"Name": "X-Own", "Value": "TEXT"}], "Metadata": {"user": "TEXT"}}"#,
    },
    Sender {
        path: "/send/postmark/email/withTemplate",
        body: r#"{"From": "a@app.example", "To": "fuzz@restante.example.com", "TemplateAlias": "TEXT", "TemplateModel":
            {"name": "TEXT"}}"#,
    },
    Sender {
        path: "/send/mailgun/v3/shop.example/messages",
        body: "from=a@app.example&to=fuzz@restante.example.com&subject=%25recipient.n%25+TEXT&text=TEXT&html=TEXT\
            &h:X-Own=TEXT&v:user=TEXT&o:tag=TEXT\
            &recipient-variables={\"fuzz@restante.example.com\":{\"n\":\"TEXT\"}}",
    },
    Sender {
        path: "/mailpit/api/v1/send",
        body: r#"{"From": {"Email": "a@app.example", "Name": "TEXT"}, "To": [{"Email": "fuzz@restante.example.com",
            "Name": "TEXT"}], "Subject": "TEXT", "Text": "TEXT", "Headers": {"X-Own": "TEXT"}, "Tags": ["TEXT"]}"#,
    },
];

impl Sender {
    pub fn is_json(&self) -> bool {
        self.body.starts_with(['{', '['])
    }

    /// The header in which the provider's clients send their key.
    pub fn credential(&self, key: &str) -> (&'static str, String) {
        let basic = |pair: String| format!("Basic {}", STANDARD.encode(pair));
        match self.path.split('/').nth(2) {
            Some("postmark") => ("x-postmark-server-token", key.to_owned()),
            Some("ses") => {
                let scope = "20261120/eu-west-1/ses/aws4_request, SignedHeaders=host, Signature=0";
                (
                    "authorization",
                    format!("AWS4-HMAC-SHA256 Credential={key}/{scope}"),
                )
            }
            Some("mailgun") => ("authorization", basic(format!("api:{key}"))),
            Some("api") => ("authorization", basic(format!("any:{key}"))),
            _ => ("authorization", format!("Bearer {key}")),
        }
    }
}

/// The valid body with this text in its fields.
pub fn with_text(sender: &Sender, text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let in_json = &quoted[1..quoted.len() - 1];
    if sender.is_json() {
        return sender.body.replace("TEXT", in_json);
    }
    let encode = |text: &str| {
        text.bytes()
            .map(|byte| format!("%{byte:02x}"))
            .collect::<String>()
    };
    let (fields, json) = sender
        .body
        .split_once("&recipient-variables=")
        .unwrap_or((sender.body, ""));
    let fields = fields.replace("TEXT", &encode(text));
    if json.is_empty() {
        return fields;
    }
    format!(
        "{fields}&recipient-variables={}",
        encode(&json.replace("TEXT", in_json))
    )
}
