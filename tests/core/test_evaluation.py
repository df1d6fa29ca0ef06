"""What the evaluator has measured, in the status."""

from dataclasses import replace

from qtj_contract import Progress, TerminationMessage
from qtj_operator.core.status import differ_in_numbers_alone
from tests.core.world import World, running_job, trained_job


def evaluated_job() -> World:
    return running_job(evaluator=True).with_evaluation(epoch=3, step=21, validation_loss=0.25, accuracy=0.75)


def measured(step: int, loss: float) -> TerminationMessage:
    return TerminationMessage(progress=Progress(epoch=4, step=step, validation_loss=loss))


def test_the_status_says_what_the_evaluator_has_measured_and_of_which_step() -> None:
    evaluation = evaluated_job().decide().status.evaluation

    assert evaluation is not None
    assert (evaluation.epoch, evaluation.step) == (3, 21)
    assert (evaluation.validation_loss, evaluation.accuracy) == (0.25, 0.75)


def test_it_takes_nothing_from_the_leaders_progress() -> None:
    status = evaluated_job().with_progress(epoch=5, step=35, loss=0.5).decide().status

    assert status.progress is not None
    assert (status.progress.epoch, status.progress.loss, status.progress.validation_loss) == (5, 0.5, None)


def test_it_stays_while_the_evaluator_is_away() -> None:
    world = evaluated_job().recorded()

    away = replace(world, evaluation=None).without_pod("evaluator-0").decide()

    assert away.status.evaluation == world.job.status.evaluation


def test_the_evaluators_last_result_is_of_the_weights() -> None:
    world = trained_job(evaluator=True).with_evaluation(step=21, validation_loss=0.25)

    evaluation = world.with_pod("evaluator-0", exit_code=0, says=measured(28, 0.125)).decide().status.evaluation

    assert evaluation is not None
    assert (evaluation.step, evaluation.validation_loss) == (28, 0.125)


def test_the_result_of_an_evaluator_that_has_failed_does_not_count() -> None:
    world = evaluated_job().with_pod("evaluator-0", exit_code=137, says=measured(28, 0.125))

    evaluation = world.decide().status.evaluation

    assert evaluation is not None
    assert evaluation.step == 21


def test_a_new_evaluation_is_a_number_among_others() -> None:
    before = evaluated_job().recorded()

    after = before.with_evaluation(epoch=4, step=28, validation_loss=0.125).decide().status

    assert after.evaluation != before.job.status.evaluation
    assert differ_in_numbers_alone(before.job.status, after)


def test_a_job_without_an_evaluator_has_no_evaluation() -> None:
    assert "evaluation" not in running_job().with_progress().decide().status.to_dict()
