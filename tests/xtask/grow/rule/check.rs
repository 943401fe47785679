
/// Rule NT-1.
fn free(note: Option<&Stored>) -> Flow<()> {
    Ok(check(Rule::NT1, note.is_none())?)
}
