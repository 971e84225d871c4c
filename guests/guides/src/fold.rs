//! Folding: the endings of every branch of a question, for when its answer is not known. Nothing is chosen and nothing that
//! would have to be asked is passed over.

use std::collections::BTreeMap;

use wfhost_guest::packed::Broken;

use crate::code::{Ask, Code, NodeNumber, Step, StepKind};

/// LIMIT: branches of one fold, whatever the flow allows.
const BRANCHES_MAX: usize = 500;
/// LIMIT: questions behind one another in a fold, whatever the flow allows.
const DEPTH_MAX: u32 = 32;

/// A question told as branches.
#[derive(Clone, Debug)]
pub(crate) struct Fold<'a> {
    /// What to do in each case. Empty where every answer leads to the same node.
    pub(crate) branches: Vec<Branch<'a>>,
    /// The node at which all branches meet.
    pub(crate) common: Option<Step<'a>>,
}

/// One case.
#[derive(Clone, Debug)]
pub(crate) struct Branch<'a> {
    pub(crate) label: &'a str,
    pub(crate) when: &'a str,
    pub(crate) way: Way<'a>,
}

/// What follows in a case.
#[derive(Clone, Debug)]
pub(crate) enum Way<'a> {
    /// Nodes to tell, the last of them an end if the branch ends before it meets the others.
    Steps(Vec<Step<'a>>),
    /// It depends on another question.
    Question(Step<'a>, Vec<Branch<'a>>),
}

/// Why a node cannot be folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Fanout,
    Depth,
    Collect,
    Escalate,
    Cycle,
}

impl Reason {
    /// The word that replies and findings use.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Fanout => "fanout",
            Self::Depth => "depth",
            Self::Collect => "collect",
            Self::Escalate => "escalate",
            Self::Cycle => "cycle",
        }
    }

    /// The reason of that word.
    pub(crate) fn of(word: &str) -> Option<Self> {
        [Self::Fanout, Self::Depth, Self::Collect, Self::Escalate, Self::Cycle]
            .into_iter()
            .find(|reason| reason.word() == word)
    }
}

/// Why a probe ends without branches.
#[derive(Debug)]
enum Stop {
    Broken,
    No(Reason),
}

impl From<Broken> for Stop {
    fn from(_: Broken) -> Self {
        Self::Broken
    }
}

/// The fold of a question, or why there is none. The question's own policy is not looked at.
pub(crate) fn fold<'a>(code: Code<'a>, at: Step<'a>) -> Result<Result<Fold<'a>, Reason>, Broken> {
    let StepKind::Ask(ask) = at.kind else { return Err(Broken) };
    match branches(code, at, ask) {
        Ok(fold) => Ok(Ok(fold)),
        Err(Stop::No(reason)) => Ok(Err(reason)),
        Err(Stop::Broken) => Err(Broken),
    }
}

fn branches<'a>(code: Code<'a>, at: Step<'a>, ask: Ask<'a>) -> Result<Fold<'a>, Stop> {
    if ask.width() > code.limits.max_branch_fanout {
        return Err(Stop::No(Reason::Fanout));
    }
    if let Some(target) = only_target(ask)?.filter(|target| *target != at.number) {
        return Ok(Fold { branches: Vec::new(), common: Some(code.node(target)?) });
    }
    let mut probe = Probe { code, way: vec![at.number], found: 0 };
    let mut branches = probe.labels(ask, 1)?;
    let common = meeting(&branches);
    for branch in &mut branches {
        cut(branch, common.map(|step| step.number));
    }
    Ok(Fold { branches, common })
}

/// The node that every label leads to, if there is one.
fn only_target(ask: Ask<'_>) -> Result<Option<NodeNumber>, Broken> {
    let mut only = None;
    for label in ask.labels() {
        let target = label?.target;
        if only.is_some_and(|other| other != target) {
            return Ok(None);
        }
        only = Some(target);
    }
    Ok(only)
}

