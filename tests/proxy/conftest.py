"""What every test of the proxy may ask for."""

from tests._support.envoy_proxy import each_engine as each_engine
from tests._support.envoy_proxy import limited as limited
from tests._support.raw_proxy import bench as bench
from tests._support.raw_proxy import wires_are_closed as wires_are_closed
