
/// Rule NT-1.
fn free(note: Option<&Stored>) -> Flow<()> {
    Ok(crate::rules::check(crate::Rule::NT1, note.is_none())?)
}
