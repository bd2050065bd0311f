//! Mail by every way in: several recipients, a provider's API, another inbox, and a client that
//! hangs up.

use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use crate::client::{CODE, Client};
use crate::http::Request;
use crate::journal::Told;
use crate::mail::{Mail, hang_up};

/// One message for two or three inboxes of the same client; sometimes one of them twice.
pub(super) fn to_several(client: &mut Client<'_>) {
    let (Some(one), Some(two), Some(three)) = (client.inbox(), client.inbox(), client.inbox())
    else {
        return;
    };
    let token = client.token();
    client.mail(token, &[one, two, three]);
}

/// Over the API of a provider, with the key as its credential.
pub(super) fn over_http(client: &mut Client<'_>) {
    let Some(inbox) = client.inbox() else { return };
    let token = client.token();
    let address = client.inboxes[inbox].address.clone();
    let subject = client.subject(token);
    let requests = requests(&address, &subject);
    let (path, body, success) = requests
        .choose(&mut client.random)
        .expect("there are some")
        .clone();
    post(
        client,
        inbox,
        token,
        &Request::post(path, path, body),
        success,
    );
}

/// A correct request to each provider, and the status of its success. Mailgun takes JSON as text of
/// a form.
fn requests(address: &str, subject: &str) -> [(&'static str, Value, u16); 6] {
    let from = "app@shop.example";
    let text = CODE;
    let simple = json!({"Subject": {"Data": subject}, "Body": {"Text": {"Data": text}}});
    let ses = json!({"FromEmailAddress": from, "Destination": {"ToAddresses": [address]}, "Content": {"Simple": simple}});
    let sendgrid = json!({"personalizations": [{"to": [{"email": address}]}], "from": {"email": from},
        "subject": subject, "content": [{"type": "text/plain", "value": text}]});
    let encode = |text: &str| {
        text.bytes()
            .map(|byte| format!("%{byte:02x}"))
            .collect::<String>()
    };
    let mailgun = format!(
        "from={from}&to={}&subject={}&text={}",
        encode(address),
        encode(subject),
        encode(text)
    );
    [
        (
            "/send/postmark/email",
            json!({"From": from, "To": address, "Subject": subject, "TextBody": text}),
            200,
        ),
        (
            "/send/resend/emails",
            json!({"from": from, "to": address, "subject": subject, "text": text}),
            200,
        ),
        ("/send/sendgrid/v3/mail/send", sendgrid, 202),
        ("/send/ses/v2/email/outbound-emails", ses, 200),
        (
            "/send/mailgun/v3/shop.example/messages",
            Value::from(mailgun),
            200,
        ),
        (
            "/mailpit/api/v1/send",
            json!({"From": {"Email": from}, "To": [{"Email": address}], "Subject": subject, "Text": text}),
            200,
        ),
    ]
}

/// From one inbox to another.
pub(super) fn from_an_inbox(client: &mut Client<'_>) {
    let (Some(from), Some(to)) = (client.inbox(), client.inbox()) else {
        return;
    };
    let token = client.token();
    let path = format!("/v1/inboxes/{}/messages", client.inboxes[from].id);
    let body = json!({"to": client.inboxes[to].address, "subject": client.subject(token), "text": "Code: 4821"});
    post(
        client,
        to,
        token,
        &Request::post("/v1/inboxes/{id}/messages", path, body),
        202,
    );
}

/// Sends once; an answer that is missing or temporary leaves open whether it was stored.
fn post(client: &mut Client<'_>, inbox: usize, token: u64, request: &Request, success: u16) {
    let node = client.node();
    let told = match client.asker.ask(node, request) {
        Some(answer) if answer.status == success => {
            client.world.nodes.deliveries(node).stored();
            Told::Stored(1)
        }
        None => Told::Unknown(1),
        Some(answer) if matches!(answer.status, 429 | 500 | 503) => Told::Unknown(1),
        Some(answer) => {
            client.world.find(
                "a correct request to send is accepted",
                format!("{request:?}: {answer:?}"),
            );
            Told::Unknown(1)
        }
    };
    client.tell(inbox, token, told);
    client.world.count(if told == Told::Stored(1) {
        "messages acknowledged"
    } else {
        "messages not acknowledged"
    });
}

/// A message whose final dot is never sent.
pub(super) fn and_hanging_up(client: &mut Client<'_>) {
    let Some(inbox) = client.inbox() else { return };
    let token = client.token();
    let node = client.node();
    let Some(address) = client.world.nodes.with(node, |server| server.smtp.clone()) else {
        return;
    };
    let recipients = [client.inboxes[inbox].address.clone()];
    let subject = client.subject(token);
    hang_up(
        &address,
        &Mail {
            recipients: &recipients,
            subject: &subject,
            text: "half",
            key: Some(client.key),
        },
    );
    client.tell(inbox, token, Told::Refused);
    client.world.count("messages without their end");
}
