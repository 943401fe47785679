//! What may be put before a model, and what proves that it was.

use super::{Context, Oracle, attempts, party, text};
use serde_json::Value;
use threadmesh_runtime::wit::PrincipalKind;

impl Oracle {
    /// An admission begins, ends or stays as it is, and a message counts as shown only with what proves it.
    pub(super) fn admission(&mut self, context: Option<&Context>, id: &str, old: &Value, new: &Value, time: i64) {
        let (before, after) = (old.get("admission"), new.get("admission"));
        match (before, after) {
            (None, Some(after)) => self.taken(context, id, new, after, time),
            (Some(before), Some(after)) => {
                self.demand(before == after, || format!("{id}: an admission in flight changes: {before} to {after}"));
            }
            _ => {}
        }
        let purges = context.is_some_and(|context| context.operation == "maintenance.purgeContent");
        if old.get("admitted") != new.get("admitted") && !purges {
            self.admitted(context, id, old, new, time);
        }
        let (was, is) = (text(old, "delivery"), text(new, "delivery"));
        if is == "context-admitted" && was != is {
            let proven = old.get("admitted") != new.get("admitted") && new.get("admitted").is_some();
            self.demand(proven, || format!("{id} counts as shown to a model without proof: {new}"));
        }
    }

    /// The rendering is handed out.
    fn taken(&mut self, context: Option<&Context>, id: &str, new: &Value, admission: &Value, time: i64) {
        self.showable(id, new, time, "is shown to a model");
        let open = |attempt: &Value| text(attempt, "state") != "confirmed-not-submitted";
        let beside = attempts(new).any(open);
        self.demand(!beside, || format!("{id} is shown beside an open call: {new}"));
        let Some(context) = context else { return };
        let worker = context.who.worker.as_deref().unwrap_or("");
        let own = context.operation == "adapter.prepareContextAdmission"
            && text(admission, "worker") == worker
            && party(&crate::cast::owned(&context.who)) == party(&new["receiver"]);
        self.demand(own, || format!("{id} is taken by {}", crate::cast::name(&context.who)));
        let receiver = self.row("task", &party(&new["receiver"])).cloned().unwrap_or_default();
        let reference = &receiver["adapterRef"];
        let bound = reference["kind"] == admission["profile"] && reference["session"] == admission["session"];
        self.demand(bound, || format!("{id} is taken for {admission}, and its receiver is bound to {reference}"));
    }

    /// Only an accepted suggestion that may be acted on now.
    fn showable(&mut self, id: &str, life: &Value, time: i64, what: &str) {
        self.authorised(id, life, time, what);
        let fits = text(life, "decision") == "accepted"
            && text(life, "intent") == "suggest"
            && !matches!(text(life, "mode"), "store-only" | "side-channel");
        self.demand(fits, || format!("{id} {what}: {life}"));
    }

    /// It is established that a model saw it.
    fn admitted(&mut self, context: Option<&Context>, id: &str, old: &Value, new: &Value, time: i64) {
        let Some(Context { who, operation, params, .. }) = context else {
            return self.violation(format!("{id} is admitted by nobody"));
        };
        let admitted = &new["admitted"];
        let how = text(admitted, "how");
        let name = || format!("{id} is {how}: {operation} by {}: {params}", crate::cast::name(who));
        if how == "read" {
            let alone = operation == "adapter.admitContext" && old.get("admission").is_none();
            self.demand(alone, name);
            return self.showable(id, new, time, "is read");
        }
        let Some(before) = old.get("admission") else {
            return self.violation(format!("{}, and nothing is in flight", name()));
        };
        let gone = new.get("admission").is_none();
        let evidence = &params["evidence"];
        let same = |evidence: &str, admission: &str, source: &Value| source[evidence] == before[admission];
        let exact = same("digest", "digest", admitted)
            && same("bytes", "bytes", admitted)
            && same("renderingDigest", "digest", evidence)
            && same("renderingBytes", "bytes", evidence);
        let nonce = same("nonce", "nonce", evidence) || (how == "recovered" && evidence.get("nonce").is_none());
        let session = ["session", "sessionId", "threadId"].iter().find_map(|name| evidence.get(*name));
        let bound = evidence["kind"] == before["kind"] && session == before.get("session");
        let well = [("stopReason", "end_turn"), ("turnStatus", "completed"), ("resultStatus", "success")];
        let ended = well.iter().all(|(name, word)| evidence.get(*name).is_none_or(|said| said == word))
            && ["exitCode", "toolUseCount"].iter().all(|name| evidence.get(*name).is_none_or(|said| *said == 0));
        self.demand(gone && exact && nonce && bound && ended, || format!("{} proves nothing of {before}", name()));
        let holds = who.worker.as_deref().unwrap_or("") == text(before, "worker")
            && who.kind == PrincipalKind::Task
            && party(&crate::cast::owned(who)) == party(&old["receiver"]);
        let may = match how {
            "confirmed" => holds && params["admissionToken"] == before["token"],
            "recovered" => holds || before["until"].as_i64() <= Some(time),
            _ => false,
        };
        self.demand(may, || format!("{} is not his to say of {before}", name()));
    }
}
