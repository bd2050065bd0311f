//! The chart of the last hour of a project, drawn as SVG, with an alternative text.

use std::time::Duration;

use askama::Template;

use crate::http::App;
use crate::http::error::Error;
use crate::model::ProjectId;
use crate::service::{MINUTES, Pulse};

/// The height of the chart, and the width of a minute.
const HEIGHT: i64 = 60;
const WIDTH: usize = 10;

/// The chart and the times of answers.
#[derive(Template)]
#[template(path = "pulse.html")]
pub(super) struct PulseView {
    bars: Vec<Bar>,
    width: usize,
    height: i64,
    text: String,
    answers: Option<String>,
}

/// A bar of a minute.
struct Bar {
    class: &'static str,
    x: usize,
    y: i64,
    height: i64,
    title: String,
}

impl PulseView {
    pub(super) async fn read(app: &App, project: ProjectId) -> Result<Self, Error> {
        Ok(Self::new(&app.service.pulse(project).await?))
    }

    fn new(pulse: &Pulse) -> Self {
        let sum = |counts: &[i64]| counts.iter().sum::<i64>();
        let (arrived, refused) = (sum(&pulse.arrivals), sum(&pulse.refusals));
        let most = pulse.arrivals.iter().zip(&pulse.refusals).map(|(one, other)| one + other).max().unwrap_or(0);
        let mut bars = Vec::new();
        for (index, (&arrivals, &refusals)) in pulse.arrivals.iter().zip(&pulse.refusals).enumerate() {
            let ago = MINUTES - 1 - index;
            let up = scaled(arrivals, most);
            let top = scaled(refusals, most);
            let title = format!("{ago} min ago: {arrivals} received, {refusals} rejected");
            let x = index * WIDTH;
            if up > 0 {
                bars.push(Bar { class: "arrived", x, y: HEIGHT - up, height: up, title: title.clone() });
            }
            if top > 0 {
                bars.push(Bar { class: "refused", x, y: HEIGHT - up - top, height: top, title });
            }
        }
        let text = format!(
            "Last hour: {arrived} {} received, {refused} rejected; busiest minute: {most}.",
            if arrived == 1 { "message" } else { "messages" },
        );
        Self { bars, width: MINUTES * WIDTH, height: HEIGHT, text, answers: answers(&pulse.answers) }
    }
}

/// At least one pixel for a count that is not zero.
fn scaled(count: i64, most: i64) -> i64 {
    if count == 0 { 0 } else { (count * HEIGHT / most.max(1)).max(2) }
}

fn answers(times: &[Duration]) -> Option<String> {
    let median = times.get(times.len() / 2)?.as_millis();
    let slowest = times.last()?.as_millis();
    let count = times.len();
    let waits = if count == 1 { "wait" } else { "waits" };
    Some(format!("Time from arrival to response (last {count} {waits}): median {median} ms, maximum {slowest} ms."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_has_a_text_and_a_bar_for_each_minute_with_mail() {
        let mut pulse = Pulse { arrivals: [0; MINUTES], refusals: [0; MINUTES], answers: Vec::new() };
        (pulse.arrivals[59], pulse.arrivals[0], pulse.refusals[59]) = (30, 1, 10);
        let view = PulseView::new(&pulse);
        let bars: Vec<_> = view.bars.iter().map(|bar| (bar.class, bar.x, bar.y, bar.height)).collect();
        assert_eq!(bars, [("arrived", 0, 58, 2), ("arrived", 590, 15, 45), ("refused", 590, 0, 15)]);
        assert_eq!(view.text, "Last hour: 31 messages received, 10 rejected; busiest minute: 40.");
        assert_eq!(answers(&[]), None);
        let times = [1, 2, 9].map(Duration::from_millis);
        assert!(answers(&times).unwrap().ends_with("(last 3 waits): median 2 ms, maximum 9 ms."));
    }
}