struct Probe<'a> {
    code: Code<'a>,
    /// Questions from the one that is folded to the one that is probed.
    way: Vec<NodeNumber>,
    found: usize,
}

impl<'a> Probe<'a> {
    fn labels(&mut self, ask: Ask<'a>, depth: u32) -> Result<Vec<Branch<'a>>, Stop> {
        let mut branches = Vec::new();
        for label in ask.labels() {
            let label = label?;
            branches.push(Branch { label: label.label, when: label.when, way: self.target(label.target, depth)? });
        }
        Ok(branches)
    }

    fn target(&mut self, target: NodeNumber, depth: u32) -> Result<Way<'a>, Stop> {
        if depth > self.code.limits.branch_depth.min(DEPTH_MAX) {
            return Err(Stop::No(Reason::Depth));
        }
        if self.way.contains(&target) {
            return Err(Stop::No(Reason::Cycle));
        }
        let step = self.code.node(target)?;
        match step.kind {
            StepKind::Tell { .. } | StepKind::End { .. } => {
                self.found += 1;
                if self.found > BRANCHES_MAX {
                    Err(Stop::No(Reason::Fanout))
                } else {
                    Ok(Way::Steps(chain(self.code, step)?))
                }
            }
            StepKind::Collect(_) => Err(Stop::No(Reason::Collect)),
            StepKind::Ask(ask) if ask.escalate => Err(Stop::No(Reason::Escalate)),
            StepKind::Ask(ask) if ask.width() > self.code.limits.max_branch_fanout => Err(Stop::No(Reason::Fanout)),
            StepKind::Ask(ask) => {
                self.way.push(target);
                let branches = self.labels(ask, depth + 1)?;
                self.way.pop();
                Ok(Way::Question(step, branches))
            }
        }
    }
}

/// A node and the tells that follow it in a row, up to and with the first that is none.
fn chain<'a>(code: Code<'a>, from: Step<'a>) -> Result<Vec<Step<'a>>, Broken> {
    let mut steps = vec![from];
    let mut at = from;
    while let StepKind::Tell { next } = at.kind {
        at = code.node(next)?;
        // A ring of tells has no end, and `document` refuses it; bytes that say otherwise are not ours.
        if steps.len() > usize::try_from(code.len()).unwrap_or(usize::MAX) {
            return Err(Broken);
        }
        steps.push(at);
    }
    Ok(steps)
}

/// The first node of the first chain that is in every chain.
fn meeting<'a>(branches: &[Branch<'a>]) -> Option<Step<'a>> {
    let mut chains = Vec::new();
    leaves(branches, &mut chains);
    let mut counts: BTreeMap<NodeNumber, usize> = BTreeMap::new();
    for step in chains.iter().copied().flatten() {
        *counts.entry(step.number).or_default() += 1;
    }
    chains.first()?.iter().find(|step| counts.get(&step.number) == Some(&chains.len())).copied()
}

fn leaves<'a, 'b>(branches: &'b [Branch<'a>], chains: &mut Vec<&'b [Step<'a>]>) {
    for branch in branches {
        match &branch.way {
            Way::Steps(steps) => chains.push(steps),
            Way::Question(_, inner) => leaves(inner, chains),
        }
    }
}

/// Takes away what follows from the common node on, and the question at which a chain stopped.
fn cut(branch: &mut Branch<'_>, common: Option<NodeNumber>) {
    match &mut branch.way {
        Way::Steps(steps) => {
            let told = |step: &Step<'_>| matches!(step.kind, StepKind::Tell { .. } | StepKind::End { .. });
            let keep = steps.iter().position(|step| Some(step.number) == common || !told(step)).unwrap_or(steps.len());
            steps.truncate(keep);
        }
        Way::Question(_, inner) => inner.iter_mut().for_each(|one| cut(one, common)),
    }
}
