"""The data sets that onkel knows by name: where each comes from, how large it is, whom to cite."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

Task = Literal["binary", "multiclass", "regression"]
SITES = {
    "libsvm": "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets",
    "uci": "https://archive.ics.uci.edu/ml/machine-learning-databases",
}


class Table(NamedTuple):
    """How to read a file of comma-separated values; columns count from 0, or from the end if negative."""

    target: int
    leave_out: tuple[int, ...] = ()
    labels: Mapping[str, str] | None = None  # what the target's words become; numbers stay as they are
    header: bool = False
    member: str = ""  # the file inside a zip archive


class File(NamedTuple):
    """One part of a set; an empty `address` means that no site offers it without questions."""

    part: str  # "all", "train" or "test"
    rows: int
    address: str = ""  # "site/path"
    table: Table | None = None  # None: the file is in svmlight format
    sha256: str | None = None  # of the file as the site has it; None: as the first download brought it


class Entry(NamedTuple):
    name: str
    task: Task
    features: int
    classes: int | None
    files: tuple[File, ...]
    values: str  # what the features look like
    about: str
    citation: str
    stem: str = ""  # how the names of its files begin, if not with `name`
    positive: int | None = None  # this label becomes +1 and all others -1
    loader: str = ""  # scikit-learn brings the set, through this function
    advice: str = ""  # how to come by a set that no site offers


def one(rows: int, address: str = "", table: Table | None = None) -> tuple[File, ...]:
    return (File("all", rows, address, table),)


def two(train: int, test: int, address: str, test_address: str) -> tuple[File, ...]:
    return File("train", train, address), File("test", test, test_address)


BY_HAND = "It has no lasting public address"
SPAM = Table(target=-1, labels={"0": "-1", "1": "+1"})
GAMMA = Table(target=-1, labels={"g": "+1", "h": "-1"})
UPDRS = Table(target=5, leave_out=(4,), header=True)
RESIDUE = Table(target=0, header=True)
SLICE = Table(target=-1, header=True, member="slice_localization_data.csv")

BINARY = (
    Entry(
        "german", "binary", 24, 2, one(1000, "libsvm/binary/german.numer_scale"), "scaled to [-1, 1]",
        "Is a bank's customer a bad (+1) or a good (-1) credit risk?",
        "H. Hofmann: Statlog (German Credit Data), UCI, 1994",
    ),
    Entry(
        "svmguide3", "binary", 21, 2, one(1243, "libsvm/binary/svmguide3"), "-0.9 to 5, most near 0",
        "A vehicle's data, from LIBSVM's guide; its training part, as the papers use it. Nearly sorted by class.",
        "C.-W. Hsu, C.-C. Chang, C.-J. Lin: A practical guide to support vector classification, 2003",
    ),
    Entry(
        "spambase", "binary", 57, 2, one(4601, "uci/spambase/spambase.data", SPAM), "as measured, 0 to 15841",
        "Spam (+1) by frequencies of words and signs. Sorted by class: shuffle.",
        "M. Hopkins, E. Reeber, G. Forman, J. Suermondt: Spambase, UCI, 1999",
    ),
    Entry(
        "w7a", "binary", 300, 2, two(24692, 25057, "libsvm/binary/w7a", "libsvm/binary/w7a.t"), "0 and 1, sparse",
        "Does a web page belong to a category? By its words.",
        "J. C. Platt: Fast training of SVMs using sequential minimal optimization, 1998",
    ),
    Entry(
        "w8a", "binary", 300, 2, two(49749, 14951, "libsvm/binary/w8a", "libsvm/binary/w8a.t"), "0 and 1, sparse",
        "As w7a, split further on.",
        "J. C. Platt: Fast training of SVMs using sequential minimal optimization, 1998",
    ),
    Entry(
        "a9a", "binary", 123, 2, two(32561, 16281, "libsvm/binary/a9a", "libsvm/binary/a9a.t"), "0 and 1, sparse",
        "Does someone earn more than 50 000 dollars? From the US census of 1994.",
        "B. Becker, R. Kohavi: Adult, UCI, 1996; in bits by J. C. Platt, 1998",
    ),
    Entry(
        "ijcnn1", "binary", 22, 2, two(49990, 91701, "libsvm/binary/ijcnn1.bz2", "libsvm/binary/ijcnn1.t.bz2"),
        "within [-1.33, 1.33]", "Does a combustion engine misfire (+1)? One row in ten.",
        "D. Prokhorov: IJCNN 2001 neural network competition; features by C.-C. Chang, C.-J. Lin, IJCNN 2001",
    ),
    Entry(
        "cod-rna", "binary", 8, 2, two(59535, 271617, "libsvm/binary/cod-rna", "libsvm/binary/cod-rna.t"),
        "as measured", "Does a pair of sequences hold RNA that codes for no protein?",
        "A. V. Uzilov, J. M. Keegan, D. H. Mathews, BMC Bioinformatics 7:173, 2006",
    ),
    Entry(
        "covtype.binary", "binary", 54, 2, one(581012, "libsvm/multiclass/covtype.bz2"), "as measured, -173 to 7173",
        "covtype, the second kind of wood (+1) against all others (-1); the same file.",
        "J. A. Blackard, D. J. Dean, Computers and Electronics in Agriculture 24, 1999", "covtype", 2,
    ),
    Entry(
        "susy", "binary", 18, 2, one(5_000_000, "libsvm/binary/SUSY.xz"), "as simulated",
        "Collisions that make supersymmetric particles (1) or not (0). Papers take a million rows of it.",
        "P. Baldi, P. Sadowski, D. Whiteson, Nature Communications 5, 2014",
    ),
    Entry(
        "kdd08", "binary", 117, 2, one(102294), "as measured",
        "Suspicious regions of X-ray images: breast cancer or not.",
        "R. B. Rao, O. Yakhnenko, B. Krishnapuram, SIGKDD Explorations 10(2), 2008",
        advice=BY_HAND + ": KDD Cup 2008 asks for a registration",
    ),
    Entry(
        "kdd99", "binary", 127, 2, one(1131571), "one column per value of the words",
        "Attacks on a computer network. How the papers came from 4 898 431 rows to these is not known.",
        "KDD Cup 1999 data, UCI, 1999", advice=BY_HAND + " in this form (its source is UCI's KDD Cup 1999 data)",
    ),
    Entry(
        "madelon", "binary", 500, 2, two(2000, 600, "libsvm/binary/madelon", "libsvm/binary/madelon.t"),
        "integers, around 480", "Made up: 5 features matter, 15 are mixtures of them, 480 are noise.",
        "I. Guyon, S. Gunn, A. Ben-Hur, G. Dror: NIPS 2003 feature selection challenge",
    ),
    Entry(
        "magic04", "binary", 10, 2, one(19020, "uci/magic/magic04.data", GAMMA), "as measured",
        "Gamma rays (+1) or hadrons (-1) in a telescope's image. Sorted by class: shuffle.",
        "R. K. Bock et al., Nuclear Instruments and Methods A 516, 2004",
    ),
)  # fmt: skip

MULTICLASS = (
    Entry(
        "covtype", "multiclass", 54, 7, one(581012, "libsvm/multiclass/covtype.bz2"), "as measured, -173 to 7173",
        "What grows on a patch of forest, by maps of it. Neighbouring rows are alike.",
        "J. A. Blackard, D. J. Dean, Computers and Electronics in Agriculture 24, 1999",
    ),
    Entry(
        "dna", "multiclass", 180, 3,
        two(2000, 1186, "libsvm/multiclass/dna.scale", "libsvm/multiclass/dna.scale.t"), "0 and 1",
        "Splice junctions in DNA: exon to intron, intron to exon, or none.",
        "M. O. Noordewier, G. G. Towell, J. W. Shavlik, NIPS 1990; Statlog",
    ),
    Entry(
        "satimage", "multiclass", 36, 6,
        two(4435, 2000, "libsvm/multiclass/satimage.scale", "libsvm/multiclass/satimage.scale.t"),
        "scaled to [-1, 1]", "Kinds of soil in a satellite's image. Neighbouring rows are alike.",
        "A. Srinivasan: Statlog (Landsat Satellite), UCI, 1993",
    ),
    Entry(
        "usps", "multiclass", 256, 10, two(7291, 2007, "libsvm/multiclass/usps.bz2", "libsvm/multiclass/usps.t.bz2"),
        "scaled to [-1, 1]", "Handwritten digits of post codes, 16 x 16 pixels; label = digit + 1.",
        "J. J. Hull, IEEE PAMI 16(5), 1994",
    ),
    Entry(
        "mnist", "multiclass", 780, 10,
        two(60000, 10000, "libsvm/multiclass/mnist.bz2", "libsvm/multiclass/mnist.t.bz2"), "pixels, 0 to 255",
        "Handwritten digits, 28 x 28 pixels.", "Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Proc. IEEE 86(11), 1998",
    ),
    Entry(
        "letter", "multiclass", 16, 26,
        two(15000, 5000, "libsvm/multiclass/letter.scale", "libsvm/multiclass/letter.scale.t"), "scaled to [-1, 1]",
        "Printed capital letters, by statistics of their pixels.", "P. W. Frey, D. J. Slate, Machine Learning 6, 1991",
    ),
    Entry(
        "shuttle", "multiclass", 9, 7,
        two(43500, 14500, "libsvm/multiclass/shuttle.scale", "libsvm/multiclass/shuttle.scale.t"),
        "scaled to [-1, 1]", "States of the space shuttle's radiators; four rows in five are of class 1.",
        "J. Catlett: Statlog (Shuttle), UCI",
    ),
    Entry(
        "acoustic", "multiclass", 50, 3,
        two(78823, 19705, "libsvm/multiclass/vehicle/acoustic.bz2", "libsvm/multiclass/vehicle/acoustic.t.bz2"),
        "as measured", "Which vehicle passes a microphone, or none?",
        "M. F. Duarte, Y. H. Hu, Journal of Parallel and Distributed Computing 64(7), 2004",
    ),
    Entry(
        "poker", "multiclass", 10, 10,
        two(25010, 1_000_000, "libsvm/multiclass/poker.bz2", "libsvm/multiclass/poker.t.bz2"),
        "small integers", "Hands of five cards; nearly all are nothing or one pair.",
        "R. Cattral, F. Oppacher: Poker Hand, UCI, 2002",
    ),
)  # fmt: skip

REGRESSION = (
    Entry(
        "housing", "regression", 13, None, one(506, "libsvm/regression/housing"), "as measured",
        "Prices of houses around Boston.",
        "D. Harrison, D. L. Rubinfeld, Journal of Environmental Economics and Management 5, 1978",
    ),
    Entry(
        "mg", "regression", 6, None, one(1385, "libsvm/regression/mg"), "as simulated, around 1",
        "The Mackey-Glass series, one value from six before it.",
        "G. W. Flake, S. Lawrence, Machine Learning 46, 2002",
    ),
    Entry(
        "abalone", "regression", 8, None, one(4177, "libsvm/regression/abalone_scale"), "scaled to [-1, 1]",
        "Age of shellfish, in rings.", "W. J. Nash et al.: Abalone, UCI, 1995",
    ),
    Entry(
        "parkinsons", "regression", 20, None,
        one(5875, "uci/parkinsons/telemonitoring/parkinsons_updrs.data", UPDRS), "as measured",
        "A patient's total UPDRS by voice, age, sex and day. Sorted by patient: shuffle.",
        "A. Tsanas, M. A. Little, P. E. McSharry, L. O. Ramig, IEEE Trans. Biomedical Engineering 57(4), 2010",
    ),
    Entry(
        "cpusmall", "regression", 12, None, one(8192, "libsvm/regression/cpusmall"), "as measured, 0 to 2 526 649",
        "How busy a computer is, in %, by counts of what it does.", "Delve, University of Toronto, 1996",
    ),
    Entry(
        "cadata", "regression", 8, None, one(20640, "libsvm/regression/cadata"), "as measured",
        "Prices of houses in California, in dollars.",
        "R. K. Pace, R. Barry, Statistics & Probability Letters 33, 1997",
    ),
    Entry(
        "casp", "regression", 9, None, one(45730, "uci/00265/CASP.csv", RESIDUE), "as measured",
        "How far a protein's predicted shape is off.",
        "P. S. Rana: Physicochemical properties of protein tertiary structure, UCI, 2013",
    ),
    Entry(
        "slice", "regression", 385, None, one(53500, "uci/00206/slice_localization_data.zip", SLICE),
        "histograms, and the patient's number", "Where in the body a CT slice lies. Sorted by patient: shuffle.",
        "F. Graf, H.-P. Kriegel, M. Schubert, S. Poelsterl, A. Cavallaro: Relative location of CT slices, UCI, 2011",
    ),
    Entry(
        "year", "regression", 90, None,
        two(463715, 51630, "libsvm/regression/YearPredictionMSD.bz2", "libsvm/regression/YearPredictionMSD.t.bz2"),
        "as measured", "The year of a song by its timbre.",
        "T. Bertin-Mahieux, D. P. W. Ellis, B. Whitman, P. Lamere: The million song dataset, ISMIR 2011",
    ),
)  # fmt: skip

DRIFT = BY_HAND + "; look for the collection driftDatasets of V. Losing"
STREAMS = (
    Entry(
        "elec2", "binary", 8, 2, one(45312), "in [0, 1], but the weekday, 1 to 7",
        "Does the price of electricity rise (+1)? In time order; saying the last label again is right 85 times of 100.",
        "M. Harries: Splice-2 comparative evaluation: electricity pricing, UNSW, 1999", advice=DRIFT,
    ),
    Entry(
        "outdoor", "multiclass", 21, 40, one(4000), "histograms of colour",
        "Things in a garden as a robot meets them, in order, sun and clouds changing.",
        "V. Losing, B. Hammer, H. Wersing, IJCNN 2015", advice=DRIFT,
    ),
    Entry(
        "spamstream", "binary", 39916, 2, one(9324), "0 and 1, very sparse",
        "Spam (+1) by words, in time order.",
        "I. Katakis, G. Tsoumakas, I. Vlahavas, Knowledge and Information Systems 22, 2010", advice=DRIFT,
    ),
)  # fmt: skip


def bundled(name: str, task: Task, rows: int, features: int, classes: int | None, about: str, cite: str) -> Entry:
    """A set that scikit-learn brings along."""
    return Entry(
        name, task, features, classes, one(rows), "as scikit-learn has them", about, cite, loader=f"load_{name}"
    )


BUNDLED = (
    bundled(
        "breast_cancer", "binary", 569, 30, 2, "Is a tumour benign (1), by its cells under the microscope?",
        "W. N. Street, W. H. Wolberg, O. L. Mangasarian, SPIE 1905, 1993",
    ),
    bundled(
        "digits", "multiclass", 1797, 64, 10, "Handwritten digits, 8 x 8 pixels.",
        "E. Alpaydin, C. Kaynak: Optical recognition of handwritten digits, UCI, 1998",
    ),
    bundled(
        "wine", "multiclass", 178, 13, 3, "Three growers' wines by chemistry. Sorted by class: shuffle.",
        "S. Aeberhard, M. Forina: Wine, UCI, 1992",
    ),
    bundled(
        "iris", "multiclass", 150, 4, 3, "Three kinds of iris by their leaves. Sorted by class: shuffle.",
        "R. A. Fisher, Annals of Eugenics 7, 1936",
    ),
    bundled(
        "diabetes", "regression", 442, 10, None, "Progress of diabetes within a year.",
        "B. Efron, T. Hastie, I. Johnstone, R. Tibshirani, Annals of Statistics 32, 2004",
    ),
)  # fmt: skip

CATALOGUE: dict[str, Entry] = {entry.name: entry for entry in BINARY + MULTICLASS + REGRESSION + STREAMS + BUNDLED}
