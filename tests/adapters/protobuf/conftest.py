"""The descriptors of services that are refused requests in many ways."""

from tests._support.guarded_services import descriptor_set as descriptor_set
from tests._support.guarded_services import messages as messages
from tests._support.guarded_services import proxy as proxy
from tests._support.guarded_services import service as service
from tests._support.guarded_services import start_proxy as start_proxy
