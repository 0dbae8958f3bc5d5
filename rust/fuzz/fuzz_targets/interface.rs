#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| properties::interface(data));
