"""Cells that people really write, for `%%mapcost` to be tried on.

Each case has: `name`; `setup` (an earlier cell); `cell` (what stands under the magic); `expect`,
facts about the report that hold on any machine; `why`, the trap in it.

`expect` keys: `status` maps a strategy id to the run statuses that are right for it; `findings`
must be among the report's finding codes, `no_findings` must not; `names` are notebook names that
exist after the cell; `slower_than` pairs (slow, fast, at least this ratio of the medians); `raises`
is the exception that the cell ends with; `next_draw` means that random numbers drawn after the cell
are those of a control process in which the cell ran once without the magic; `values` maps names to
what they hold after the cell.
"""

TF = "import tensorflow as tf\nimport numpy as np\n"

CASES = [
    dict(
        name="scalar_exp",
        setup=TF + "angles = tf.linspace(0.0, 1.0, 4_000)",
        cell="y = tf.map_fn(lambda t: tf.exp(-t * t), angles)",
        expect=dict(
            status={
                "map_fn/graph": ["ok"],
                "vectorized_map/graph": ["ok"],
                "batched/graph": ["ok"],
            },
            findings=["dispatch_bound", "batched_equivalent", "map_fn_runs_serially"],
            names=["y"],
            slower_than=[("map_fn/graph", "batched/graph", 20.0)],
        ),
        why="tiny work per element: all the time is dispatch",
    ),
    dict(
        name="call_inside_a_helper",
        setup=TF
        + "rng = np.random.default_rng(0)\nsignals = tf.constant(rng.normal(size=(256, 128)), tf.float32)\n"
        + "def spectra(batch):\n    centred = batch - tf.reduce_mean(batch)\n"
        + "    return tf.map_fn(lambda s: tf.abs(tf.signal.rfft(s)), centred)",
        cell="power = spectra(signals) ** 2\npower.shape",
        expect=dict(status={"map_fn/graph": ["ok"], "batched/graph": ["ok"]}, names=["power"]),
        why="the call is not in the cell's own text, and the function closes over nothing",
    ),
    dict(
        name="aliased_import",
        setup=TF
        + "from tensorflow import map_fn as each\nx = tf.reshape(tf.range(600.0), [200, 3])",
        cell="norms = each(tf.norm, x)",
        expect=dict(
            status={"map_fn/graph": ["ok"], "batched/graph": ["different"]},
            findings=["batched_differs"],
            names=["norms"],
        ),
        why="tf.norm of the whole batch is one number: fast and wrong, so never the winner",
    ),
    dict(
        name="dictionary_of_elements",
        setup=TF + "pairs = {'a': tf.random.normal([300, 16]), 'b': tf.random.normal([300, 16])}",
        cell="dots = tf.map_fn(lambda p: tf.tensordot(p['a'], p['b'], 1), pairs, fn_output_signature=tf.float32)",
        expect=dict(
            status={"map_fn/graph": ["ok"], "vectorized_map/graph": ["ok"]}, names=["dots"]
        ),
        why="nested elements, and a structure that changes from input to output",
    ),
    dict(
        name="other_output_type",
        setup=TF + "logits = tf.random.normal([400, 10], seed=3)",
        cell="label = tf.map_fn(lambda r: tf.argmax(r, output_type=tf.int32), logits, fn_output_signature=tf.int32)",
        expect=dict(
            status={"map_fn/graph": ["ok"], "vectorized_map/graph": ["ok"]}, names=["label"]
        ),
        why="dtype of the result is not that of the elements",
    ),
    dict(
        name="ragged_rows",
        setup=TF + "rows = tf.ragged.constant([[1.0, 2.0], [], [3.0, 4.0, 5.0]] * 50)",
        cell="sums = tf.map_fn(tf.reduce_sum, rows, fn_output_signature=tf.float32)",
        expect=dict(status={"map_fn/graph": ["ok"]}, names=["sums"]),
        why="ragged elements; whatever cannot take them is a failed row with the reason",
    ),
    dict(
        name="no_vectorized_form",
        setup=TF
        + "boxes = tf.random.uniform([64, 20, 4], seed=1)\nscores = tf.random.uniform([64, 20], seed=2)",
        cell="kept = tf.map_fn(\n"
        "    lambda bs: tf.size(tf.image.non_max_suppression(bs[0], bs[1], 10, 0.3)),\n"
        "    (boxes, scores), fn_output_signature=tf.int32)",
        expect=dict(status={"map_fn/graph": ["ok"]}, findings=["pfor_fallback"], names=["kept"]),
        why="no vectorized form of the op: the fall-back must be named",
    ),
    dict(
        name="silent_fallback",
        setup=TF
        + "images = tf.random.uniform([32, 24, 24, 3], seed=5)\nshift = tf.linspace(-0.2, 0.2, 32)",
        cell="hued = tf.map_fn(lambda t: tf.image.adjust_hue(t[0], t[1]), (images, shift), fn_output_signature=tf.float32)",
        expect=dict(status={"map_fn/graph": ["ok"]}, findings=["pfor_fallback"], names=["hued"]),
        why="TensorFlow prints no warning for this fall-back; the traced graph shows it",
    ),
    dict(
        name="python_in_the_body",
        setup=TF + "x = tf.random.normal([128, 8])",
        cell="y = tf.map_fn(lambda r: tf.numpy_function(lambda a: np.sort(a), [r], tf.float32), x)",
        expect=dict(
            status={"map_fn/graph": ["ok"], "map_fn/xla": ["failed"]},
            findings=["host_callback", "xla_unsupported"],
            names=["y"],
        ),
        why="Python inside the graph: XLA refuses, and nothing runs in parallel",
    ),
    dict(
        name="random_augmentation",
        setup=TF + "images = tf.random.uniform([64, 16, 16, 3])",
        cell="noisy = tf.map_fn(lambda im: im + tf.random.normal(tf.shape(im), stddev=0.1), images)",
        expect=dict(
            findings=["nondeterministic"], no_findings=["different_result"], names=["noisy"]
        ),
        why="results differ from run to run by design; that is not a wrong strategy",
    ),
    dict(
        name="seeded_augmentation",
        setup=TF + "tf.random.set_seed(11)\nimages = tf.random.uniform([64, 16, 16, 3])",
        cell="noisy = tf.map_fn(lambda im: im + tf.random.normal(tf.shape(im), stddev=0.1, seed=4), images)",
        expect=dict(
            findings=["nondeterministic"],
            no_findings=["different_result"],
            names=["noisy"],
            next_draw=True,
        ),
        why="with seeds set, eager repeats are equal and the other executions differ: still not a wrong strategy",
    ),
    dict(
        name="generator_augmentation",
        setup=TF + "g = tf.random.Generator.from_seed(3)\nx = tf.zeros([32, 4])",
        cell="y = tf.map_fn(lambda r: r + g.normal([4]), x)",
        expect=dict(
            findings=["nondeterministic"],
            no_findings=["different_result"],
            names=["y"],
            next_draw=True,
        ),
        why="the generator's state is a variable: it ends where one plain run leaves it",
    ),
    dict(
        name="ragged_result",
        setup=TF + "x = tf.random.normal([80, 12], seed=6)",
        cell="pos = tf.map_fn(lambda r: tf.boolean_mask(r, r > 0), x,\n"
        "                fn_output_signature=tf.RaggedTensorSpec([None], tf.float32))",
        expect=dict(
            status={"map_fn/graph": ["ok"], "vectorized_map/graph": ["failed"]}, names=["pos"]
        ),
        why="each result has its own length",
    ),
    dict(
        name="counts_its_calls",
        setup=TF + "calls = tf.Variable(0)\nx = tf.zeros([6])",
        cell="y = tf.map_fn(lambda r: r + tf.cast(calls.assign_add(1), tf.float32), x)",
        expect=dict(
            status={
                "map_fn/graph": ["ok"],
                "vectorized_map/graph": ["different", "failed"],
                "batched/graph": ["different"],
            },
            names=["y"],
            values={"int(calls)": 6},
        ),
        why="the function changes a variable: only orderly strategies agree, and `calls` ends at 6",
    ),
    dict(
        name="agrees_by_luck",
        setup=TF + "x = tf.ones([8, 4])",
        cell="y = tf.map_fn(lambda r: r - tf.reduce_mean(r), x)",
        expect=dict(no_findings=["batched_equivalent"], findings=["batched_differs"], names=["y"]),
        why="on equal rows the batched form happens to agree; on others it is wrong",
    ),
    dict(
        name="already_traced",
        setup=TF
        + "x = tf.random.normal([200, 16], seed=9)\n@tf.function\ndef score(batch):\n"
        + "    return tf.map_fn(lambda r: tf.reduce_logsumexp(r), batch)\nscore(x)",
        cell="s = score(x)",
        expect=dict(
            status={"as-written": ["ok"], "map_fn/graph": ["ok"], "vectorized_map/graph": ["ok"]},
            names=["s"],
        ),
        why="the Python call to map_fn happened long ago, at tracing",
    ),
    dict(
        name="map_under_a_tape",
        setup=TF
        + "w = tf.Variable(tf.random.normal([16, 16], seed=1))\nx = tf.random.normal([128, 16], seed=2)",
        cell="with tf.GradientTape() as tape:\n    out = tf.map_fn(lambda r: tf.reduce_sum(tf.linalg.matvec(w, r) ** 2), x)\n"
        "    loss = tf.reduce_mean(out)\ngrad = tape.gradient(loss, w)",
        expect=dict(
            status={"map_fn/graph": ["ok"], "vectorized_map/graph": ["ok"]},
            names=["out", "loss", "grad"],
        ),
        why="the user cares for forward and backward together; the tape records nothing of the measuring",
    ),
    dict(
        name="waits",
        setup=TF + "import asyncio\nx = tf.ones([4, 2])",
        cell="await asyncio.sleep(0.01)\ny = tf.map_fn(lambda r: r * 2.0, x)\ny",
        expect=dict(status={"map_fn/graph": ["ok"]}, names=["y"]),
        why="a notebook may wait at the top level, under a magic, too",
    ),
    dict(
        name="one_element",
        setup=TF + "one = tf.ones([1, 4])",
        cell="y = tf.map_fn(lambda r: r * 2.0, one)",
        expect=dict(status={"map_fn/graph": ["ok"]}, names=["y"]),
        why="nothing to scale",
    ),
    dict(
        name="no_elements",
        setup=TF + "none = tf.ones([0, 4])",
        cell="y = tf.map_fn(lambda r: r * 2.0, none)",
        expect=dict(names=["y"]),
        why="an empty batch is legal TensorFlow (eager map_fn gives shape [0], the others [0, 4]); nothing is ranked",
    ),
    dict(
        name="nothing_to_map",
        setup=TF + "x = tf.ones([3])",
        cell="total = tf.reduce_sum(x)",
        expect=dict(raises="UsageError", names=["total"]),
        why="no map in the cell: the error says what to write, with the user's names; the cell has still run",
    ),
    dict(
        name="cell_fails",
        setup=TF + "x = tf.ones([4, 3])",
        cell="first = 1\ny = tf.map_fn(lambda r: tf.matmul(r, r), x)",
        expect=dict(raises="InvalidArgumentError", names=["first"]),
        why="the user's own error, once, with the user's line; Run All stops",
    ),
]
