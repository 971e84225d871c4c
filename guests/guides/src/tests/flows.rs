//! Flows by chance: small, of all kinds, with rings, escapes and policies, and always ones that are served.

use super::compiled;

/// Numbers that a seed determines, by SplitMix64.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    pub(super) fn hit(&mut self, of_hundred: usize) -> bool {
        self.below(100) < of_hundred
    }
}

/// The text of a flow with the id `q`.
pub(super) fn flow(chance: &mut Chance) -> String {
    loop {
        let text = draft(chance);
        if !compiled("q", &text).definitions.is_empty() {
            return text;
        }
    }
}

fn draft(chance: &mut Chance) -> String {
    let count = 3 + chance.below(7);
    let mut text = "id: q\ntitle: t\nentry: n0\non_stuck: desk\n".to_owned();
    for (key, most) in [("max_unmatched", 3), ("max_branch_fanout", 4), ("branch_depth", 3)] {
        if chance.hit(70) {
            text.push_str(&format!("{key}: {}\n", 1 + chance.below(most)));
        }
    }
    if chance.hit(20) {
        text.push_str("on_unknown: escalate\n");
    }
    text.push_str("nodes:\n");
    for index in 0..count - 1 {
        // Mostly onwards, so that most drafts have an end; sometimes anywhere.
        let target = |chance: &mut Chance| {
            if chance.hit(15) { chance.below(count) } else { index + 1 + chance.below(2.min(count - 1 - index)) }
        };
        let policy = ["", "", ", on_unknown: escalate", ", on_unknown: broaden"][chance.below(4)];
        let node = match chance.below(10) {
            0..=5 => {
                let labels = 1 + chance.below(3);
                let accepts: Vec<String> = (0..labels).map(|label| format!("l{label}: when {label}")).collect();
                let mut next: Vec<String> = (0..labels).map(|label| format!("l{label}: n{}", target(chance))).collect();
                for escape in ["__other__", "__unknown__"] {
                    if chance.hit(20) {
                        next.push(format!("{escape}: n{}", target(chance)));
                    }
                }
                format!("kind: ask, accepts: {{{}}}, next: {{{}}}{policy}", accepts.join(", "), next.join(", "))
            }
            6..=8 => format!("kind: tell, next: n{}", target(chance)),
            _ => {
                let slot = |number: usize, required: bool| format!("s{number}: {{ask: q, required: {required}}}");
                let slots = [slot(0, chance.hit(60)), slot(1 + chance.below(2), chance.hit(30))].join(", ");
                format!("kind: collect, slots: {{{slots}}}, next: n{}{policy}", target(chance))
            }
        };
        text.push_str(&format!("  - {{id: n{index}, say: s{index}, {node}}}\n"));
    }
    text.push_str(&format!("  - {{id: n{}, say: bye, kind: end, outcome: done}}\n", count - 1));
    text
}
