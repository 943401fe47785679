//! The subcommands, one file each.

pub mod ack;
pub mod call;
pub mod canonicalize;
pub mod check;
pub mod clock;
pub mod completions;
pub mod component;
pub mod conformance;
pub mod demo;
pub mod digest;
pub mod doctor;
pub mod inbox;
pub mod init;
pub mod link;
pub mod mcp;
pub mod openrpc;
pub mod purge;
pub mod replay;
pub mod send;
pub mod serve;
pub mod show;
pub mod task;
pub mod token;
pub mod up;
pub mod verify;
pub mod wait;

use crate::failure::Outcome;
use crate::terminal::Printer;
use clap::Subcommand;

/// A subcommand and its arguments.
#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(demo::Arguments),
    Init(init::Arguments),
    Task(task::Arguments),
    Link(Box<link::Arguments>),
    Unlink(link::Unlink),
    Up(up::Arguments),
    Serve(Box<serve::Arguments>),
    Call(call::Arguments),
    Send(Box<send::Arguments>),
    Inbox(inbox::Arguments),
    Ack(ack::Arguments),
    Wait(wait::Arguments),
    Show(show::Arguments),
    Purge(purge::Arguments),
    Check(check::Arguments),
    Canonicalize(canonicalize::Arguments),
    Digest(digest::Arguments),
    Verify(Box<verify::Arguments>),
    Component(component::Arguments),
    Mcp(mcp::Arguments),
    Openrpc(openrpc::Arguments),
    Conformance(Box<conformance::Arguments>),
    Doctor(doctor::Arguments),
    Replay(replay::Arguments),
    Token(token::Arguments),
    Clock(clock::Arguments),
    Completions(completions::Arguments),
}

impl Command {
    /// Runs it.
    pub fn run(&self, printer: Printer) -> Outcome {
        match self {
            Command::Demo(arguments) => demo::run(arguments, printer),
            Command::Init(arguments) => init::run(arguments, printer),
            Command::Task(arguments) => task::run(arguments, printer),
            Command::Link(arguments) => link::run(arguments, printer),
            Command::Unlink(arguments) => link::unlink(arguments, printer),
            Command::Up(arguments) => up::run(arguments, printer),
            Command::Serve(arguments) => serve::run(arguments, printer),
            Command::Call(arguments) => call::run(arguments, printer),
            Command::Send(arguments) => send::run(arguments, printer),
            Command::Inbox(arguments) => inbox::run(arguments, printer),
            Command::Ack(arguments) => ack::run(arguments, printer),
            Command::Wait(arguments) => wait::run(arguments, printer),
            Command::Show(arguments) => show::run(arguments, printer),
            Command::Purge(arguments) => purge::run(arguments, printer),
            Command::Check(arguments) => check::run(arguments, printer),
            Command::Canonicalize(arguments) => canonicalize::run(arguments, printer),
            Command::Digest(arguments) => digest::run(arguments, printer),
            Command::Verify(arguments) => verify::run(arguments, printer),
            Command::Component(arguments) => component::run(arguments, printer),
            Command::Mcp(arguments) => mcp::run(arguments, printer),
            Command::Openrpc(arguments) => openrpc::run(arguments, printer),
            Command::Conformance(arguments) => conformance::run(arguments, printer),
            Command::Doctor(arguments) => doctor::run(arguments, printer),
            Command::Replay(arguments) => replay::run(arguments, printer),
            Command::Clock(arguments) => clock::run(arguments, printer),
            Command::Token(arguments) => token::run(arguments, printer),
            Command::Completions(arguments) => completions::run(arguments),
        }
    }
}
