"""What a loop trains: the model and the examples, whichever strategy takes the steps."""

from dataclasses import dataclass

from qtj_trainer.workloads import Examples, Split, Workload
from qtj_trainer.workloads.options import Options

__all__ = ["Task"]


@dataclass(frozen=True)
class Task:
    """What is trained.

    Attributes:
        workload: Builds the model and scores it.
        options: Those of the workload.
        training: The examples to train with, as inputs of the model.
        held_out: Those to score it with after each epoch.
    """

    workload: Workload
    options: Options
    training: Examples
    held_out: Examples

    @classmethod
    def of(cls, workload: Workload, options: Options, split: Split | None = None) -> "Task":
        """Encodes the examples.

        Args:
            workload: Encodes them.
            options: Those of the workload.
            split: The examples; those that the workload reads where it is None.
        """
        split = split or workload.split(options)
        training, held_out = (workload.encode(each, options) for each in (split.training, split.held_out))
        return cls(workload, options, training, held_out)
