"""Estimators with the manners of scikit-learn, thin around the rest of the library; one file a structure."""
