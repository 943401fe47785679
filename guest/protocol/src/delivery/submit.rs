//! `adapter.prepareSubmission`, `adapter.acceptAndBegin`: an accepted message is on its way to the receiver's harness. What
//! is the same for every call is in `submission`.

use crate::Rule;
use crate::delivery::{
    guard::ask,
    holder::{Carried, Hooks},
    life::disposition,
    mailbox::acknowledge,
    scene::with_message,
    target::{adapter, hints},
};
use crate::generated::machines::Submission;
use crate::json::Writer;
use crate::kernel::{
    context::Context,
    fields::Fields,
    flow::{Flow, damaged},
    guard::Moment,
};
use crate::rules::check;
use crate::submission::{begin, holder::Holder, view};
use alloc::string::String;

/// `adapter.prepareSubmission`.
pub(crate) fn prepare(cx: &mut Context<'_>, hooks: Hooks) -> Flow<String> {
    let name = cx.message_in_params()?;
    hints(cx, name);
    let (scene, role) = cx.scene_with(name, with_message)?;
    scene.receiver_acts(role)?;
    let replayed = cx.replayed()?;
    scene.not_busy(cx)?;
    let mut carried = Carried { scene, role, hooks, was_open: false };
    let expected = cx.params.int("expectedRevision")?;
    if let Some(attempt) = &carried.scene.life.record.attempt {
        let crossed = attempt.unresolved() || attempt.state == Submission::ReceiptRecorded;
        if crossed || replayed {
            check(Rule::SU2, attempt.disposition_revision == expected)?;
            cx.resource = Some((carried.row().into(), carried.revision()));
            if crossed {
                return view::begun(cx, &carried, 0, true, false);
            }
            // A replay shows the content again: only to who may see it today.
            ask(cx, hooks.guards, Moment::Prepare, &carried.scene)?;
            carried.scene.unexpired(cx.now)?;
            return prepared_view(cx, &carried, true);
        }
    }
    let target = adapter(cx, &carried.scene)?;
    let replay = begin::prepare(cx, &mut carried, 0, &target, true)?;
    let view = prepared_view(cx, &carried, replay)?;
    if replay {
        cx.resource = Some((carried.row().into(), carried.revision()));
    } else {
        carried.save(cx)?;
    }
    Ok(view)
}

fn prepared_view(cx: &mut Context<'_>, carried: &Carried, replay: bool) -> Flow<String> {
    let envelope = carried.scene.message(cx)?.envelope;
    let reference = carried.scene.receiver.as_ref().and_then(|row| row.record.adapter_ref.clone());
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replay);
    w.member_raw("adapterRef", reference.as_deref().unwrap_or("null"));
    w.member_raw("envelope", &envelope);
    let attempt = carried.scene.life.record.attempt.as_ref().ok_or_else(|| damaged("attempt"))?;
    view::submission(&mut w, carried, 0, attempt, true);
    w.end_object();
    Ok(w.finish())
}

/// `adapter.acceptAndBegin`: acknowledge, prepare and begin in one commit, failing as the first failing part would.
pub(crate) fn accept_and_begin(cx: &mut Context<'_>, hooks: Hooks) -> Flow<String> {
    let name = cx.message_in_params()?;
    hints(cx, name);
    let (scene, role) = cx.scene_with(name, with_message)?;
    scene.receiver_acts(role)?;
    if cx.replayed()? {
        let carried = Carried { scene, role, hooks, was_open: false };
        return accepted_view(cx, &carried, false);
    }
    let was_open = scene.life.record.open();
    let scene = acknowledge(cx, hooks.guards, scene)?;
    let target = adapter(cx, &scene)?;
    let mut carried = Carried { scene, role, hooks, was_open };
    begin::prepare(cx, &mut carried, 0, &target, false)?;
    let hosted = begin::cross(cx, &mut carried, 0, &target, false)?;
    carried.save(cx)?;
    accepted_view(cx, &carried, !hosted)
}

fn accepted_view(cx: &mut Context<'_>, carried: &Carried, dispatch: bool) -> Flow<String> {
    let mut w = Writer::new();
    w.begin_object();
    w.member_raw("disposition", &disposition(&carried.scene.life));
    if let Some(attempt) = &carried.scene.life.record.attempt {
        view::submission(&mut w, carried, 0, attempt, true);
    }
    if dispatch {
        view::put_dispatch(cx, &mut w, carried, 0)?;
    }
    w.end_object();
    Ok(w.finish())
}
