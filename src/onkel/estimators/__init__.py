"""The estimators; see `onkel`."""
