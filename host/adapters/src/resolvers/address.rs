//! Where a name leads, and whether anybody may be asked there.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs},
    sync::mpsc,
    thread,
    time::Duration,
};

/// A directory of names.
pub trait Names: Send + Sync + 'static {
    /// The addresses of `host`, a name or an address itself; [`io::ErrorKind::TimedOut`] where the directory does not answer
    /// within `timeout`.
    fn look_up(&self, host: &str, timeout: Duration) -> io::Result<Vec<IpAddr>>;
}

/// The directory of the system.
#[derive(Clone, Copy, Debug)]
pub(super) struct SystemNames;

impl Names for SystemNames {
    fn look_up(&self, host: &str, timeout: Duration) -> io::Result<Vec<IpAddr>> {
        if let Ok(ip) = host.parse() {
            return Ok(vec![ip]);
        }
        // The system's look-up knows no deadline: it gets a thread, which ends when the system lets it.
        let (sender, receiver) = mpsc::sync_channel(1);
        let host = host.to_owned();
        thread::Builder::new().name("resolver-name".into()).spawn(move || {
            let found = (host.as_str(), 0_u16).to_socket_addrs();
            drop(sender.send(found.map(|found| found.map(|address| address.ip()).collect())));
        })?;
        receiver.recv_timeout(timeout).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Which addresses an origin may lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// Those of the public network.
    Public,
    /// These, and those of private networks and of this machine.
    Private,
    /// Those of this machine alone.
    Loopback,
}

impl Allowed {
    /// What the authority of an origin and the operator's word for private networks allow.
    pub fn of(authority: &str, allow_private: bool) -> Self {
        if crate::http::is_this_machine(authority) {
            Self::Loopback
        } else if allow_private {
            Self::Private
        } else {
            Self::Public
        }
    }

    /// Whether this address may be connected to.
    pub fn allows(self, ip: IpAddr) -> bool {
        match self {
            Self::Public => is_public(ip),
            Self::Private => is_unicast(ip),
            Self::Loopback => ip.is_loopback(),
        }
    }
}

/// Whether an address is one of the public network: allocated to somebody, and leading to no other address in disguise.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let protocols = a == 192 && b == 0 && c == 0;
    let relays = a == 192 && b == 88 && c == 99;
    let benchmarks = a == 198 && (18..20).contains(&b);
    let special = a == 0 || a >= 224 || shared || protocols || relays || benchmarks;
    !special && !ip.is_private() && !ip.is_loopback() && !ip.is_link_local() && !ip.is_documentation()
}

/// Global unicast is 2000::/3. In it are ranges for protocols (Teredo and others, 2001::/23), 6to4 (2002::/16) and
/// documentation, which lead elsewhere or nowhere; outside it are all mapped, translated and local ones.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [first, second, ..] = ip.segments();
    let protocols = first == 0x2001 && second < 0x200;
    let documentation = (first == 0x2001 && second == 0xdb8) || (first == 0x3fff && second < 0x1000);
    first & 0xe000 == 0x2000 && !protocols && !documentation && first != 0x2002
}

/// Whether an address is that of one machine at all. An IPv4 address in disguise is refused, since those who judge it
/// would see another one.
fn is_unicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.octets()[0] != 0 && ip.octets()[0] < 224,
        IpAddr::V6(ip) => !ip.is_unspecified() && !ip.is_multicast() && ip.to_ipv4_mapped().is_none(),
    }
}

#[cfg(test)]
mod tests;
