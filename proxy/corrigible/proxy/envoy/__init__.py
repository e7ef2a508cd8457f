"""Envoy carries the traffic; correctors, processes of their own, are asked about refusals only."""
