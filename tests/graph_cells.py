"""Cells that people really write, for `%%graphcompare`; the keys are those of `map_cells`.

Further `expect` keys: `prints` is what the cell prints, once; `leaner_than` pairs (lean, fat) by peak
bytes; `measured` are the first and last line measured; `reasons` maps a strategy id to a text that the
reason of its failure holds.
"""

TF = "import tensorflow as tf\nimport numpy as np\n"

CASES = [
    dict(
        name="elementwise_chain",
        setup=TF + "x = tf.random.normal([1024, 1024], seed=7)",
        cell="a = x * 2.0\nb = tf.exp(-a * a)\nc = tf.sin(b) + tf.cos(a)\ntf.reduce_sum(c, axis=1)",
        expect=dict(
            status={"eager": ["ok"], "graph": ["ok"], "xla": ["ok"]},
            findings=["operator_fusion"],
            no_findings=["leak"],
            names=["a", "b", "c"],
            leaner_than=[("xla", "graph"), ("graph", "eager")],
        ),
        why="fusion shows as time and as memory",
    ),
    dict(
        name="constants_to_fold",
        setup=TF + "x = tf.random.normal([64, 64], seed=8)",
        cell="scale = tf.sqrt(tf.constant(2.0) * tf.constant(3.0)) + 1.0\nmask = tf.linalg.band_part(tf.ones([64, 64]), -1, 0)\nx * scale * mask",
        expect=dict(status={"eager": ["ok"], "graph": ["ok"]}, findings=["constant_folding"]),
        why="what was computed once at optimization, by name and size",
    ),
    dict(
        name="training_step",
        setup=TF
        + "import keras\nkeras.utils.set_random_seed(0)\n"
        + "model = keras.Sequential([keras.layers.Dense(64, activation='relu'), keras.layers.Dense(1)])\n"
        + "opt = keras.optimizers.Adam(1e-3)\nx = tf.random.normal([256, 32], seed=1)\ny = tf.random.normal([256, 1], seed=2)\n"
        + "model(x); opt.build(model.trainable_variables)",
        cell="with tf.GradientTape() as tape:\n    loss = tf.reduce_mean((model(x) - y) ** 2)\n"
        "grads = tape.gradient(loss, model.trainable_variables)\n"
        "opt.apply_gradients(zip(grads, model.trainable_variables))\nloss",
        expect=dict(
            status={"eager": ["ok"], "graph": ["ok"], "xla": ["ok"]}, names=["loss", "grads"]
        ),
        why="after the cell, weights and optimizer slots equal those of exactly one plain run",
    ),
    dict(
        name="keras_fit",
        setup=TF
        + "import keras\nkeras.utils.set_random_seed(0)\n"
        + "net = keras.Sequential([keras.layers.Dense(32, activation='relu'), keras.layers.Dense(1)])\n"
        + "net.compile('adam', 'mse')\nX = np.random.default_rng(0).normal(size=(512, 16)).astype('float32')\nY = X[:, :1] * 2.0",
        cell="net.fit(X, Y, batch_size=64, epochs=1, verbose=0, shuffle=False)",
        expect=dict(status={"as-written": ["ok"], "eager": ["ok"], "graph": ["ok"]}),
        why="the commonest TensorFlow cell of all; weights and slots end as after one fit",
    ),
    dict(
        name="prints_and_counts",
        setup=TF + "seen = []\nx = tf.ones([8])",
        cell="seen.append('step')\nprint('running')\nx + 1.0",
        expect=dict(findings=["python_side_effect"], prints="running\n"),
        why="under tf.function this Python runs at tracing only; afterwards `seen` has one entry",
    ),
    dict(
        name="assertion_that_xla_drops",
        setup=TF + "x = tf.constant([1.0, 2.0, -3.0])",
        cell="tf.debugging.assert_non_negative(x)\nx * 2.0",
        expect=dict(raises="InvalidArgumentError"),
        why="the plain cell fails, so the cell fails; no strategy that drops the check is recommended",
    ),
    dict(
        name="makes_a_variable",
        setup=TF + "x = tf.ones([16, 8])",
        cell="w = tf.Variable(tf.ones([8, 4]))\ntf.matmul(x, w)",
        expect=dict(status={"graph": ["ok"], "xla": ["ok"]}, names=["w"]),
        why="the variable is set-up, the product is measured, and the report says so",
    ),
    dict(
        name="array_as_input",
        setup=TF + "X = np.arange(12.0, dtype='float32').reshape(3, 4)",
        cell="tf.reduce_sum(X * 2.0, axis=0)",
        expect=dict(status={"graph": ["ok"], "xla": ["ok"]}, inputs=["X"]),
        why="a NumPy array becomes an input, so that nothing is baked in",
    ),
    dict(
        name="array_that_tracing_refuses",
        setup=TF + "X = np.arange(12.0)[::-1]\nt = tf.ones([12])",
        cell="t * np.sort(X)",
        expect=dict(status={"graph": ["ok"], "xla": ["ok"]}, captured=["X"]),
        why="np.sort takes no symbolic tensor, and the array's dtype is another: it stays captured",
    ),
    dict(
        name="rebinds_its_inputs",
        setup=TF + "x = tf.ones([4])\nn = 1",
        cell="x = x + 1.0\nn = n + 1\nx * float(n)",
        expect=dict(status={"graph": ["ok"], "xla": ["ok"]}, values={"n": 2, "float(x[0])": 2.0}),
        why="names that are read and then assigned start from what they were before",
    ),
    dict(
        name="reads_a_value",
        setup=TF + "x = tf.ones([4])",
        cell="y = tf.reduce_sum(x).numpy()\nx * y",
        expect=dict(
            status={"as-written": ["ok"], "graph": ["failed"], "xla": ["failed"]},
            reasons={"graph": "line 1, `y = tf.reduce_sum(x).numpy()`"},
            findings=["host_synchronization"],
            names=["y"],
        ),
        why="a symbolic tensor has no value: the statement is named",
    ),
    dict(
        name="next_of_an_iterator",
        setup=TF + "it = iter(tf.data.Dataset.range(10).batch(2))",
        cell="b = next(it)\ntf.reduce_sum(b)",
        expect=dict(
            status={"as-written": ["ok"], "graph": ["failed"]},
            reasons={"graph": "line 1, `b = next(it)`: reads the iterator `it`"},
            findings=["not_repeatable"],
            values={"int(next(it)[0])": 2},
        ),
        why="reading moves the iterator on for good: one plain run's effect remains",
    ),
    dict(
        name="appends_to_a_file",
        setup=TF + "import tempfile, os\npath = tempfile.mktemp()\nx = tf.ones([4])",
        cell="y = x * 2\nwith open(path, 'a') as f:\n    f.write('hi')\ny",
        expect=dict(
            status={"as-written": ["ok"], "graph": ["failed"]},
            reasons={"graph": "writes the file"},
            values={"open(path).read()": "hi", "os.remove(path)": None},
        ),
        why="a file can't be put back, so it is written once",
    ),
    dict(
        name="ipython_syntax",
        setup=TF + "x = tf.ones([4])",
        cell="y = x * 2\n%time z = y + 1\nz",
        expect=dict(
            status={"as-written": ["ok"], "graph": ["failed"]},
            reasons={"graph": "line 2, `%time z = y + 1`: runs a command of IPython's"},
            names=["z"],
        ),
        why="a command of the notebook is no TensorFlow code",
    ),
    dict(
        name="own_tf_function",
        setup=TF + "x = tf.ones([64])\n@tf.function\ndef f(v):\n    return tf.nn.relu(v) + 1.0",
        cell="f(x)",
        expect=dict(status={"eager": ["ok"], "graph": ["ok"], "xla": ["ok"]}, functions=["f"]),
        why="it runs op by op in the row eager, compiled in the row xla",
    ),
    dict(
        name="traced_in_a_loop",
        setup=TF + "@tf.function\ndef f(n):\n    return tf.ones([3]) * n",
        cell="for i in range(4):\n    out = f(float(i))\nout",
        expect=dict(findings=["retracing"], names=["out"]),
        why="a Python number as argument: a trace for each value",
    ),
    dict(
        name="hand_written_update",
        setup=TF + "w = tf.Variable(tf.ones([4, 1]))\nx = tf.random.normal([8, 4], seed=1)",
        cell="with tf.GradientTape() as t:\n    loss = tf.reduce_mean((x @ w) ** 2)\n"
        "g = t.gradient(loss, w)\nw.assign_sub(0.1 * g)",
        expect=dict(status={"eager": ["ok"], "graph": ["ok"], "xla": ["ok"]}, names=["loss", "g"]),
        why="the result is a variable, whose value is put back after each call",
    ),
    dict(
        name="random_numbers",
        setup=TF + "x = tf.ones([100])",
        cell="x + tf.random.normal([100])",
        expect=dict(
            status={"graph": ["ok"], "xla": ["ok"]},
            findings=["nondeterministic"],
            no_findings=["different_result"],
        ),
        why="results differ by design",
    ),
    dict(
        name="random_numbers_of_python",
        setup=TF + "import random\nx = tf.ones([4])",
        cell="x * random.random()",
        expect=dict(
            status={"graph": ["different"], "eager": ["ok"]}, findings=["different_result"]
        ),
        why="a graph draws once, while it is traced",
    ),
    dict(
        name="tensor_condition",
        setup=TF + "x = tf.ones([4])",
        cell="if tf.reduce_sum(x) > 0:\n    y = x * 2\nelse:\n    y = x\nwhile tf.reduce_sum(y) < 100.0:\n"
        "    y = y * 2\ny",
        expect=dict(status={"graph": ["ok"], "xla": ["ok"]}, findings=["host_synchronization"]),
        why="AutoGraph converts what eager code decides in Python",
    ),
    dict(
        name="strings",
        setup=TF + "s = tf.constant(['a', 'bb'])",
        cell='text = """one\n  two"""\ntf.strings.length(s) + len(text)',
        expect=dict(
            status={"graph": ["ok"], "xla": ["failed"]},
            findings=["xla_unsupported"],
            no_findings=["python_side_effect"],
        ),
        why="XLA has no strings; and text over two lines is not indented",
    ),
    dict(
        name="border_by_comment",
        setup=TF + "x = tf.ones([4])",
        cell="y = x * 2\n# measure\nz = y + 1\nz",
        expect=dict(status={"graph": ["ok"]}, measured=(3, 4), inputs=["y"]),
        why="the user sets the border",
    ),
    dict(
        name="no_value_at_the_end",
        setup=TF + "x = tf.ones([4])",
        cell="y = x * 2\ny.shape",
        expect=dict(status={"graph": ["ok"]}, result="y"),
        why="a shape is no result to compare, so what was assigned is",
    ),
    dict(
        name="model_made_in_the_cell",
        setup=TF + "import keras\nX = np.ones((32, 4), 'float32')\nY = X[:, :1]",
        cell="m = keras.Sequential([keras.layers.Dense(1)])\nm.compile('sgd', 'mse')\nh = m.fit(X, Y, verbose=0)",
        expect=dict(status={"as-written": ["ok"], "graph": ["ok"], "xla": ["ok"]}, measured=(3, 3)),
        why="making and compiling the model is set-up; building it in `fit` is not",
    ),
    dict(
        name="train_on_batch",
        setup=TF
        + "import keras\nkeras.utils.set_random_seed(0)\nm = keras.Sequential([keras.layers.Dense(1)])\n"
        "m.compile('adam', 'mse')\nX = np.ones((32, 4), 'float32')\nY = X[:, :1]",
        cell="m.train_on_batch(X, Y)",
        expect=dict(status={"eager": ["ok"], "graph": ["ok"], "xla": ["ok"]}),
        why="an entry point of Keras's that gives a number",
    ),
    dict(
        name="evaluate_and_predict",
        setup=TF
        + "import keras\nkeras.utils.set_random_seed(0)\nm = keras.Sequential([keras.layers.Dense(1)])\n"
        "m.compile('adam', 'mse')\nX = np.ones((64, 4), 'float32')\nY = X[:, :1]\nm.fit(X, Y, verbose=0)",
        cell="error = m.evaluate(X, Y, verbose=0)\nm.predict(X, verbose=0)",
        expect=dict(status={"eager": ["ok"], "graph": ["ok"], "xla": ["ok"]}),
        why="metrics are variables that evaluating leaves as they were, but for rounding",
    ),
    dict(
        name="custom_train_step",
        setup=TF + "import keras\nkeras.utils.set_random_seed(0)\nclass M(keras.Model):\n"
        "    def __init__(self):\n        super().__init__()\n        self.d = keras.layers.Dense(1)\n"
        "    def call(self, x):\n        return self.d(x)\n"
        "    def train_step(self, data):\n        x, y = data\n"
        "        with tf.GradientTape() as tape:\n            loss = tf.reduce_mean((self(x) - y) ** 2)\n"
        "        v = self.trainable_variables\n"
        "        self.optimizer.apply_gradients(zip(tape.gradient(loss, v), v))\n"
        "        return {'loss': loss}\nm = M()\nm.compile('sgd')\nX = np.ones((64, 4), 'float32')\nY = X[:, :1]",
        cell="m.fit(X, Y, batch_size=16, verbose=0, shuffle=False)",
        expect=dict(status={"eager": ["ok"], "graph": ["ok"], "xla": ["ok"]}),
        why="the user's own step under Keras's switches",
    ),
    dict(
        name="keeps_its_results",
        setup=TF + "kept = []\nx = tf.ones([1000])",
        cell="y = x * 2.0\nkept.append(y)\ny",
        expect=dict(findings=["leak", "python_side_effect"], values={"len(kept)": 1}),
        why="a list that grows with each call holds on to memory",
    ),
    dict(
        name="waits",
        setup=TF + "import asyncio\nx = tf.ones([4])",
        cell="await asyncio.sleep(0.01)\ny = x * 2\ny",
        expect=dict(
            status={"as-written": ["ok"], "graph": ["failed"]},
            reasons={"graph": "line 1, `await asyncio.sleep(0.01)`: waits with `await`"},
            names=["y"],
        ),
        why="a notebook may wait at the top level; a graph can't",
    ),
    dict(
        name="only_definitions",
        setup=TF,
        cell="def f(v):\n    return v",
        expect=dict(raises="UsageError", names=["f"]),
        why="nothing to measure: the error says what to add",
    ),
]
