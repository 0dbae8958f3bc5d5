use torchrun_jsc::hostlist::{fold, Hostlist};
use torchrun_jsc::Error;

/// Lists of up to so many hosts are expanded.
const FEW: usize = 2_000;

/// An expression is an error with a place, or all functions agree on it.
pub fn hostlist(data: &[u8]) {
    let text = &*String::from_utf8_lossy(data);
    match Hostlist::parse(text) {
        Ok(list) => agree(&list),
        Err(error) => {
            super::assert_harmless(&error);
            let Error::Hostlist { offset, .. } = error else { panic!("{error}") };
            assert!(offset < text.len() && text.is_char_boundary(offset), "{offset}");
        }
    }
}

fn agree(list: &Hostlist) {
    let hosts: Vec<_> = list.names().take(100).collect();
    for (k, host) in hosts.iter().enumerate() {
        assert_eq!(list.nth(k).as_ref(), Some(host));
        assert_eq!(list.position(host), hosts.iter().position(|other| other == host), "{host}");
        assert!(!host.is_empty() && !host.chars().any(|c| c.is_control() || c == ','), "{host:?}");
    }
    assert_eq!(list.nth(list.len()), None);
    match list.check(FEW) {
        Ok(()) => folds_back(&list.names().collect::<Vec<_>>()),
        Err(error) => {
            assert!(list.len() > FEW);
            super::assert_harmless(&error);
        }
    }
}

/// What `fold` makes of names expands to them, and is the only form of it.
fn folds_back(hosts: &[String]) {
    // An expression may have a closing bracket in a name, which no folded one can.
    let Ok(folded) = fold(hosts) else {
        return assert!(hosts.iter().any(|host| host.contains(']')), "{hosts:?}");
    };
    assert_eq!(Hostlist::parse(&folded).unwrap().names().collect::<Vec<_>>(), hosts, "{folded:?}");
}
