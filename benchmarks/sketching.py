"""Sketches of kernel matrices, and SkeGD, which learns on them, beside what the paper prints.

python benchmarks/sketching.py [table2|speed|memory ...] [--repeats N] [--json FILE]

table2  error |K~ - K|^2 / |K|^2 of IncrementalSketch (IRS) and of Nystroem features of the first B points (INys), both
        of rank B / 5, of IRS with 4 B columns in place of 3 B / 4, and of the best middle matrix, of any rank, for the
        landmarks of IRS. The paper leaves open the kernel's width (here: by kernel alignment, and the one at which INys
        comes closest to the paper), the order of the rows (here: N random ones), the scale of german (here: both) and
        the rank of INys (here: that of IRS)
speed   nanoseconds of a round of NOGD and of SkeGD between two renewals, at the same budget, in one run
memory  mistakes of SkeGD with all processed points, and with at most as many as the budget or twice as many

Data sets come from onkel.datasets. Times are of the processor. Machines are noisy: read the ratios, not the times.
"""

import argparse
import json
import pathlib
import time

import numpy as np

import onkel
from onkel.alignment import SIGMAS, distances
from onkel.datasets import adversarial, load, permutations

# Zhang & Liao, ICML 2019, Table 2: means and standard deviations of INys, then of IRS.
PUBLISHED = {
    ("german", 100): (0.078, 0.012, 0.059, 0.008),
    ("german", 200): (0.047, 0.006, 0.031, 0.003),
    ("svmguide3", 100): (0.037, 0.001, 0.018, 0.001),
    ("svmguide3", 200): (0.031, 0.001, 0.012, 0.002),
}
# The set german comes scaled to -1 .. 1; its original columns were whole numbers.
LOWEST = np.array([1, 4, 0, 2, 1, 1, 1, 1, 1, 19, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
RANGE = np.array([3, 68, 4, 182, 4, 4, 3, 3, 3, 56, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1])
RESULTS = {}


def original(X):
    """The columns of german as they were before scaling."""
    return np.rint((X + 1) / 2 * RANGE + LOWEST)


def error_of(K, approximation):
    return float(np.sum((approximation - K) ** 2) / np.sum(K**2))


def sketches(X, D, sigma, budget, repeats):
    """{rival: errors over some orders of the rows}; D: all squared distances."""
    errors = {"INys": [], "IRS": [], "IRS with s_p = 4 B": [], "best": []}
    for number, order in enumerate(permutations(len(X), repeats)):
        rows, K = X[order], np.exp(-D[np.ix_(order, order)] / (2 * sigma**2))
        nystroem = onkel.OnlineNystroem(budget=budget, rank=budget // 5, sigma=sigma)
        sketch = onkel.IncrementalSketch(budget=budget, sigma=sigma, random_state=number)
        errors["INys"].append(error_of(K, nystroem.fit_transform(rows) @ nystroem.transform(rows).T))
        errors["IRS"].append(error_of(K, sketch.fit(rows).approximate_kernel(rows)))
        sketch.set_params(sketch_size=4 * budget)
        errors["IRS with s_p = 4 B"].append(error_of(K, sketch.fit(rows).approximate_kernel(rows)))
        Q, _ = np.linalg.qr(K[:, sketch.component_indices_])
        errors["best"].append(error_of(K, Q @ (Q.T @ K @ Q) @ Q.T))
    return errors


def table2(repeats):
    for name in ("german", "german, original", "svmguide3"):
        X, y = load(name.split(",")[0], dense=True, dtype=np.float64)
        X = original(X) if "original" in name else X
        D = distances(X, X, "rbf")
        for budget in (100, 200):
            published = PUBLISHED[name.split(",")[0], budget]
            nearest = min(SIGMAS, key=lambda s: abs(np.mean(sketches(X, D, s, budget, 1)["INys"]) - published[0]))
            for how, sigma in (("aligned", onkel.choose_sigma(X, y)), ("nearest", nearest)):
                errors = sketches(X, D, sigma, budget, repeats)
                said = "  ".join(f"{rival} {np.mean(e):.4f} ± {np.std(e, ddof=1):.4f}" for rival, e in errors.items())
                RESULTS[f"table2 {name} B={budget} {how}"] = {rival: np.mean(e) for rival, e in errors.items()}
                print(f"{name:17} B={budget} sigma {sigma:5.2f} ({how})  {said}", flush=True)
            print(f"{'':17} published: INys {published[0]} ± {published[1]}, IRS {published[2]} ± {published[3]}")


def speed(repeats):
    random = np.random.default_rng(0)
    for d in (24, 123):
        X = random.normal(size=(20_000, d))
        y = np.where(X[:, 0] * X[:, 1] + 0.5 * random.normal(size=len(X)) > 0, 1, -1)
        for budget in (100, 200):
            common = {"budget": budget, "sigma": np.sqrt(d), "random_state": 0}
            rivals = {
                "NOGD": onkel.NOGDClassifier(rank=budget // 10, **common),
                "SkeGD, s_m = s_p / 5": onkel.SkeGDClassifier(update_every=10**9, **common),
                "SkeGD, s_m = B / 2": onkel.SkeGDClassifier(update_every=10**9, sample_size=budget // 2, **common),
            }
            least = dict.fromkeys(rivals, np.inf)
            for model in rivals.values():
                model.learn(X[:2000], y[:2000], classes=[-1, 1])
            for _ in range(15):
                for rival, model in rivals.items():
                    start = time.process_time()
                    model.learn(X, y)
                    least[rival] = min(least[rival], (time.process_time() - start) / len(X) * 1e9)
            for rival, ns in least.items():
                RESULTS[f"speed d={d} B={budget} {rival}"] = ns
                print(
                    f"d={d:3} B={budget}  {rival:21} {ns:6.0f} ns   NOGD takes {least['NOGD'] / ns:.2f} times as long"
                )


def memory(repeats):
    streams = {}
    for name in ("spambase", "a9a", "ijcnn1"):
        X, y = load(name, dense=True, dtype=np.float64)
        orders = permutations(len(y), min(repeats, 5))[:, :10_000]
        streams[name] = X, y, onkel.choose_sigma(X, y), [(X[order], y[order]) for order in orders]
    X, y = load("german", dense=True, dtype=np.float64)
    blocks = [adversarial("german-1", random_state=number) for number in range(min(repeats, 5))]
    streams["german-1, original"] = X, y, onkel.choose_sigma(original(X), y), [(original(Z), t) for Z, t in blocks]
    for name, (_, _, sigma, passes) in streams.items():
        for carry in ("paper", "least_squares"):
            for most in (None, 200, 100):
                wrong = []
                for number, (rows, labels) in enumerate(passes):
                    model = onkel.SkeGDClassifier(
                        sigma=sigma, update_every=20, max_processed=most, carry=carry, eta=0.4, random_state=number
                    )
                    scores = model.learn(rows, labels, classes=np.unique(labels))
                    wrong.append(100 * np.mean(model.classes_[(scores >= 0).astype(int)] != labels))
                kept = f"{model.n_processed_} processed, {most or 'all'} kept"
                RESULTS[f"memory {name} {carry} {most}"] = np.mean(wrong)
                print(
                    f"{name:19} carry {carry:13} {kept:26} {np.mean(wrong):6.2f} +- {np.std(wrong, ddof=1):.2f} %",
                    flush=True,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["table2", "speed", "memory"])
    parser.add_argument("--repeats", type=int, default=20, help="orders or streams to average over")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    arguments = parser.parse_args()
    for what in arguments.what:
        {"table2": table2, "speed": speed, "memory": memory}[what](arguments.repeats)
    if arguments.json:
        arguments.json.write_text(json.dumps(RESULTS, indent=1))
