//! The part of js-sys that chrono asks for, without JavaScript. The clock stands still at what the guest set.

use std::sync::atomic::{AtomicU64, Ordering};

static NOW: AtomicU64 = AtomicU64::new(0);

/// Sets the clock, in milliseconds since the Unix epoch.
pub fn set_now(ms: u64) {
    NOW.store(ms, Ordering::Relaxed);
}

/// A moment.
#[derive(Debug)]
pub struct Date(f64);

impl Date {
    /// Now, as the guest set it.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "milliseconds of this millennium are exact")]
    pub fn new_0() -> Self {
        Self(NOW.load(Ordering::Relaxed) as f64)
    }

    /// The moment of so many milliseconds.
    #[must_use]
    pub fn new(value: &wasm_bindgen::JsValue) -> Self {
        Self(value.0)
    }

    /// Milliseconds since the Unix epoch.
    #[must_use]
    pub fn get_time(&self) -> f64 {
        self.0
    }

    /// Local time is UTC.
    #[must_use]
    pub fn get_timezone_offset(&self) -> f64 {
        0.0
    }

    /// Local times are not known here; chrono asks for them only to find the offset, which is none.
    #[must_use]
    #[allow(clippy::too_many_arguments, reason = "js-sys's signature")]
    pub fn new_with_year_month_day_hr_min_sec(_: u32, _: i32, _: i32, _: i32, _: i32, _: i32) -> Self {
        Self(0.0)
    }
}
