//! The process's heap.

/// Lets threads share their free memory. By itself glibc gives nearly every thread a pool of its own, and with calls that
/// wander among threads each of them comes to hold what one would do for all. One for each processor core is enough. To be
/// called before there are threads.
pub(crate) fn share() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "a setting of the allocator, made before any other thread is there")]
    // SAFETY: `mallopt` takes two numbers and touches nothing else. It can only refuse, and then all is as it was.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, arenas());
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn arenas() -> libc::c_int {
    libc::c_int::try_from(crate::waiting::cores().max(2)).unwrap_or(libc::c_int::MAX)
}
