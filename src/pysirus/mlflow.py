"""Models in MLflow: saved as JSON, never as a pickle, and loaded as a pyfunc: ``pip install pysirus[mlflow]``.

A signature is made of the columns that the model knows. Those that no rule reads are optional in it. They are of any
type: MLflow would refuse whole numbers where it expects others, categories of pandas where it expects text, and missing
values in columns of numbers and booleans. The model takes all of them, and says itself which values it rejects.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pysirus
from pysirus.estimators.base import load

try:
    import mlflow
    from mlflow import pyfunc
    from mlflow.models import Model, ModelSignature, infer_signature
    from mlflow.models.utils import _save_example
    from mlflow.tracking.artifact_utils import _download_artifact_from_uri
    from mlflow.types.schema import AnyType, ColSpec, Schema
except ImportError as error:
    raise ImportError("Models in MLflow need mlflow: pip install pysirus[mlflow].") from error

__all__ = ["load_model", "log_model", "save_model"]

FLAVOR = "pysirus"
FILE = "model.json"
KINDS = {bool: "boolean", int: "long", float: "double", str: "string"}


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: list[str] | None = None,
    metadata: dict[str, Any] | None = None,
    mlflow_model: Any = None,
) -> None:
    """Save a model as a folder that MLflow reads.

    Parameters
    ----------
    model : fitted estimator or RuleModel
        The model; its JSON file is what is saved.
    path : str or path
        The folder; it must not exist, or be empty.
    signature : ModelSignature, optional
        By default from the columns that the model knows; for a model of an array, whose columns have no names, from
        ``input_example``.
    input_example : data frame, optional
        A few rows, saved beside the model. A model keeps no rows of its own.
    pip_requirements : list of str, optional
        What is needed to predict. Default: this version of pysirus.
    metadata : dict, optional
        Kept with the model.
    mlflow_model : mlflow.models.Model, optional
        Given by ``log_model``.

    Examples
    --------
    >>> import pysirus.mlflow
    >>> from pysirus.datasets import load_ozone
    >>> X, y = load_ozone(return_X_y=True, as_frame=True)
    >>> model = pysirus.SirusRegressor(n_rules=3, n_trees=200, random_state=0).fit(X, y)
    >>> pysirus.mlflow.save_model(model, "ozone")
    >>> len(pysirus.mlflow.load_model("ozone").rules_)
    3
    """
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileExistsError(f"'{folder}' exists and is not empty. Give another folder.")
    if not hasattr(model, "_as_model"):
        raise TypeError(
            f"A model of pysirus is saved here: a fitted estimator or a RuleModel, got {type(model).__name__}."
        )
    own = Model() if mlflow_model is None else mlflow_model
    own.signature = signature if signature is not None else _signature_of(model, input_example)
    folder.mkdir(parents=True, exist_ok=True)
    if metadata is not None:
        own.metadata = metadata
    model.save(folder / FILE)
    if input_example is not None:
        _save_example(own, input_example, str(folder))
    needed = pip_requirements or [f"pysirus=={pysirus.__version__}"]
    (folder / "requirements.txt").write_text("\n".join(needed) + "\n", encoding="utf-8")
    environment = {"virtualenv": "requirements.txt"}
    pyfunc.add_to_model(own, loader_module="pysirus.mlflow", data=FILE, python_env=environment, code=None)
    own.add_flavor(FLAVOR, data=FILE, pysirus_version=pysirus.__version__)
    own.save(str(folder / "MLmodel"))


def log_model(model: Any, name: str, **options: Any) -> Any:
    """Log a model to the active run of MLflow, or to a new one.

    Parameters
    ----------
    model : fitted estimator or RuleModel
        The model.
    name : str
        Its name there.
    **options
        Those of ``save_model``, and those of ``mlflow.models.Model.log``, such as ``registered_model_name``.

    Returns
    -------
    info : ModelInfo
        Its ``model_uri`` is what ``load_model`` takes.
    """
    import pysirus.mlflow as flavor

    named = int(mlflow.__version__.split(".")[0]) >= 3
    place: dict[str, Any] = {"artifact_path": None, "name": name} if named else {"artifact_path": name}
    return Model.log(**place, flavor=flavor, model=model, **options)


def load_model(model_uri: str, dst_path: str | None = None) -> Any:
    """Load a model that ``save_model`` or ``log_model`` wrote.

    Parameters
    ----------
    model_uri : str
        A folder, or an address such as ``models:/credit/3`` or ``runs:/RUN/credit``.
    dst_path : str, optional
        Where to download it to.

    Returns
    -------
    model : fitted estimator or RuleModel
        As ``pysirus.load`` gives it.
    """
    folder = Path(_download_artifact_from_uri(artifact_uri=str(model_uri), output_path=dst_path))
    return load(folder / Model.load(str(folder / "MLmodel")).flavors[FLAVOR]["data"])


def _load_pyfunc(path: str) -> _Predictor:
    """What ``mlflow.pyfunc.load_model`` calls."""
    return _Predictor(load(path))


class _Predictor:
    """A model as a pyfunc."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, data: Any, params: Any = None) -> Any:
        """Predict each row: a number, or the class that is decided for."""
        return self.model.predict(data)

    def get_raw_model(self) -> Any:
        """The model itself."""
        return self.model


def _signature_of(model: Any, example: Any) -> Any:
    """The columns of a model, and the type of its predictions."""
    rules = model._as_model()
    if not rules.named:
        return None if example is None else infer_signature(example, model.predict(example))
    needed = {rules.schema.column_of(rules.features[i]) for i in rules.needed}
    columns = [ColSpec(AnyType(), name=name, required=name in needed) for name in rules.schema.columns]
    predicted = KINDS.get(type(rules.classes[0]), "string") if rules.classes else "double"
    return ModelSignature(Schema(columns), Schema([ColSpec(predicted)]))
