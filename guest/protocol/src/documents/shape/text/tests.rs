use super::*;

#[test]
fn lengths_are_code_points() {
    assert!(at_most("𝄞𝄞", 2) && !at_most("𝄞𝄞", 1) && at_most("", 0) && at_most("any", u16::MAX));
    assert!(at_least("𝄞𝄞", 2) && !at_least("𝄞𝄞", 3) && at_least("", 0));
}

#[test]
fn plain_texts_have_no_character_of_the_list_and_no_white_edge() {
    let listed = |code: u32| {
        let low = matches!(code, 0..=0x1f | 0x3c | 0x3e | 0x7f..=0x9f | 0xad | 0x34f | 0x61c | 0x115f..=0x1160);
        let middle = matches!(code, 0x17b4..=0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f | 0x2028..=0x202e);
        let high = matches!(code, 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb);
        low || middle || high || matches!(code, 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
    };
    // As the pattern in `spec/schema/common.schema.json` lists it, beside what is on the list above.
    let white =
        |code: u32| matches!(code, 0x20 | 0xa0 | 0x1680 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000) || listed(code);
    for char in '\0'..=char::MAX {
        let inside = alloc::format!("a{char}b");
        assert_eq!(is_plain(&inside), !listed(char.into()), "{char:?} inside");
        let edge = is_plain(&alloc::format!("{char}b"));
        assert_eq!(edge, is_plain(&alloc::format!("a{char}")), "{char:?} at both edges");
        assert_eq!(edge, !white(char.into()), "{char:?} at an edge");
    }
    assert!(is_plain(""));
}

#[test]
fn base64url_has_one_text_for_the_same_bytes() {
    for good in ["", "AA", "AAA", "AAAA", "_w", "_-8", "zzzz"] {
        assert!(is_base64url(good), "{good}");
    }
    for bad in ["A", "AB", "AAB", "AA==", "AAA=", "A+", "A/", "AAAAA", " AA", "AA\n", "é", "ÄÄ"] {
        assert!(!is_base64url(bad), "{bad}");
    }
    // Of the 64 last characters, 4 end one byte and 16 end two.
    let all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let ends = |head: &str| all.chars().filter(|last| is_base64url(&alloc::format!("{head}{last}"))).count();
    assert_eq!((ends("A"), ends("AA"), ends("AAA")), (4, 16, 64));
}

#[test]
fn ids_are_prefix_head_and_tail() {
    assert!(is_prefixed("inc_a123456", "inc_", 6, 196) && is_prefixed("inc_0.:_-.a", "inc_", 6, 196));
    for bad in ["inc_a12345", "inc__123456", "inc_", "INC_a123456", "inc_a12345é", "xinc_a123456", "inc_a123456\n"] {
        assert!(!is_prefixed(bad, "inc_", 6, 196), "{bad}");
    }
    assert!(is_code("threadmesh_a_1", "threadmesh_") && !is_code("threadmesh_", "threadmesh_"));
}
