"""What tests share: the oracle, generators, documents, waiting."""
