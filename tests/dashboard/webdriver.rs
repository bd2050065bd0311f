//! Headless Chromium over WebDriver, with only the functions that the tests need. The driver waits
//! for elements.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use testkit::http;
use testkit::port::ReservedPort;

/// The key of an element reference in WebDriver.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// How long the driver waits for an element, in milliseconds.
const ELEMENT_TIMEOUT: u32 = 60_000;
const SHIFT: &str = "\u{e008}";

/// A new browser, which is closed at the end of the test.
pub struct Browser {
    driver: Child,
    session: String,
    _profile: TempDir,
    _port: ReservedPort,
}

impl Browser {
    /// Opens a window of this size, with additional arguments for Chromium.
    pub fn open(width: u32, height: u32, arguments: &[String]) -> Self {
        // The driver itself would choose a free IPv6 port, and exit if that port is used in IPv4.
        let port = ReservedPort::new();
        let mut driver = Command::new("chromedriver")
            .arg(format!("--port={}", port.number()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is missing: install the packages chromium and chromium-driver");
        let mut lines = BufReader::new(driver.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap);
        assert!(
            lines.any(|line| line.contains("started successfully")),
            "chromedriver does not start"
        );
        let profile = tempfile::tempdir().unwrap();
        let mut all: Vec<String> = ARGUMENTS
            .iter()
            .map(|argument| format!("--{argument}"))
            .collect();
        all.push(format!("--user-data-dir={}", profile.path().display()));
        all.push(format!("--window-size={width},{height}"));
        all.extend_from_slice(arguments);
        let session = format!("http://127.0.0.1:{}/session", port.number());
        let mut browser = Self {
            driver,
            session,
            _profile: profile,
            _port: port,
        };
        let capabilities = json!({"alwaysMatch": {"goog:chromeOptions": {"args": all}}});
        let made = browser.call("POST", "", &json!({"capabilities": capabilities}));
        browser.session = format!(
            "{}/{}",
            browser.session,
            made["sessionId"].as_str().unwrap()
        );
        browser.wait_for_elements(ELEMENT_TIMEOUT);
        // The window of headless Chromium is at least 500 pixels wide; an emulated device can be
        // narrower.
        let device =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        browser.devtools("Emulation.setDeviceMetricsOverride", &device);
        browser
    }

    pub fn go(&self, url: &str) {
        self.call("POST", "/url", &json!({"url": url}));
    }

    pub fn address(&self) -> String {
        self.call("GET", "/url", &Value::Null)
            .as_str()
            .unwrap()
            .to_owned()
    }

    pub fn click(&self, css: &str) {
        self.with_element(css, "POST", "click", &json!({}));
    }

    pub fn click_with_shift(&self, css: &str) {
        let key = |kind| json!({"type": kind, "value": SHIFT});
        let keys = json!([key("keyDown"), {"type": "pause"}, {"type": "pause"}, {"type": "pause"}, key("keyUp")]);
        let target =
            json!({"type": "pointerMove", "x": 0, "y": 0, "origin": {ELEMENT: self.find(css)}});
        let button = |kind| json!({"type": kind, "button": 0});
        let pointer =
            json!([{"type": "pause"}, target, button("pointerDown"), button("pointerUp")]);
        let actions = [
            json!({"type": "key", "id": "keyboard", "actions": keys}),
            json!({"type": "pointer", "id": "mouse", "actions": pointer}),
        ];
        self.call("POST", "/actions", &json!({"actions": actions}));
    }

    pub fn write(&self, css: &str, text: &str) {
        self.with_element(css, "POST", "value", &json!({"text": text}));
    }

    /// Presses a key in the focused element.
    pub fn press(&self, key: &str) {
        self.press_together(&[key]);
    }

    /// Presses several keys one after another, and then releases them.
    pub fn press_together(&self, keys: &[&str]) {
        let down = keys
            .iter()
            .map(|key| json!({"type": "keyDown", "value": key}));
        let up = keys
            .iter()
            .rev()
            .map(|key| json!({"type": "keyUp", "value": key}));
        self.strike(&down.chain(up).collect::<Vec<_>>());
    }

    /// Presses and releases several keys one after another, without a pause.
    pub fn type_keys(&self, keys: &[&str]) {
        let strokes = keys
            .iter()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": key})));
        self.strike(&strokes.collect::<Vec<_>>());
    }

    fn strike(&self, strokes: &[Value]) {
        self.call(
            "POST",
            "/actions",
            &json!({"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]}),
        );
    }

    pub fn text(&self, css: &str) -> String {
        self.with_element(css, "GET", "text", &Value::Null)
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Waits until the page has an element of `css` that contains `text`, which must not have an
    /// apostrophe.
    pub fn sees(&self, css: &str, text: &str) {
        let class = |name| format!("//*[contains(concat(' ', @class, ' '), ' {name} ')]");
        let path = css
            .strip_prefix('.')
            .map_or_else(|| format!("//{css}"), class);
        let xpath = format!("{path}[contains(normalize-space(.), '{text}')]");
        self.call(
            "POST",
            "/element",
            &json!({"using": "xpath", "value": xpath}),
        );
    }

    /// Waits until the page has an element of `css`, visible or not.
    pub fn waits_for(&self, css: &str) {
        self.find(css);
    }

    /// Whether the page has such an element now.
    pub fn has(&self, css: &str) -> bool {
        self.wait_for_elements(0);
        let found = self.call(
            "POST",
            "/elements",
            &json!({"using": "css selector", "value": css}),
        );
        self.wait_for_elements(ELEMENT_TIMEOUT);
        !found.as_array().unwrap().is_empty()
    }

    /// The return value of a function body that runs in the page.
    pub fn run(&self, script: &str) -> Value {
        self.call(
            "POST",
            "/execute/sync",
            &json!({"script": script, "args": []}),
        )
    }

    /// The value that a function body in the page passes to the callback `done`.
    pub fn run_until_done(&self, script: &str) -> Value {
        let script = format!("const done = arguments[arguments.length - 1]; {script}");
        self.call(
            "POST",
            "/execute/async",
            &json!({"script": script, "args": []}),
        )
    }

    /// Switches to the frame of `css`.
    pub fn enter(&self, css: &str) {
        let id = self.find(css);
        self.call("POST", "/frame", &json!({"id": {ELEMENT: id}}));
    }

    /// Switches back to the page.
    pub fn leave(&self) {
        self.call("POST", "/frame", &json!({"id": null}));
    }

    /// Waits until this many windows and tabs are open, and returns them, the current one first.
    pub fn windows(&self, count: usize) -> Vec<String> {
        let current = self.call("GET", "/window", &Value::Null);
        let deadline = Instant::now() + Duration::from_millis(ELEMENT_TIMEOUT.into());
        loop {
            let mut open = self.open_windows();
            if open.len() == count {
                open.sort_by_key(|window| current != *window.as_str());
                return open;
            }
            assert!(Instant::now() < deadline, "{open:?}");
        }
    }

    fn open_windows(&self) -> Vec<String> {
        serde_json::from_value(self.call("GET", "/window/handles", &Value::Null)).unwrap()
    }

    pub fn switch_to(&self, window: &str) {
        self.call("POST", "/window", &json!({"handle": window}));
    }

    /// Closes all windows and tabs except the current one.
    pub fn close_others(&self) {
        let current = self.call("GET", "/window", &Value::Null);
        let others = self
            .open_windows()
            .into_iter()
            .filter(|window| current != *window.as_str());
        let others: Vec<String> = others.collect();
        for window in &others {
            self.switch_to(window);
            self.call("DELETE", "/window", &Value::Null);
        }
        if !others.is_empty() {
            self.switch_to(current.as_str().unwrap());
        }
    }

    /// Minimizes the window, and waits until the page is hidden.
    pub fn hide(&self) {
        self.call("POST", "/window/minimize", &json!({}));
        self.wait_until("document.hidden");
    }

    /// Shows the window again.
    pub fn show(&self) {
        self.call("POST", "/window/maximize", &json!({}));
        self.wait_until("!document.hidden");
    }

    /// Waits until `condition` is true after a change of visibility.
    fn wait_until(&self, condition: &str) {
        self.run_until_done(&format!(
            "const look = () => ({condition}) && done();
             document.addEventListener('visibilitychange', look);
             look();"
        ));
    }

    pub fn devtools(&self, command: &str, parameters: &Value) {
        self.call(
            "POST",
            "/goog/cdp/execute",
            &json!({"cmd": command, "params": parameters}),
        );
    }

    /// Clicks everything that can be clicked; hostile elements may be hidden or move.
    pub fn click_all(&self, css: &str) {
        self.wait_for_elements(0);
        let found = self.call(
            "POST",
            "/elements",
            &json!({"using": "css selector", "value": css}),
        );
        for id in found
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|element| element[ELEMENT].as_str())
        {
            let _ = self.try_call("POST", &format!("/element/{id}/click"), &json!({}));
        }
        self.wait_for_elements(ELEMENT_TIMEOUT);
    }

    /// A live page may replace an element after it is found; then its successor is used, as a
    /// person would.
    fn with_element(&self, css: &str, method: &str, action: &str, body: &Value) -> Value {
        loop {
            let path = format!("/element/{}/{action}", self.find(css));
            match self.try_call(method, &path, body) {
                Err(error) if error["error"] == "stale element reference" => {}
                result => {
                    return result
                        .unwrap_or_else(|error| panic!("{method} {css} {action}: {error}"));
                }
            }
        }
    }

    fn find(&self, css: &str) -> String {
        let found = self.call(
            "POST",
            "/element",
            &json!({"using": "css selector", "value": css}),
        );
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    fn wait_for_elements(&self, milliseconds: u32) {
        self.call(
            "POST",
            "/timeouts",
            &json!({"implicit": milliseconds, "script": 2 * ELEMENT_TIMEOUT}),
        );
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        self.try_call(method, path, body)
            .unwrap_or_else(|error| panic!("{method} {path} {body}: {error}"))
    }

    fn try_call(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = http::call(method, format!("{}{path}", self.session));
        let response = request.any_status().send(body).unwrap();
        let mut answer: Value = serde_json::from_str(response.body()).unwrap();
        let value = answer["value"].take();
        if response.status() == 200 {
            Ok(value)
        } else {
            Err(value)
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.try_call("DELETE", "", &Value::Null);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// A browser without background activity.
const ARGUMENTS: [&str; 9] = [
    "headless",
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "disable-dev-shm-usage",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
];
