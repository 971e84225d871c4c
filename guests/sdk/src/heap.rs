//! The heap of a guest: the memory that it begins with, and only then memory that it grows by. The standard allocator leaves
//! the former alone and grows at the first allocation; in a host that makes an instance for each call, and takes grown memory
//! back after it, that is some changes of the page tables a call, which all threads of the host wait for.

use core::alloc::Layout;
use core::arch::wasm32::{memory_grow, memory_size};

use talc::base::Talc;
use talc::base::binning::Binning;
use talc::cell::TalcSyncCell;
use talc::source::Source;
use talc::wasm::WasmBinning;

const PAGE_BYTES: usize = 64 << 10;
/// Growing is dear, so it is seldom: by a mebibyte at least.
const GROWN_PAGES_MIN: usize = 16;
/// More than the allocator needs besides an allocation's own bytes.
const SPARE_BYTES: usize = 1 << 10;

#[global_allocator]
static HEAP: TalcSyncCell<Given, WasmBinning> = TalcSyncCell::new_wasm(Given { taken: false });

#[expect(unsafe_code, reason = "the linker's name for where the heap begins")]
unsafe extern "C" {
    static __heap_base: u8;
}

/// What the allocator takes its memory from.
#[derive(Debug)]
struct Given {
    /// Whether the memory that the guest begins with is the allocator's already.
    taken: bool,
}

#[expect(
    unsafe_code,
    reason = "memory from the linker's end of data on is nobody's; neither is what was just grown by"
)]
// SAFETY: nothing here allocates, and what is claimed is used by nobody else.
unsafe impl Source for Given {
    fn acquire<B: Binning>(talc: &mut Talc<Self, B>, layout: Layout) -> Result<(), ()> {
        let (base, bytes) = if talc.source.taken {
            let wanted = layout.size().saturating_add(layout.align()).saturating_add(SPARE_BYTES);
            let pages = wanted.div_ceil(PAGE_BYTES).max(GROWN_PAGES_MIN);
            let before = memory_grow::<0>(pages);
            if before == usize::MAX {
                return Err(());
            }
            (before * PAGE_BYTES, pages * PAGE_BYTES)
        } else {
            talc.source.taken = true;
            let base = (&raw const __heap_base).addr();
            (base, memory_size::<0>() * PAGE_BYTES - base)
        };
        // SAFETY: the range lies in the memory, and is claimed once.
        let _ = unsafe { talc.claim(core::ptr::with_exposed_provenance_mut(base), bytes) };
        Ok(())
    }
}
