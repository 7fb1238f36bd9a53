"""`read_libsvm(multilabel="indicator")`: label sets as the sparse 0/1 matrix that scikit-learn takes."""

import numpy as np
import pytest
from sklearn.preprocessing import MultiLabelBinarizer

from marginloom import InputError, InputWarning, MultilabelClassifier, read_libsvm


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "train.svm"
    path.write_text("7,2 1:1\n 2:1\n2 3:1\n7,+7 1:2\n")
    return path


def test_columns_are_the_sorted_labels(path):
    lists = read_libsvm(path, multilabel=True)[1]
    X, Y = read_libsvm(path, multilabel="indicator")
    assert np.array_equal(Y.toarray(), MultiLabelBinarizer().fit_transform(lists))
    assert X.shape == (4, 3)
    MultilabelClassifier().fit(X, Y)


def test_classes_give_several_files_the_same_columns(path):
    Y = read_libsvm(path, multilabel="indicator", classes=[2, 5, 7])[1]
    assert Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 1]]


def test_labels_beyond_the_classes_are_left_out_with_a_warning(path):
    with pytest.warns(InputWarning, match="such as 7"):
        Y = read_libsvm(path, multilabel="indicator", classes=[2])[1]
    assert Y.toarray().tolist() == [[1], [0], [1], [0]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"multilabel": "indicators"}, "multilabel must be"),
        ({"multilabel": 1}, "multilabel must be"),
        ({"multilabel": True, "classes": [2]}, "classes"),
        ({"multilabel": "indicator", "classes": [2, 2]}, "more than once"),
    ],
)
def test_other_values_are_errors(path, options, words):
    with pytest.raises(InputError, match=words):
        read_libsvm(path, **options)
