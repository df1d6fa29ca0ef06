"""The line of the log that an epoch has."""

from qtj_trainer.stored.position import Epoch
from qtj_trainer.stored.progress_log import held_out_line


def test_the_line_of_an_epoch_marks_the_numbers_of_the_held_out_set() -> None:
    epoch = Epoch(3, 21, 0.5, {"mse": 0.25, "accuracy": 0.75}, 99.6, validation_loss=0.25)

    line = " 3/25  loss 0.5000  100 examples/s  held-out: loss 0.2500  mse 0.2500  accuracy 0.7500"
    assert held_out_line(epoch, 25) == line


def test_a_loss_that_was_not_measured_is_left_out() -> None:
    epoch = Epoch(3, 21, 0.5, {"mse": 0.25}, 99.6)

    assert held_out_line(epoch, 25) == " 3/25  loss 0.5000  100 examples/s  held-out: mse 0.2500"
