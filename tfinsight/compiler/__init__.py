"""What TensorFlow's compilers made of a function, read from the concrete functions handed in."""
