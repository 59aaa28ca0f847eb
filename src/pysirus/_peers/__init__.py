"""The methods that SIRUS is compared with: rules from scikit-learn trees, the lasso, Node harvest."""
