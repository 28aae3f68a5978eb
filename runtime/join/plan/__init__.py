"""What a join node will do, as data: orders, routes, shapes, and everything made of its slots."""
