"""The two stages of a distributed run: where rows are read, and the cells where they meet."""
