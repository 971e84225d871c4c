//! Random bytes in a guest come from the seed of the event and from nothing else, and the clock stands at its moment.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::machine::Moment;

static STATE: AtomicU64 = AtomicU64::new(0);

/// Sets clock and seed for what the library asks behind our back.
pub(crate) fn set(moment: Moment) {
    STATE.store(moment.seed, Ordering::Relaxed);
    js_sys::set_now(moment.now);
}

/// What getrandom asks where there is no operating system.
///
/// # Safety
/// `dest` is valid for writes of `len` bytes, which getrandom promises.
#[expect(unsafe_code, reason = "getrandom's way to name a source of bytes")]
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(dest: *mut u8, len: usize) -> Result<(), getrandom::Error> {
    for index in 0..len {
        let state = STATE.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let byte = u8::try_from((state ^ (state >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 56).unwrap_or(0);
        // SAFETY: `index` is less than `len`.
        unsafe { dest.add(index).write(byte) };
    }
    Ok(())
}
