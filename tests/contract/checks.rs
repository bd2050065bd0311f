//! `GET /v1/messages/{id}/checks`: the problems of a message, with their lines.

use serde_json::json;

use testkit::{Engine, Harness};

#[testkit::each_engine]
async fn the_problems_of_a_message_have_their_lines(engine: Engine) {
    let api = Harness::on(engine).await;
    let inbox = api.create_inbox().await;
    let mail = "From: shop@app.example\r\nTo: ada@app.example\r\nSubject: Welcome\r\nMessage-ID: <1@app.example>\r\n\
        Date: Fri, 20 Nov 2026 10:30:00 +0100\r\nMIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n\
        <html lang=en><title>Hi</title>\r\n<p style='display:flex'>Hello {{name}}\r\n";
    let id = api.deliver_raw(&inbox, mail).await;
    let answer = api.get(&format!("/v1/messages/{id}/checks")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let checks = answer.json();
    let placeholder = json!({
        "check": "placeholder",
        "severity": "error",
        "detail": "The HTML contains `{{name}}`.",
        "part": "html",
        "line": 2,
        "source": "<p style='display:flex'>Hello {{name}}",
    });
    assert_eq!(checks["problems"][0], placeholder);
    let text_part = json!({
        "check": "text_part",
        "severity": "warning",
        "detail": "There is no text part beside the HTML.",
        "part": null,
        "line": null,
        "source": null,
    });
    assert_eq!(checks["problems"][1], text_part);
    let flex = checks["html"]["features"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["slug"] == "css-display-flex");
    assert_eq!(flex.unwrap()["line"], 2);

    let plain = mail
        .replace("text/html", "text/plain")
        .replace("{{name}}", "Ada");
    let id = api.deliver_raw(&inbox, &plain).await;
    let answer = api.get(&format!("/v1/messages/{id}/checks")).await;
    assert_eq!(
        answer.json(),
        json!({"problems": [], "html": null, "authentication": null})
    );
    let answer = api.get(&format!("/v1/messages/{id}/checks?dns=yes")).await;
    assert_eq!(answer.error(), (400, "invalid dns".to_owned()));
}
