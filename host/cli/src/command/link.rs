//! `threadmesh link` and `threadmesh unlink`: what one task may send to another, by their names.

mod grants;

use crate::failure::{Exit, Failure, Outcome};
use crate::names::{Named, Names};
use crate::target::{PlaceArguments, TokenArguments};
use crate::terminal::Printer;
use crate::time;
use clap::{Args, ValueEnum};
use grants::Wanted;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Allow task FROM to send to task TO. The other direction is another link, or --both.
///
/// It grants: relationships.grant. A link that is there already, with the same meaning, stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh link plan build
  threadmesh link plan build --both
  threadmesh link lead build --may suggest,steer --as supervisor
  threadmesh link plan build --may notify --change

A peer may notify and suggest, an observer only notify; a steer or an interrupt takes --as supervisor or --as parent.
With --both, a supervisor or parent gets suggestions back from its child.")]
pub struct Arguments {
    #[command(flatten)]
    ends: Ends,
    /// What FROM may send; unless given notify and suggest, for an observer notify alone
    #[arg(long, value_name = "INTENTS", value_enum, value_delimiter = ',')]
    may: Vec<Intent>,
    /// What FROM is to TO
    #[arg(long = "as", value_name = "RELATIONSHIP", value_enum, default_value = "peer")]
    relationship_type: RelationshipType,
    /// Allow the other direction too
    #[arg(long)]
    both: bool,
    /// What FROM may see of TO's state
    #[arg(long, value_name = "WHAT", value_enum, default_value = "none")]
    shows: Visibility,
    /// How long it holds; until it is revoked unless given
    #[arg(long, value_name = "DURATION", value_parser = time::duration)]
    expires_in: Option<Duration>,
    /// Replace a link that means something else
    #[arg(long)]
    change: bool,
    #[command(flatten)]
    who: Who,
}

/// Withdraw what a link allows: from then on FROM can send nothing under it to TO, and TO can read nothing more of it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  threadmesh unlink plan build
  threadmesh unlink plan build --both

It revokes: relationships.revoke. Where no link is left, nothing changes.")]
pub struct Unlink {
    #[command(flatten)]
    ends: Ends,
    /// The other direction too
    #[arg(long)]
    both: bool,
    #[command(flatten)]
    who: Who,
}

/// Between whom.
#[derive(Debug, Args)]
struct Ends {
    /// The task that sends: its name, or TASK@INCARNATION
    #[arg(value_name = "FROM")]
    from: String,
    /// The task that receives
    #[arg(value_name = "TO")]
    to: String,
    /// The id of the relationship; one made of both names unless given
    #[arg(long, value_name = "ID")]
    relationship: Option<String>,
}

