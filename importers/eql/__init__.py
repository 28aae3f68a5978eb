"""EQL, the event query language of Elastic: event queries and sequences as queries, for `cqc import eql`."""
