"""What every test of the whole may ask for."""

from tests._support.raw_proxy import bench as bench
from tests._support.raw_proxy import wires_are_closed as wires_are_closed
