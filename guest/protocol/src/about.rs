//! What this build of the rules is.

pub use crate::generated::about::DESCRIPTION;

#[cfg(test)]
mod tests {
    use super::DESCRIPTION;
    use crate::{documents, json};
    use alloc::vec::Vec;

    #[test]
    fn the_description_is_json_and_names_the_kinds_that_check_knows() {
        let tree = json::parse(DESCRIPTION).unwrap();
        let told = |name: &str| tree.root().get(name).unwrap();
        let texts = |name: &str| told(name).items().filter_map(|item| item.as_str()).collect::<Vec<_>>();
        assert_eq!(told("contract").as_str(), Some("threadmesh:core@0.2.0"));
        assert_eq!(told("core").as_str(), Some(env!("CARGO_PKG_VERSION")));
        assert!(told("specDigest").as_str().unwrap().starts_with("sha256:"));
        assert_eq!(texts("kinds"), documents::kinds().collect::<Vec<_>>());
        assert!(texts("machines").contains(&"delivery"));
    }
}
