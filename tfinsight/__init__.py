"""tfinsight: how should this TensorFlow code be run?"""
