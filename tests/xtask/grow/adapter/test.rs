//! A profile of the kind `echo` performs calls.

mod echo {
    use std::time::Instant;
    use threadmesh_adapters::profiles::{Surroundings, parse};
    use threadmesh_runtime::adapter::{Holder, Query, QueryOutcome};

    #[test]
    fn finds_what_it_is_asked_about() {
        let surroundings = Surroundings { digest: &|text| Ok(text.to_owned()), carrier: None };
        let profile = parse("[profile.mirror]\nkind = \"echo\"", &surroundings).unwrap().remove(0);
        let query = Query {
            submission_id: "sub_echo-0001".to_owned(),
            idempotency_key: "adp_echo-0001".to_owned(),
            scope: "adp_echo-0001".to_owned(),
            tenant: "default".to_owned(),
            holder: Holder::Message {
                id: "msg_echo-0001".to_owned(),
                sender_incarnation_id: "inc_echo-0001".to_owned(),
            },
            profile: "mirror".to_owned(),
            session: None,
            payload_digest: String::new(),
        };
        let found = profile.adapter.unwrap().query(&query, Instant::now());
        assert!(matches!(found, QueryOutcome::Found(receipt) if receipt.adapter_operation_id == "adp_echo-0001"));
    }
}
