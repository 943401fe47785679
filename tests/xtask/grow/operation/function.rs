
/// `notes.keep`: a note under an id in the caller's scope; while another note has the id the caller may wait.
pub(crate) fn keep_note(cx: &mut Context<'_>) -> Flow<String> {
    use crate::generated::records::note::{self, Note};
    use crate::kernel::{Entry, keys};
    cx.control_plane()?;
    let text = cx.params.member("text")?;
    let id = keys::key(&[cx.tenant(), &cx.owner_scope(), cx.params.text("noteId")?]);
    let query = keys::row(note::COLLECTION, &id);
    cx.fetch(&[&query])?;
    let replayed = cx.replayed()?;
    let known = cx.lookup(note::COLLECTION, &id)?;
    let revision = known.map_or(0, |row| row.revision);
    if !replayed {
        if let Some(until) = patience(cx).filter(|_| known.is_some()) {
            return Err(Stop::Wait([id].into(), until));
        }
        free(known)?;
        let note = Note { text: text.raw().into(), kept: cx.now };
        let entry = Entry { index: "of".into(), key: id.clone() };
        cx.write(note::COLLECTION, &id, revision, note.text(), [entry].into());
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
