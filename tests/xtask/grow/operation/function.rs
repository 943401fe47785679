
/// `notes.keep`: a note under an id in the caller's scope; while another note has the id the caller may wait.
pub(crate) fn keep_note(cx: &mut Context<'_>) -> Flow<String> {
    use crate::kernel::{Entry, keys};
    cx.control_plane()?;
    let text = cx.params.member("text")?;
    let id = keys::key(&[cx.tenant(), &cx.owner_scope(), cx.params.text("noteId")?]);
    let query = keys::row("note", &id);
    cx.fetch(&[&query])?;
    let replayed = cx.replayed()?;
    let known = cx.lookup("note", &id)?;
    let revision = known.map_or(0, |row| row.revision);
    if !replayed {
        if let Some(until) = patience(cx).filter(|_| known.is_some()) {
            return Err(Stop::Wait([id].into(), until));
        }
        free(known)?;
        let mut w = Writer::new();
        w.begin_object();
        w.member_raw("text", text.raw());
        w.end_object();
        let entry = Entry { index: "note.of".into(), key: id.clone() };
        cx.write("note", &id, revision, w.finish(), [entry].into());
        cx.topics.push(id.clone());
        cx.resource = Some((id, i64::from(revision).saturating_add(1)));
    }
    let mut w = Writer::new();
    w.begin_object();
    w.member_bool("replay", replayed);
    w.member_str("digest", &text.digest());
    w.end_object();
    Ok(w.finish())
}
