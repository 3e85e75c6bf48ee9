"""Labels that flip in blocks: who forgets fast enough? python examples/adversarial.py [PICTURE] [--repeats N]

german-1 and german-2 of Zhang & Liao (ICML 2019, section 6.4): 500 blocks of one example each, shown 10 or 20 times,
with the wrong label in every second block. All learners have the same kernel, the same budget and the same step size;
several step sizes are tried, and a table of mistakes is printed. Reads the data set german (docs/datasets.md) and needs
matplotlib: pip install '.[plot]'
"""

import argparse

import numpy as np
from matplotlib import pyplot

import onkel
from onkel.datasets import load, repeat_blocks

B, BLOCKS, SHOWN = 100, 500, {"german-1": 10, "german-2": 20}
ETAS = 0.01, 0.1, 0.2, 0.4, 0.45, 1.0
THETAS = 0.1, 0.005
DRAWN = {"PROS-N-KONS": "tab:green", "FOGD": "tab:orange", "NOGD": "tab:blue", "SkeGD 0.005": "tab:red"}
# The set comes scaled to -1 .. 1; its original columns were whole numbers.
LOWEST = np.array([1, 4, 0, 2, 1, 1, 1, 1, 1, 19, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
RANGE = np.array([3, 68, 4, 182, 4, 4, 3, 3, 3, 56, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])


def learners(sigma, eta, seed, length):
    """Those with a step size, at the same budget: as in the paper, four frequencies count as one support vector."""
    common = {"sigma": sigma, "eta": eta, "random_state": seed}
    made = {
        "FOGD": onkel.FOGDClassifier(n_components=4 * B, **common),
        "NOGD": onkel.NOGDClassifier(budget=B, rank=B // 10, **common),
    }
    for theta in THETAS:
        made[f"SkeGD {theta}"] = onkel.SkeGDClassifier(
            budget=B, update_every=theta, stream_length=length, init="paper", carry="paper", **common
        )
    return made


def mistakes(model, X, y):
    scores = model.learn(X, y, classes=[-1, 1])
    return np.where(scores >= 0, 1, -1) != y


def race(X, y, sigma, title, shown, repeats):
    """{(learner, step size): an array of mistakes, a row per repetition}; the table is printed."""
    wrong = {}
    for seed in range(repeats):
        rows, labels = repeat_blocks(X, y, BLOCKS, shown, random_state=seed)
        for eta in ETAS:
            for learner, model in learners(sigma, eta, seed, len(labels)).items():
                wrong.setdefault((learner, eta), []).append(mistakes(model, rows, labels))
        if hasattr(onkel, "ProsNKonsClassifier"):  # a Newton learner, which has no step size
            model = onkel.ProsNKonsClassifier(loss="hinge", alpha=1.0, sigma=sigma, random_state=seed)
            wrong.setdefault(("PROS-N-KONS", None), []).append(mistakes(model, rows, labels))
    wrong = {key: np.array(rows) for key, rows in wrong.items()}
    print(f"\n{title}, sigma = {sigma:.2f}: % mistakes, {repeats} repetitions")
    print(f"{'eta':13}" + "".join(f"{eta:>16}" for eta in ETAS))
    for learner in dict.fromkeys(learner for learner, _ in wrong):
        etas = [None] if (learner, None) in wrong else ETAS
        rates = [100 * wrong[learner, eta].mean(axis=1) for eta in etas]
        print(f"{learner:13}" + "".join(f"{r.mean():9.2f} ± {r.std(ddof=1):.2f}" for r in rates), flush=True)
    return wrong


def draw(wrong, shown, path):
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for learner, colour in DRAWN.items():
        eta = None if learner == "PROS-N-KONS" else 0.4
        if (learner, eta) not in wrong:
            continue
        each = wrong[learner, eta].mean(axis=0)
        rounds = np.arange(1, len(each) + 1)
        left.plot(rounds, np.cumsum(each) / rounds, colour, label=learner.split(" 0")[0])
        right.plot(np.arange(1, shown + 1), each.reshape(-1, shown).mean(axis=0), colour, marker=".")
    left.set(title="mistakes so far", xlabel="examples", ylim=(0, 0.4))
    left.legend(fontsize="small", ncols=2)
    right.set(title="mistakes by round of a block", xlabel="round of the block", ylim=(0, 1))
    for axes in (left, right):
        axes.yaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", nargs="?", default="adversarial.png")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    X, y = load("german", dense=True, dtype=np.float64)
    original = np.rint((X + 1) / 2 * RANGE + LOWEST)
    for columns, rows in (("columns as they were", original), ("columns scaled to -1 .. 1", X)):
        for name in SHOWN:
            wrong = race(rows, y, onkel.choose_sigma(rows, y), f"{name}, {columns}", SHOWN[name], arguments.repeats)
            if rows is original and name == "german-1":
                draw(wrong, SHOWN[name], arguments.picture)
