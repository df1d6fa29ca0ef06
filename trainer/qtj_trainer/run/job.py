"""What one training run is about."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Self

import qtj_contract as contract
from qtj_trainer.errors import TrainerError
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.terms import Terms
from qtj_trainer.run.artifacts import Result
from qtj_trainer.run.checkpoints import Checkpoints
from qtj_trainer.run.position import Position
from qtj_trainer.run.signals import Stop
from qtj_trainer.run.telemetry import Telemetry, port_from
from qtj_trainer.storage import Store
from qtj_trainer.workloads import Examples, Split, Workload
from qtj_trainer.workloads.options import Options

__all__ = ["Run"]


@dataclass(frozen=True, slots=True)
class Run:
    """Everything a run knows before it begins; without a job its uid is empty."""

    workload: Workload
    options: Options
    cluster: Cluster
    store: Store
    checkpoints: Checkpoints
    job_uid: str
    environment: Mapping[str, str]
    stop: Stop

    def completed(self) -> Self:
        """Returns it with all that the data decides, of which the checkpoints are told too."""
        options = self.options.completed()
        checkpoints = Checkpoints(self.store, self.job_uid, self.workload, options)
        return replace(self, options=options, checkpoints=checkpoints)

    def terms(self) -> Terms:
        """Returns what all workers must have alike: all that decides the numbers, and when training ends."""
        options = {"epochs": self.options.epochs, **self.options.of_consequence()}
        named = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
        return {"workload": self.workload.name, **named, "model": self.workload.fingerprint(self.options)}

    def progress(
        self, position: Position, steps_per_epoch: int | None = None, devices: int | None = None
    ) -> contract.Progress:
        """Says how far training is, and on how many devices."""
        epochs = self.options.epochs
        steps = steps_per_epoch * epochs if steps_per_epoch else None
        said = contract.Progress(
            epoch=position.epochs,
            epochs=epochs,
            step=position.step,
            steps=steps,
            checkpoint_step=self.checkpoints.step or None,
            devices=devices,
        )
        if position.last is None:
            return said
        accuracy = self.workload.accuracy
        return replace(
            said,
            loss=position.last.loss,
            accuracy=position.last.scores[accuracy] if accuracy else None,
            validation_loss=position.last.validation_loss,
            training_accuracy=position.last.training_scores.get(accuracy) if accuracy else None,
            examples_per_second=position.last.examples_per_second,
            gradient_variance=position.last.gradient_variance,
            best_epoch=position.best.number if position.best else None,
        )

    def telemetry(self, position: Position, activity: str = "") -> Telemetry:
        """Tells from now on, where somebody asks for it, how far this process is.

        Raises:
            UserError: If its port is taken.
        """
        telemetry = Telemetry(self.progress(position), activity)
        port = port_from(self.environment, contract.Env.METRICS_PORT)
        if port is not None:
            telemetry.serve(port)
        return telemetry

    def encoded(self, split: Split) -> tuple[Examples, Examples]:
        """Returns training and held-out examples as the model takes them."""
        return self.workload.encode(split.training, self.options), self.workload.encode(split.held_out, self.options)

    def result_so_far(self) -> Result | None:
        """Returns the result of the job, once it has one: a store that does not answer now will do so later."""
        with suppress(TrainerError):
            return Result.of_job(self.store, self.job_uid)
        return None
