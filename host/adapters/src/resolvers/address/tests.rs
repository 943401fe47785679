use super::*;

fn allowed(policy: Allowed, text: &str) -> bool {
    policy.allows(text.parse().unwrap())
}

#[test]
fn only_the_public_network_is_public() {
    let public = ["1.1.1.1", "100.63.0.1", "100.128.0.1", "172.32.0.1", "198.20.0.1", "2606:4700::1111", "2a00::1"];
    for text in public {
        assert!(allowed(Allowed::Public, text), "{text}");
    }
    let special = [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.9.9.9",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:1.1.1.1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ];
    for text in special {
        assert!(!allowed(Allowed::Public, text), "{text}");
    }
}

#[test]
fn private_is_one_machine_anywhere_and_loopback_is_this_one() {
    for text in ["1.1.1.1", "10.0.0.1", "127.0.0.1", "169.254.1.1", "100.64.0.1", "::1", "fd00::1", "fe80::1"] {
        assert!(allowed(Allowed::Private, text), "{text}");
    }
    for text in ["0.0.0.0", "224.0.0.1", "255.255.255.255", "::", "ff02::1", "::ffff:10.0.0.1"] {
        assert!(!allowed(Allowed::Private, text), "{text}");
    }
    assert!(allowed(Allowed::Loopback, "127.0.0.1") && allowed(Allowed::Loopback, "::1"));
    for text in ["1.1.1.1", "10.0.0.1", "0.0.0.0", "::ffff:127.0.0.1"] {
        assert!(!allowed(Allowed::Loopback, text), "{text}");
    }
}

#[test]
fn an_origin_on_this_machine_stays_there() {
    for authority in ["127.0.0.1:80", "localhost", "localhost:8080", "[::1]:80", "[::1]"] {
        for allow_private in [false, true] {
            assert_eq!(Allowed::of(authority, allow_private), Allowed::Loopback, "{authority}");
        }
    }
    assert_eq!(Allowed::of("localhost.example.com", false), Allowed::Public);
    assert_eq!(Allowed::of("10.0.0.1", false), Allowed::Public);
    assert_eq!(Allowed::of("10.0.0.1", true), Allowed::Private);
}
