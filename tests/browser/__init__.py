"""Reports in a real JupyterLab and in a real browser."""
