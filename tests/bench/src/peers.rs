//! What other systems did on a machine of the same kind: two shared virtual cores, ext4 on a virtual disk, everything
//! durable before it was acknowledged (fsync or fdatasync per commit), messages of 400 bytes, client and server on the same
//! cores, the fastest of several quiet runs. They were measured once, apart from this program, at 1, 16 and 64 callers in a
//! closed loop; this machine was another, or busier: what can be compared is each system's ratio to its own disk.

/// Operations per second of one system, at 1, 16 and 64 callers; 0 where it was not measured.
struct Peer {
    system: &'static str,
    rates: [u32; 3],
}

const fn peer(system: &'static str, rates: [u32; 3]) -> Peer {
    Peer { system, rates }
}

/// Commits per second of one row in SQLite 3.40 (WAL, synchronous=FULL) on that disk, by one writer.
const COMMITS: f64 = 6_895.0;

/// An acceptance with a key against duplicates. SQLite's 16 and 64 writers do not share their syncs.
const SEND: &[Peer] = &[
    peer("SQLite 3.40, one commit each (limit)", [5_724, 4_748, 4_901]),
    peer("SQLite 3.40, 10 and 100 in one commit (limit)", [0, 42_036, 141_212]),
    peer("PostgreSQL 15.18, plain SQL", [3_616, 15_913, 13_408]),
    peer("Redis 7.0.15 Streams, appendfsync always", [2_289, 20_196, 20_051]),
    peer("NATS JetStream 2.15.1, sync always", [2_042, 4_013, 4_257]),
    peer("DBOS 3.4.0 on SQLite in WAL mode", [1_506, 1_281, 1_406]),
    peer("DBOS 5.3.0 (TypeScript) on PostgreSQL", [906, 2_546, 2_502]),
    peer("Restate 1.7.12, 2 partitions", [654, 2_251, 4_394]),
];

/// A claim and its acknowledgement, two commits.
const CLAIM: &[Peer] = &[
    peer("SQLite 3.40, two commits, one writer (limit)", [2_858, 0, 0]),
    peer("PostgreSQL 15.18, plain SQL", [1_628, 5_336, 3_782]),
    peer("Redis 7.0.15 Streams, appendfsync always", [1_274, 8_229, 8_133]),
    peer("NATS JetStream 2.15.1, acknowledgements not synced", [2_720, 6_062, 7_005]),
    peer("Restate 1.7.12, 2 partitions", [150, 1_276, 2_001]),
];

/// An effect recorded before and after the call, two commits.
const EFFECT: &[Peer] = &[
    peer("SQLite 3.40, two commits (limit)", [3_085, 3_588, 0]),
    peer("PostgreSQL 15.18, plain SQL", [2_023, 6_866, 7_362]),
    peer("Redis 7.0.15 Streams, appendfsync always", [1_500, 8_151, 9_685]),
    peer("NATS JetStream 2.15.1, key-value", [1_145, 2_055, 2_210]),
    peer("LangGraph 1.2.24 on SQLite", [241, 206, 163]),
    peer("DBOS 3.4.0 on SQLite in WAL mode", [216, 184, 162]),
    peer("Restate 1.7.12, 2 partitions", [170, 900, 1_384]),
    peer("Obelisk 0.38.3 on SQLite", [22, 172, 131]),
];

/// Prints what others do in the unit `name` with so many callers, each with its ratio to the commits of its disk. Nothing for
/// a unit or a number of callers that they were not measured at.
pub fn print(name: &str, callers: usize) {
    let peers = match name {
        "send" => SEND,
        "claim+ack" => CLAIM,
        "effect" => EFFECT,
        _ => return,
    };
    let Some(column) = [1, 16, 64].iter().position(|known| *known == callers) else { return };
    for Peer { system, rates } in peers.iter().filter(|peer| peer.rates[column] > 0) {
        let rate = f64::from(rates[column]);
        println!("       {rate:>18.0} ({:.2}x)  {system}", rate / COMMITS);
    }
}
