"""KSH beside shap, shapiq, lightshap and woodelf: errors and times on the same games."""
