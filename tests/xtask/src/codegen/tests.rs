//! What is checked in is what the data says.

#[test]
fn generated_files_are_fresh() {
    let stale = super::stale(&crate::root()).unwrap();
    assert!(stale.is_empty(), "not fresh: {}; run `cargo xtask codegen`", stale.join(", "));
}
