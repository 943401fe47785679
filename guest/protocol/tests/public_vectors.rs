//! Public test vectors, read from the folder that `THREADMESH_VECTORS` names. Without it each test prints a skip line.

use std::{env, fs, path::PathBuf};
use threadmesh_protocol::{Code, Error, json, time};

/// `name` in the folder of vectors.
fn vectors(name: &str) -> Option<PathBuf> {
    let folder = env::var_os("THREADMESH_VECTORS");
    if folder.is_none() {
        println!("skipped {name}: THREADMESH_VECTORS is not set");
    }
    Some(PathBuf::from(folder?).join(name))
}

fn files(folder: &PathBuf) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

fn canonical(bytes: &[u8]) -> Result<String, Error> {
    Ok(json::parse(json::text(bytes)?)?.canonical())
}

#[test]
fn rfc_8785_files() {
    let Some(folder) = vectors("rfc8785") else { return };
    let inputs = files(&folder.join("input"));
    assert!(inputs.len() >= 6);
    for (name, input) in inputs {
        let expected = fs::read_to_string(folder.join("output").join(&name)).unwrap();
        let form = canonical(&input).unwrap();
        assert_eq!(form, expected, "{name}");
        assert_eq!(canonical(form.as_bytes()).unwrap(), form, "{name}, twice");
    }
}

/// Lines of `bits in hex,text`: the text is what RFC 8785 prints for the double, and reads back as the same double.
#[test]
fn rfc_8785_numbers() {
    let Some(file) = vectors("rfc8785/es6testfile100k.txt") else { return };
    let lines = fs::read_to_string(file).unwrap();
    let mut count = 0;
    for line in lines.lines() {
        let (bits, expected) = line.split_once(',').unwrap();
        let double = f64::from_bits(u64::from_str_radix(bits, 16).unwrap());
        let mut writer = json::Writer::new();
        writer.f64(double);
        assert_eq!(writer.finish(), expected, "{bits} written");
        let tree = json::parse(expected).unwrap();
        assert_eq!(tree.canonical(), expected, "{bits} read");
        assert_eq!(tree.root().as_f64().unwrap().to_bits(), (double + 0.0).to_bits(), "{bits} value");
        // The same double in another notation with more digits than it needs.
        let long = format!("{double:.25e}");
        assert_eq!(json::parse(&long).unwrap().canonical(), expected, "{long}");
        count += 1;
    }
    assert!(count >= 100_000);
}

/// What the suite leaves open: everything is refused but underflow to zero and 10^20, which has the digits of its double.
fn open_case(name: &str) -> Option<Code> {
    match name {
        "i_number_double_huge_neg_exp.json" | "i_number_real_underflow.json" | "i_number_too_big_pos_int.json" => None,
        _ if name.starts_with("i_number_") => Some(Code::JsonNumber),
        "i_structure_500_nested_arrays.json" => Some(Code::JsonDepth),
        "i_structure_UTF-8_BOM_empty_object.json" | "i_string_UTF-16LE_with_BOM.json" => Some(Code::JsonEncoding),
        "i_string_UTF8_surrogate_U+D800.json" | "i_string_not_in_unicode_range.json" => Some(Code::JsonEncoding),
        _ if name.contains("lone_utf8") || name.contains("utf16") || name.contains("latin_1") => {
            Some(Code::JsonEncoding)
        }
        _ if name.to_ascii_lowercase().contains("utf-8") || name.contains("overlong") => Some(Code::JsonEncoding),
        _ => Some(Code::JsonSurrogate),
    }
}

#[test]
fn json_test_suite() {
    let Some(folder) = vectors("jsontestsuite/test_parsing") else { return };
    let files = files(&folder);
    assert!(files.len() >= 318);
    for (name, bytes) in files {
        let result = canonical(&bytes);
        let code = result.as_ref().err().map(|error| error.code);
        if name.starts_with("n_") {
            // The first fault in text order is reported, which need not be the one that the file is about.
            let allowed = [Code::JsonSyntax, Code::JsonEncoding, Code::JsonDepth, Code::JsonSurrogate];
            assert!(code.is_some_and(|code| allowed.contains(&code)), "{name}: {result:?}");
        } else if name.starts_with("i_") {
            assert_eq!(code, open_case(&name), "{name}: {result:?}");
        } else if name.starts_with("y_object_duplicated_key") {
            assert_eq!(code, Some(Code::JsonDuplicateMember), "{name}");
        } else {
            assert_eq!(code, None, "{name}: {result:?}");
        }
    }
}

/// The suite takes leap seconds and any number of fraction digits; we take neither (rules TM-4 and TM-5).
#[test]
fn date_times() {
    let Some(file) = vectors("date-time/date-time.json") else { return };
    let suite = fs::read_to_string(file).unwrap();
    let tree = json::parse(&suite).unwrap();
    let mut count = 0;
    for group in tree.root().items() {
        for case in group.get("tests").unwrap().items() {
            let Some(text) = case.get("data").unwrap().as_str() else { continue };
            let narrower = text.contains(":60") || text.contains(".999999999999999Z");
            let expected = case.get("valid").unwrap().as_bool().unwrap() && !narrower;
            assert_eq!(time::parse(text).is_ok(), expected, "{text}");
            count += 1;
        }
    }
    assert!(count >= 27);
}
