//! Expressions with the answers of a real Slurm, from `tests/golden/hostlists.json`.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use torchrun_jsc::hostlist::{fold, Hostlist};
use torchrun_jsc::Error;

fn cases() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/hostlists.json");
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    golden["cases"].as_array().unwrap().clone()
}

fn expression(case: &Value) -> &str {
    case["expr"].as_str().unwrap()
}

fn valid() -> impl Iterator<Item = (Value, Hostlist)> {
    let cases = cases().into_iter().filter(|case| case.get("error").is_none());
    cases.map(|case| {
        let list = Hostlist::parse(expression(&case)).unwrap_or_else(|error| panic!("{error}"));
        (case, list)
    })
}

#[test]
fn all_cases_are_there() {
    assert_eq!(cases().len(), 215);
}

#[test]
fn expansion() {
    for (case, list) in valid() {
        let expression = expression(&case);
        let hosts = list.names().collect::<Vec<_>>();
        assert_eq!(hosts.len(), list.len(), "{expression:?}");
        if let Some(expected) = case.get("hosts") {
            assert_eq!(&Value::from(hosts), expected, "{expression:?}");
        } else {
            assert_eq!(hosts.len(), case["count"], "{expression:?}");
            assert_eq!(hosts[0], case["first"], "{expression:?}");
            assert_eq!(hosts[hosts.len() - 1], case["last"], "{expression:?}");
            assert_eq!(sha256(&hosts.join("\n")), case["sha256"], "{expression:?}");
        }
    }
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}

#[test]
fn malformed_expressions() {
    for case in cases().iter().filter(|case| case.get("error").is_some()) {
        let text = expression(case);
        match Hostlist::parse(text) {
            Err(Error::Hostlist { expression, offset, .. }) => {
                assert_eq!(expression, text);
                assert!(offset < text.len() && text.is_char_boundary(offset), "{text:?} at {offset}");
            }
            other => panic!("{text:?} gave {other:?}"),
        }
    }
}

#[test]
fn every_host_is_found_at_its_first_position() {
    for (case, list) in valid() {
        let (mut hosts, mut names) = (Vec::new(), list.names());
        while let Some(host) = names.advance() {
            hosts.push(host.to_owned());
        }
        // All of a short list, and a sample of a long one.
        for k in (0..hosts.len()).step_by(hosts.len() / 200 + 1) {
            let context = format!("host {k} of {:?}", expression(&case));
            assert_eq!(list.nth(k).as_ref(), Some(&hosts[k]), "{context}");
            let position = hosts.iter().position(|host| *host == hosts[k]);
            assert_eq!(list.position(&hosts[k]), position, "{context}");
        }
        assert_eq!(list.nth(hosts.len()), None, "{:?}", expression(&case));
    }
}

#[test]
fn folding_what_was_expanded() {
    for (case, list) in valid().filter(|(_, list)| list.len() <= 65_536) {
        let hosts = list.names().collect::<Vec<_>>();
        if hosts.iter().any(|host| host.contains(']')) {
            assert!(fold(&hosts).is_err());
            continue;
        }
        let folded = fold(&hosts).unwrap();
        assert!(Hostlist::parse(&folded).unwrap().names().eq(hosts), "{:?} became {folded:?}", expression(&case));
    }
}
