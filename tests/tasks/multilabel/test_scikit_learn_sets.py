"""MultilabelClassifier among scikit-learn's classifiers."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from marginloom import MultilabelClassifier

ONE_CLASS = "gives a class per example, where a 0/1 matrix with a column per label is due"
ONE_AND_TWO = "gives a column of 1 and 2, where 0 and 1 are due"
LISTS = "gives lists of 0 and 1, and a list of lists holds the labels of each example: label 0, label 1"
#: Checks that cannot hold for sets of labels, with the reason of each.
EXPECTED = {
    "check_classifier_data_not_an_array": ONE_AND_TWO,
    "check_classifier_not_supporting_multiclass": ONE_CLASS,
    "check_classifiers_classes": ONE_CLASS,
    "check_classifiers_multilabel_representation_invariance": LISTS,
    "check_classifiers_one_label": ONE_CLASS,
    "check_classifiers_one_label_sample_weights": ONE_CLASS,
    "check_classifiers_train": LISTS,
    "check_estimators_dtypes": ONE_AND_TWO,
    "check_fit2d_1feature": ONE_AND_TWO,
    "check_sample_weights_not_an_array": ONE_AND_TWO,
    "check_sample_weights_not_overwritten": ONE_AND_TWO,
    "check_sample_weights_pandas_series": ONE_AND_TWO,
    "check_sample_weights_shape": ONE_AND_TWO,
}


@parametrize_with_checks([MultilabelClassifier()], expected_failed_checks=lambda estimator: EXPECTED)
def test_scikit_learn_accepts_the_classifier_of_sets(estimator, check):
    check(estimator)


def test_arrays_of_other_libraries_are_taken_for_labels():
    class Array:
        def __array__(self, dtype=None, copy=None):
            return np.array([[1, 0], [0, 1], [1, 1]])

    predicted = MultilabelClassifier(C=10.0).fit(np.eye(3), Array()).predict(np.eye(3))
    assert predicted.tolist() == [[1, 0], [0, 1], [1, 1]]


def test_it_is_a_classifier_of_label_sets():
    tags = get_tags(MultilabelClassifier())
    assert is_classifier(MultilabelClassifier())
    assert tags.classifier_tags.multi_label
    assert not tags.classifier_tags.multi_class
    assert tags.target_tags.multi_output
    assert not tags.target_tags.single_output
    assert tags.input_tags.sparse


def test_searches_and_cross_validation_take_it_and_its_matrices():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X @ rng.normal(size=(4, 3)) > 0.2).astype(int)
    search = GridSearchCV(MultilabelClassifier(max_iter=20), {"C": [0.01, 1.0]}, scoring="f1_micro", cv=3).fit(X, Y)
    assert search.best_params_ == {"C": 1.0}
    assert cross_val_score(MultilabelClassifier(C=1.0, max_iter=20), X, Y, cv=3).mean() > 0.5
