"""What benchmarks share: measuring side by side, plots, peers."""
