//! Plays every dialog against the pure session: line by line, and as one block that is split at
//! every position.

use restante_dialogs::{Cut, Dialog, Peer, SessionPeer};

/// A longer dialog, in bytes, is split only at every seventeenth position; all positions would take
/// minutes.
const CUT_EVERYWHERE: usize = 4_096;

#[test]
fn every_dialog_is_as_its_file_says() {
    let dialogs = Dialog::all();
    assert!(
        dialogs.len() >= 80,
        "only {} dialogs were found",
        dialogs.len()
    );
    let problems: Vec<_> = dialogs
        .iter()
        .filter_map(|dialog| play(dialog).err())
        .collect();
    assert!(
        problems.is_empty(),
        "{} of {} dialogs:\n{}",
        problems.len(),
        dialogs.len(),
        problems.join("\n")
    );
}

/// Plays a dialog in every way; returns the first problem.
fn play(dialog: &Dialog) -> Result<(), String> {
    play_cut(dialog, Cut::Nowhere)?;
    play_cut(dialog, Cut::Everywhere)?;
    let pipelined = dialog.pipelined();
    play_cut(&pipelined, Cut::Nowhere)?;
    play_cut(&pipelined, Cut::Everywhere)?;
    let step = if pipelined.sent() > CUT_EVERYWHERE {
        17
    } else {
        1
    };
    (0..pipelined.sent())
        .step_by(step)
        .try_for_each(|place| play_cut(&pipelined, Cut::After(place)))
}

fn play_cut(dialog: &Dialog, cut: Cut) -> Result<(), String> {
    let mut peer = SessionPeer::new(&dialog.conditions, cut);
    dialog
        .play(&mut peer)
        .map_err(|problem| format!("{problem} (cut {cut:?})"))?;
    match peer.reply_line() {
        Some(line) => Err(format!(
            "{}: got {line:?} at the end (cut {cut:?})",
            dialog.name
        )),
        None => Ok(()),
    }
}
