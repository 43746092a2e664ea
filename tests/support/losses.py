"""The losses of a run, compared with those of another program."""
import json


def compare_losses(folder, wanted, bound):
    """Demands as many losses in the run's log as are wanted, each at most bound(wanted) apart. Returns the log."""
    with open(folder + "/trainer_state.json") as f:
        log = json.load(f)["log_history"]
    losses = [entry["loss"] for entry in log if "loss" in entry]
    assert len(losses) == len(wanted), losses
    for got, want in zip(losses, wanted):
        assert abs(got - want) <= bound(want), (losses, wanted)
    return log
