"""Compare learners on one drifting stream and draw what happened: python examples/moons.py [PICTURE]

Two half-moons turn by half a circle while the stream runs. Every point is predicted before it is learnt. Needs
matplotlib: pip install '.[plot]'
"""

import sys

from matplotlib import pyplot

import onkel
from onkel.datasets import turning_moons

common = {"gamma": 2.0, "random_state": 0}
models = {
    "perceptron, keeps every mistake": onkel.KernelPerceptronClassifier(**common),
    "Stoptron, stops at 50": onkel.StoptronClassifier(budget=50, **common),
    "RBP, budget 50": onkel.RBPClassifier(budget=50, **common),
    "BPA, budget 50": onkel.BPAClassifier(budget=50, **common),
    "FOGD, 200 frequencies": onkel.FOGDClassifier(n_components=200, **common),
}
stream = turning_moons(20_000, turns=0.5, noise=0.2, random_state=0)
report = onkel.progressive(models, stream, checkpoints=500, window=1000)
print(report)

figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
report.plot("recent_mistake_rate", ax=left)
report.plot("size", ax=right)
for axes in (left, right):
    axes.set_xscale("linear")
    axes.locator_params(axis="x", nbins=4)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
left.set(title="mistakes among the last 1,000 examples", ylabel="", ylim=(0, 0.3))
left.yaxis.set_major_formatter("{x:.0%}")
right.set(title="points or frequencies kept", ylabel="", ylim=(0, 1000))
right.legend(fontsize="small")
left.get_legend().remove()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "moons.png", dpi=90)
