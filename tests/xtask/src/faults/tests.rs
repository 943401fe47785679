use super::patch;

/// So that a change that moves what a fault is made in moves the fault too.
#[test]
fn every_deliberate_fault_applies() {
    let root = crate::root();
    let patches = patch::all(&root).expect("patches");
    assert!(patches.len() >= 45, "{} faults", patches.len());
    let unfit = patch::unfit(&root, &patches).expect("git");
    assert!(unfit.is_empty(), "mend these patches by hand: {unfit:#?}");
}
