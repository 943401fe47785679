//! Generated files are what the data says, and every rule has vectors on both sides.

#[test]
fn generated_files_are_fresh() {
    let stale = xtask::codegen::stale(&xtask::root()).expect("the data can be read");
    assert!(stale.is_empty(), "run `cargo xtask codegen`: {stale:?}");
}

#[test]
fn every_rule_has_an_accepting_and_a_rejecting_vector() {
    let coverage = xtask::coverage::coverage(&xtask::root()).expect("the vectors can be read");
    assert!(coverage.unknown.is_empty(), "vectors name unknown rules: {:?}", coverage.unknown);
    assert!(coverage.duplicates.is_empty(), "vector names stand twice: {:?}", coverage.duplicates);
    assert!(coverage.unaccepted().is_empty(), "no accepting vector: {:?}", coverage.unaccepted());
    assert!(coverage.unrejected().is_empty(), "no rejecting vector: {:?}", coverage.unrejected());
    let (accepting, rejecting) = (coverage.vectors.accepting, coverage.vectors.rejecting);
    assert!(rejecting > accepting, "{rejecting} rejecting vectors against {accepting} accepting ones");
}
