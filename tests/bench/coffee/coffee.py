"""The machine of coffee.yaml for theodosia 0.9: `theodosia serve coffee.py:order`. BENCH_TRACK=1 records to disk."""
import os
from burr.core import ApplicationBuilder, State, action
from burr.core.action import Condition

PRICE = {"extra_shot": 1.0, "oat_milk": 1.0, "syrup": 1.0}

@action(reads=[], writes=["stage", "item", "qty", "modifiers", "total"])
def take_order(state: State, item: str, qty: int = 1) -> State:
    """Write down what is wanted."""
    if qty < 1: raise ValueError("qty must be at least 1")
    return state.update(stage="ordered", item=item, qty=qty, modifiers=[], total=5.0 * qty)

@action(reads=["modifiers", "total"], writes=["modifiers", "total"])
def add_modifier(state: State, modifier: str) -> State:
    """Add one modifier."""
    return state.update(modifiers=[*state["modifiers"], modifier], total=state["total"] + PRICE[modifier])

@action(reads=[], writes=["stage", "paid_amount"])
def pay(state: State, amount: float) -> State:
    """Take the money."""
    return state.update(stage="paid", paid_amount=amount)

@action(reads=[], writes=["stage"])
def fulfill(state: State) -> State:
    """Hand it over."""
    return state.update(stage="fulfilled")

@action(reads=[], writes=["stage"])
def cancel(state: State) -> State:
    """Drop the order."""
    return state.update(stage="cancelled")

def order():
    ordered, paid = Condition.expr("stage == 'ordered'"), Condition.expr("stage == 'paid'")
    builder = ApplicationBuilder().with_actions(take_order=take_order, add_modifier=add_modifier, pay=pay, fulfill=fulfill, cancel=cancel)
    builder = builder.with_transitions(
        (["take_order", "add_modifier"], "pay", ordered), (["take_order", "add_modifier"], "add_modifier", ordered),
        (["take_order", "add_modifier"], "cancel", ordered), ("pay", "fulfill", paid),
    ).with_state(stage="new").with_entrypoint("take_order")
    if os.environ.get("BENCH_TRACK"):
        import theodosia
        builder = builder.with_tracker(theodosia.tracker(project="bench"))
    return builder
