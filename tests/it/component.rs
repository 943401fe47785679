//! The components themselves: nothing imported, small, and the name section there so that a trap can be read.

use threadmesh_artifact::{CORE_BYTES_MAX, VERIFIER_BYTES_MAX};
use wasmtime::{Config, Engine, component::Component};

fn imports(bytes: &[u8]) -> Vec<String> {
    let engine = Engine::new(&Config::new()).expect("an engine");
    let component = Component::new(&engine, bytes).expect("a component");
    component.component_type().imports(&engine).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn components_import_nothing() {
    assert_eq!(imports(threadmesh_artifact::CORE), Vec::<String>::new());
    assert_eq!(imports(threadmesh_artifact::VERIFIER), Vec::<String>::new());
}

#[test]
fn components_are_small() {
    let (verifier, core) = (threadmesh_artifact::VERIFIER.len(), threadmesh_artifact::CORE.len());
    println!("verifier {verifier} bytes, core {core} bytes");
    assert!(verifier <= VERIFIER_BYTES_MAX, "the verifier has {verifier} bytes");
    assert!(core <= CORE_BYTES_MAX, "the core has {core} bytes");
}

#[test]
fn components_keep_their_names_and_no_debug_sections() {
    for bytes in [threadmesh_artifact::CORE, threadmesh_artifact::VERIFIER] {
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(has("threadmesh_protocol"), "the name section is missing");
        assert!(!has(".debug_info"), "there are debug sections");
    }
}
