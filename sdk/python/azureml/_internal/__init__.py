"""What the azureml modules share. Not for scripts."""
