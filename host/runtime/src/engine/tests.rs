use super::*;
use std::time::Instant;

#[test]
fn sizes() {
    let path = std::env::var("COMPONENT").unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let core = WasmCore::of(&bytes, "x", Options { cache: Cache::Off, ..Options::default() }).unwrap();
    let mut s = core.session().unwrap();
    let env = |n: usize| format!("{{\"specVersion\":\"0.0-draft\",\"messageId\":\"abc\",\"sender\":{{\"taskId\":\"t\",\"incarnationId\":\"i\"}},\"content\":\"{}\",\"n\":[1,2,3.5],\"expiresAt\":\"2026-01-01T00:00:00Z\"}}", "hello world ".repeat(n));
    let two = env(110);
    let many = format!("[{}]", vec![env(30); 72].join(","));
    let v: serde_json::Value = serde_json::from_str(&std::fs::read_to_string("../../spec/conformance/attestation/subjects.json").unwrap()).unwrap();
    let t: serde_json::Value = serde_json::from_str(&std::fs::read_to_string("../../spec/conformance/attestation/trust.json").unwrap()).unwrap();
    let mut vs = vec![];
    for x in v["vectors"].as_array().unwrap().iter().chain(t["vectors"].as_array().unwrap()) {
        if x["function"] == "verify" && x.get("ok").is_some() { vs.push(x["args"].clone()); }
    }
    let ed = vs.iter().find(|a| a["anchors"].as_str().unwrap().contains("ed25519")).cloned();
    let p = vs.iter().find(|a| !a["anchors"].as_str().unwrap().contains("ed25519") && a["anchors"].as_str().unwrap().contains("p256")).cloned();
    let mut best = std::collections::BTreeMap::new();
    for _ in 0..15 {
        let mut time = |name: &'static str, n: u32, f: &mut dyn FnMut()| {
            let a = Instant::now();
            for _ in 0..n { f() }
            let d = a.elapsed() / n;
            let e = best.entry(name).or_insert(d); if d < *e { *e = d; }
        };
        time("digest 1.5k", 200, &mut || { s.digest(&two).unwrap().unwrap(); });
        time("canon 1.5k", 200, &mut || { s.canonicalize(&two).unwrap().unwrap(); });
        time("canon 40k", 20, &mut || { s.canonicalize(&many).unwrap().unwrap(); });
        for (n, a) in [("ed", &ed), ("p256", &p)] {
            if let Some(a) = a {
                let g = |k: &str| a[k].as_str().unwrap().to_owned();
                let (d, an, ex) = (g("document"), g("anchors"), g("expected"));
                time(n, 20, &mut || { s.verify(&d, &an, &ex, a["now"].as_f64().unwrap()).unwrap().unwrap(); });
            }
        }
    }
    println!("{path}: {best:?}");
}
