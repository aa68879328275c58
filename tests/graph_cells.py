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
            names=["a", "b", "c"],
            leaner_than=[("xla", "graph"), ("xla", "eager")],
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
        expect=dict(status={"eager": ["ok"], "graph": ["ok"], "xla": ["ok"]}, names=["loss", "grads"]),
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
]