/// Where, and as whom. `--as` is taken by what the tasks are to each other.
#[derive(Debug, Args)]
struct Who {
    #[command(flatten)]
    place: PlaceArguments,
    /// Who grants: the name of a user or policy; the only user unless given
    #[arg(long = "by", value_name = "NAME")]
    by: Option<String>,
    /// A file that holds the token of whoever grants
    #[arg(long, value_name = "FILE", env = "THREADMESH_TOKEN_FILE")]
    token_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Intent {
    Notify,
    Suggest,
    Steer,
    Interrupt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RelationshipType {
    Peer,
    Supervisor,
    Parent,
    Child,
    Dependency,
    Observer,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Visibility {
    None,
    StateOnly,
    Coordination,
    ObjectiveHint,
}

impl Intent {
    /// The delivery modes by which the intent usually goes.
    const fn modes(self) -> &'static [&'static str] {
        match self {
            Intent::Notify => &["store-only"],
            Intent::Suggest => &["store-only", "checkpoint-offer"],
            Intent::Steer => &["active-steer"],
            Intent::Interrupt => &["interrupt-request"],
        }
    }
}

/// Runs `link`.
pub fn run(arguments: &Arguments, printer: Printer) -> Outcome {
    let back = arguments.both.then(|| back(arguments)).transpose()?;
    let (from, to) = arguments.ends.tasks(&arguments.who.place.names()?)?;
    let mut mesh = arguments.who.place.open_as_user(printer, &arguments.who.token())?;
    let relationship = arguments.ends.relationship(&from, &to);
    let wanted = wanted(arguments.relationship_type, &arguments.may, arguments);
    let mut links = vec![grants::link(mesh.as_mut(), [&from, &to], &relationship, &wanted, arguments.change)?];
    if let Some((kind, may)) = back {
        let wanted = self::wanted(kind, &may, arguments);
        links.push(grants::link(mesh.as_mut(), [&to, &from], &relationship, &wanted, arguments.change)?);
    }
    let report = json!({"links": links});
    printer.show(&report, || links.iter().map(line).collect());
    Ok(Exit::Accepted)
}

/// Runs `unlink`.
pub fn unlink(arguments: &Unlink, printer: Printer) -> Outcome {
    let (from, to) = arguments.ends.tasks(&arguments.who.place.names()?)?;
    let mut mesh = arguments.who.place.open_as_user(printer, &arguments.who.token())?;
    let only = arguments.ends.relationship.as_deref();
    let mut revoked = grants::unlink(mesh.as_mut(), [&from, &to], only)?;
    if arguments.both {
        revoked.extend(grants::unlink(mesh.as_mut(), [&to, &from], only)?);
    }
    let report = json!({"revoked": revoked, "replay": revoked.is_empty()});
    printer.show(&report, || match revoked.is_empty() {
        true => vec![format!("no link from {} to {} is there", arguments.ends.from, arguments.ends.to)],
        false => revoked.iter().map(revoked_line).collect(),
    });
    Ok(Exit::Accepted)
}

fn wanted(kind: RelationshipType, may: &[Intent], arguments: &Arguments) -> Wanted {
    let usual: &[Intent] = match kind {
        RelationshipType::Observer => &[Intent::Notify],
        _ => &[Intent::Notify, Intent::Suggest],
    };
    let intents = if may.is_empty() { usual } else { may };
    let mut modes: Vec<String> =
        intents.iter().flat_map(|intent| intent.modes()).map(|mode| (*mode).to_owned()).collect();
    modes.sort();
    modes.dedup();
    let mut intents: Vec<String> = intents.iter().map(word).collect();
    intents.sort();
    intents.dedup();
    let lives = arguments.expires_in.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    Wanted { kind: word(&kind), intents, modes, shows: word(&arguments.shows), lives }
}

/// What the other direction is, with --both.
fn back(arguments: &Arguments) -> Result<(RelationshipType, Vec<Intent>), Failure> {
    match arguments.relationship_type {
        RelationshipType::Peer => Ok((RelationshipType::Peer, arguments.may.clone())),
        RelationshipType::Supervisor | RelationshipType::Parent => Ok((RelationshipType::Child, Vec::new())),
        _ => {
            let detail = "--both is for peers, supervisors and parents";
            Err(Failure::unusable(
                "usage",
                detail,
                "make the other direction a link of its own: threadmesh link TO FROM",
            ))
        }
    }
}

/// The word of a value on the command line, which is that of documents.
fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

impl Ends {
    fn tasks(&self, names: &Names) -> Result<(Named, Named), Failure> {
        let (from, to) = (names.task(&self.from)?, names.task(&self.to)?);
        if from.task == to.task {
            return Err(Failure::unusable("usage", "a task needs no link to itself", "name two tasks"));
        }
        Ok((from, to))
    }

    /// One id for both directions, so that an answer goes under the id that the question came under.
    fn relationship(&self, from: &Named, to: &Named) -> String {
        self.relationship.clone().unwrap_or_else(|| {
            let mut ends = [from.task.task.as_str(), to.task.task.as_str()];
            ends.sort_unstable();
            let plain = |sign: char| if sign.is_ascii_alphanumeric() || "._-".contains(sign) { sign } else { '-' };
            format!("rel_{}_{}", ends[0], ends[1]).chars().map(plain).take(200).collect()
        })
    }
}

impl Who {
    fn token(&self) -> TokenArguments {
        TokenArguments { name: self.by.clone(), token_file: self.token_file.clone() }
    }
}

fn list(value: &Value) -> String {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

fn line(link: &Value) -> String {
    let text = |name: &str| link[name].as_str().unwrap_or_default();
    let already = if link["replay"] == true { ", as before" } else { "" };
    let (from, to, kind) = (text("from"), text("to"), text("relationshipType"));
    format!(
        "{from} may send to {to}, as {kind}: {} ({}){already}",
        list(&link["allowedIntents"]),
        text("relationshipId")
    )
}

fn revoked_line(link: &Value) -> String {
    let text = |name: &str| link[name].as_str().unwrap_or_default();
    format!("{} may send nothing more to {} under {}", text("from"), text("to"), text("relationshipId"))
}
