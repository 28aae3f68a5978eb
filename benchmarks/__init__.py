"""One folder per benchmark: its workload, its runner and its recorded results."""
