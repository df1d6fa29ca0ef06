"""`python -m qtj_trainer`: see `qtj_trainer.run.cli`."""

from qtj_trainer.run.signals import end_on_sigterm

if __name__ == "__main__":
    # Before the imports: NumPy alone starts a thread for each processor.
    end_on_sigterm()

    from qtj_trainer.run.cli import main

    main()
