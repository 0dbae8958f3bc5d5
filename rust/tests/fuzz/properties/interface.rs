use torchrun_jsc::interface::Filter;

/// A list of interfaces, and on the next line the name of one. Every text has a meaning, and that of `^` and `=` is what
/// NCCL says.
pub fn interface(data: &[u8]) {
    let text = &*String::from_utf8_lossy(data);
    let (list, name) = text.split_once('\n').unwrap_or((text, "ib0"));
    let list = list.trim();
    let allows = |list: &str| Filter::parse(list).allows(name);

    assert_eq!(Filter::parse(list).text(), list);
    assert_eq!(allows(list), allows(&format!("  {list}\t")));
    // With a comma at the end nothing is added.
    assert_eq!(allows(list), allows(&format!("{list},")));
    if !list.starts_with('^') {
        assert_ne!(allows(list), allows(&format!("^{list}")), "{list:?} {name:?}");
        if let Some(prefixes) = list.strip_prefix('=') {
            assert!(!allows(list) || allows(prefixes) || prefixes.trim().starts_with(['^', '=']), "{list:?} {name:?}");
        } else if let Some((first, rest)) = list.split_once(',') {
            let rest_is_plain = !rest.trim_start().starts_with(['^', '=']);
            assert!(!rest_is_plain || allows(list) == (allows(first) || allows(rest)), "{list:?} {name:?}");
        }
    }
}
