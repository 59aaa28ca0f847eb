"""The methods that SIRUS is compared with, apart: RuleFit and Node harvest, on scikit-learn's trees."""
