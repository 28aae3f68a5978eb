"""The forms of a query that is understood, and the arithmetic behind them."""
